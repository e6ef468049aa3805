/**
 * Comments on a merge request or an issue of GitLab. A line of a note that begins with a slash is a quick action, which
 * closes, merges or assigns. Such lines are defused, and a note is never split, since a split could put a slash at a line
 * start.
 * @see [Notes API](https://docs.gitlab.com/api/notes/)
 * @see [Quick actions](https://docs.gitlab.com/user/project/quick_actions/)
 * @see DLV-1 in docs/specification.md
 */

import { withoutMentions, withoutQuickActions } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';

/** A project's number or path, then the reference as GitLab writes it. */
const reference = /^(\d{1,12}|\w[\w.-]*(?:\/\w[\w.-]*)+)([!#])([1-9]\d{0,9})$/;

export const gitlabComment: Description = {
  name: 'gitlab_comment',
  base: 'https://gitlab.com',
  needs: ['token'],
  limit: { max: 1_000_000, unit: 'codePoints' },
  maxPieces: 1,
  // Also in code: GitLab reads quick actions before it decides what is code.
  inert: (text) => withoutQuickActions(withoutMentions(text)),
  places: {
    form: reference,
    is: 'a merge request such as group/app!7, or an issue such as group/app#7',
    keys: ['project', 'number'],
    join: ([project, number], { kind }) => `${project}${kind === 'issue' ? '#' : '!'}${number}`,
  },
  headers: ({ option }) => ({ 'private-token': option('token') }),
  call({ chat, text }) {
    const [, project = '', mark, number] = reference.exec(chat) ?? [];
    const kind = mark === '#' ? 'issues' : 'merge_requests';
    return { path: `/api/v4/projects/${encodeURIComponent(project)}/${kind}/${number}/notes`, json: { body: text } };
  },
  accepted: ({ status }, { id }) => (status === 201 && typeof id === 'number' ? id : undefined),
  verify: {
    call: { path: '/api/v4/user' },
    account: ({ id, username }) => (typeof id === 'number' ? username : undefined),
  },
};
