/**
 * Comments on an issue of Sentry. Sentry refuses a comment that repeats one of the same account within an hour, so a lost
 * comment is sent again and arrives once. Integrations copy comments to other trackers, which read mentions.
 * @see [GroupNotesEndpoint](https://github.com/getsentry/sentry/blob/master/src/sentry/issues/endpoints/group_notes.py)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import { bearer, type Description } from './described-target.ts';

export const sentry: Description = {
  name: 'sentry',
  base: 'https://sentry.io',
  needs: ['token', 'organization'],
  // No limit is documented. Two equal pieces would become one comment, so a text is not split.
  limit: { max: 320_000, unit: 'utf16' },
  maxPieces: 1,
  deduplicatesForMs: 3_600_000,
  inert: (text) => withoutMentions(text),
  places: {
    form: /^(?:[1-9]\d{0,18}|[A-Z\d][A-Z\d_-]{0,60}-[A-Z\d]{1,12})$/,
    is: "an issue's number, or its short id such as APP-1A2",
    keys: ['issue'],
  },
  headers: bearer,
  call: ({ chat, text }, { option }) => ({
    path: `/api/0/organizations/${encodeURIComponent(option('organization'))}/issues/${chat}/comments/`,
    json: { text },
  }),
  accepted: ({ status }, { id }) => (status === 201 && typeof id === 'string' ? id : undefined),
  verify: {
    call: { path: '/api/0/' },
    account: ({ user, auth }) => (isJsonObject(user) ? user.username : isJsonObject(auth) ? '' : undefined),
  },
  judge: ({ status, text }) =>
    status === 400 && text.includes('already posted that comment') ? { kind: 'delivered' } : undefined,
};
