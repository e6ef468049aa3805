/**
 * Comments on an issue of Linear by GraphQL, whose errors come with HTTP 200 or 400. Linear turns the plain URL of a
 * profile into a mention, so such URLs are defused too.
 * @see [Linear's API](https://linear.app/developers/graphql) and [its limits](https://linear.app/developers/rate-limiting)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type JsonObject, objectAt } from '../../../machines/base/json.ts';
import { withoutLinks, withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';

const comment = 'mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id } } }';
const profile = 'linear\\.app/[^/\\s]+/profiles';

export const linear: Description = {
  name: 'linear',
  base: 'https://api.linear.app',
  needs: ['token'],
  limit: { max: 65_536, unit: 'utf16' },
  maxPieces: 10,
  inert: (text) => withoutLinks(withoutMentions(text), profile),
  places: {
    form: /^(?:[A-Z][A-Z0-9]{0,9}-[1-9]\d{0,9}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/,
    is: 'an issue such as ENG-123, or its UUID',
    keys: ['issue'],
  },
  // A personal key is sent bare, an OAuth token with `Bearer`.
  headers: ({ option }) => {
    const token = option('token');
    return { authorization: token.startsWith('lin_api_') ? token : `Bearer ${token}` };
  },
  call: ({ chat, text }) => ({
    path: '/graphql',
    json: { query: comment, variables: { input: { issueId: chat, body: text } } },
  }),
  accepted(_, json) {
    const { success, comment } = objectAt(json, 'data', 'commentCreate');
    return success === true && isJsonObject(comment) ? comment.id : undefined;
  },
  verify: {
    call: { method: 'POST', path: '/graphql', json: { query: '{ viewer { name } }' } },
    account: (json) => objectAt(json, 'data', 'viewer').name,
  },
  code: (json) => objectAt(firstError(json), 'extensions').code,
  meanings: {
    AUTHENTICATION_ERROR: 'auth',
    FORBIDDEN: 'forbidden',
    RATELIMITED: 'rateLimited',
    INPUT_ERROR: { refusal: 'notFound', because: 'the platform does not know the issue, or refuses the comment' },
    INTERNAL_SERVER_ERROR: 'unknown',
  },
  // When the full allowance is available again, in Unix milliseconds.
  hints({ headers }, _, nowMs) {
    const resetMs = Number(headers.get('x-ratelimit-requests-reset') ?? Number.NaN);
    return { milliseconds: resetMs - nowMs };
  },
};

function firstError({ errors }: JsonObject): JsonObject {
  const [error] = Array.isArray(errors) ? errors : [];
  return isJsonObject(error) ? error : {};
}
