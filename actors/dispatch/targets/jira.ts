/**
 * Comments on an issue of Jira. Version 2 of the API accepts wiki markup, in Jira Cloud and on a server; mentions and
 * macros in it are defused.
 * @see [Add comment](https://developer.atlassian.com/cloud/jira/platform/rest/v2/api-group-issue-comments/)
 * @see [Wiki markup](https://jira.atlassian.com/secure/WikiRendererHelpAction.jspa)
 * @see DLV-1 in docs/specification.md
 */

import { withFencesAs, withSingleStars } from '../../../machines/dispatch/chat-markup.ts';
import { withoutMentions, withoutWikiMarkup } from '../../../machines/dispatch/inert-text.ts';
import type { Description } from './described-target.ts';

const maxLength = 32_767;
/** For the marks of code blocks, which are longer than fences. */
const room = 767;

export const jira: Description = {
  name: 'jira',
  needs: ['api_base', 'token'],
  limit: { max: maxLength - room, unit: 'utf16' },
  maxPieces: 10,
  inert: (text) => withoutWikiMarkup(withoutMentions(withSingleStars(text))),
  places: {
    form: /^(?:[A-Z][A-Z0-9_]{1,30}-[1-9]\d{0,9}|[1-9]\d{0,18})$/,
    is: 'an issue such as OPS-7',
    keys: ['issue'],
  },
  // Jira Cloud authenticates with an email address and its token, a server with a personal token only.
  headers({ option }) {
    const basic = Buffer.from(`${option('email')}:${option('token')}`).toString('base64');
    return { authorization: option('email') === '' ? `Bearer ${option('token')}` : `Basic ${basic}` };
  },
  call({ chat, text }) {
    // In the text a brace before a letter is defused, so no code ends the block.
    const wiki = withFencesAs('{noformat}', text);
    return { path: `/rest/api/2/issue/${chat}/comment`, json: { body: wiki.length > maxLength ? text : wiki } };
  },
  accepted: ({ status }, { id }) => (status === 201 && typeof id === 'string' ? id : undefined),
  verify: {
    call: { path: '/rest/api/2/myself' },
    account: ({ accountId, displayName, name }) =>
      accountId === undefined && name === undefined ? undefined : displayName,
  },
};
