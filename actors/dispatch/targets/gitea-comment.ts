/**
 * Comments on an issue or a pull request of Gitea or Forgejo, which number both alike.
 * @see [Add a comment to an issue](https://docs.gitea.com/api/#tag/issue/operation/issueCreateComment)
 * @see DLV-1 in docs/specification.md
 */

import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';

const reference = /^((?!\.+\/)[\w.-]+)\/((?!\.+#)[\w.-]+)#([1-9]\d{0,9})$/;

export const giteaComment: Description = {
  name: 'gitea_comment',
  needs: ['api_base', 'token'],
  limit: { max: 65_536, unit: 'utf16' },
  maxPieces: 10,
  inert: (text) => withoutMentions(text),
  places: {
    form: reference,
    is: 'an issue or a pull request such as owner/name#7',
    keys: ['repo', 'number'],
    join: ([repo, number]) => `${repo}#${number}`,
  },
  headers: ({ option }) => ({ authorization: `token ${option('token')}` }),
  call({ chat, text }) {
    const [, owner, repo, number] = reference.exec(chat) ?? [];
    return { path: `/api/v1/repos/${owner}/${repo}/issues/${number}/comments`, json: { body: text } };
  },
  accepted: ({ status }, { id }) => (status === 201 && typeof id === 'number' ? id : undefined),
  verify: {
    call: { path: '/api/v1/user' },
    account: ({ id, login }) => (typeof id === 'number' ? login : undefined),
  },
};
