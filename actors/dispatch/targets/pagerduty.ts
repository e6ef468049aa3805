/**
 * Writes a note on an incident of PagerDuty. The author of the note is the account with the address in `From`.
 * @see [Create a note](https://developer.pagerduty.com/api-reference/a1ac30885eb7a-create-a-note-on-an-incident)
 * @see DLV-1 in docs/specification.md
 */

import { objectAt } from '../../../machines/base/json.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';

export const pagerduty: Description = {
  name: 'pagerduty',
  base: 'https://api.pagerduty.com',
  needs: ['token', 'from'],
  limit: { max: 25_000, unit: 'utf16' },
  maxPieces: 5,
  // Notes are copied to the chats of an incident.
  inert: (text) => withoutMentions(text),
  places: { form: /^[A-Z\d]{6,24}$/, is: "an incident's id such as PT4KHLK", keys: ['incident'] },
  headers: ({ option }) => ({
    accept: 'application/vnd.pagerduty+json;version=2',
    authorization: `Token token=${option('token')}`,
    from: option('from'),
  }),
  call: ({ chat, text }) => ({ path: `/incidents/${chat}/notes`, json: { note: { content: text } } }),
  accepted({ status }, json) {
    const { id } = objectAt(json, 'note');
    return (status === 200 || status === 201) && typeof id === 'string' ? id : undefined;
  },
  // A read-only key passes this check; its missing right shows with the first note.
  verify: {
    call: { path: '/incidents?limit=1' },
    account: ({ incidents }) => (Array.isArray(incidents) ? '' : undefined),
  },
  code: (json) => objectAt(json, 'error').code,
  meanings: {
    2020: 'rateLimited',
    2100: 'notFound',
    1008: { refusal: 'auth', because: 'no account has the address in platforms.pagerduty.from' },
  },
  hints: ({ headers }) => ({ seconds: headers.get('ratelimit-reset') }),
};
