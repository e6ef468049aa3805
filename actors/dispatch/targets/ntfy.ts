/**
 * Publishes to a topic of ntfy, which shows a text unchanged. A text over the limit would become an attachment, so it is
 * split.
 * @see [Publish as JSON](https://docs.ntfy.sh/publish/#publish-as-json)
 * @see DLV-1 in docs/specification.md
 */

import { bearer, type Description } from './described-target.ts';
import { wordOf } from './platform-target.ts';

export const ntfy: Description = {
  name: 'ntfy',
  base: 'https://ntfy.sh',
  needs: [],
  limit: { max: 4_096, unit: 'utf8Bytes' },
  maxPieces: 10,
  places: { form: /^[\w-]{1,64}$/, is: 'a topic of letters, digits, "_" and "-"', keys: ['topic'] },
  headers: bearer,
  call({ chat, text, extra }) {
    const priority = Number(wordOf(extra, 'priority'));
    return {
      path: '/',
      json: {
        topic: chat,
        message: text,
        title: wordOf(extra, 'title'),
        priority: priority >= 1 && priority <= 5 ? priority : undefined,
      },
    };
  },
  accepted: ({ status }, { id, event }) => (status === 200 && event === 'message' ? id : undefined),
  // Without a token the server answers with the anonymous user's name, "*".
  verify: { call: { path: '/v1/account' }, account: ({ username }) => username },
  code: ({ code }) => code,
  meanings: { 40101: 'auth', 40301: 'forbidden', 41301: 'tooLong', 42908: 'rateLimited' },
};
