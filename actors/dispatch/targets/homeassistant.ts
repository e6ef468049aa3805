/**
 * homeassistant: Home Assistant, as a notification in its sidebar or through one of its notify services. A notification
 * is deduplicated by its id; a message to a service is not.
 * @see [REST API](https://developers.home-assistant.io/docs/api/rest/)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import { withoutCommand, withoutTemplates } from '../../../machines/dispatch/inert-text.ts';
import { refused, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { bearer, type Call, type Context, type Description, type Sent } from './described-target.ts';
import { saying, wordOf } from './platform-target.ts';

const notice = 'persistent_notification';
/**
 * A phone executes a message that is one of these words.
 * @see https://companion.home-assistant.io/docs/notifications/notification-commands/
 */
const commands = /^(?:(?:command|request|clear|delete|remove|update)_\w+|tts)$/i;

export const homeAssistant: Description = {
  name: 'homeassistant',
  needs: ['api_base', 'token'],
  limit: { max: 4_096, unit: 'utf16' },
  maxPieces: 5,
  takesEmpty: true,
  // The notify services render message and title as templates.
  inert: withoutTemplates,
  knowsAgain: ({ chat }) => chat === notice,
  headers: bearer,
  call({ chat, text, extra, key }) {
    const words = wordOf(extra, 'title', 'subject');
    const title = words && withoutTemplates(words);
    return chat === notice
      ? { path: `/api/services/${notice}/create`, json: { message: text, title, notification_id: key } }
      : {
          path: `/api/services/notify/${serviceOf(chat)}`,
          json: { message: withoutCommand(text, commands), title },
        };
  },
  // The response lists the states that changed, often none.
  accepted: ({ status, json }, _, { chat, key }) =>
    status === 200 && Array.isArray(json) ? (chat === notice ? key : true) : undefined,
  verify: ({ ask }) =>
    ask({ method: 'GET', path: '/api/' }, ({ status }, { message }) =>
      status === 200 && typeof message === 'string' ? ({ kind: 'verified' } as const) : undefined,
    ),
  judge: ({ status }, _, { call, chat, ask }) =>
    status === 400 && call.path === `/api/services/notify/${serviceOf(chat)}` && !isForEntity(call)
      ? badRequest(serviceOf(chat), { call, ask })
      : undefined,
};

/** A service may be named as the one that sends to an entity. */
const isForEntity = ({ json }: Call): boolean => isJsonObject(json) && json.entity_id !== undefined;

function serviceOf(chat: string): string {
  return chat.replace(/^notify\./, '');
}

/**
 * HTTP 400 also means that the service does not exist; the list of services shows which it is. Integrations are moving
 * from a service to an entity each; a call for an entity that does not exist would count as a success.
 */
async function badRequest(
  service: string,
  { call, ask }: Pick<Context & Sent, 'call' | 'ask'>,
): Promise<SendOutcome | Call> {
  const said = saying(400);
  const known = await ask({ method: 'GET', path: '/api/services' }, ({ json }) => ({ has: hasService(json, service) }));
  if ('has' in known && known.has === true)
    return refused('permanent', `the service notify.${service} does not take the message (${said})`);
  const state = await ask({ method: 'GET', path: `/api/states/notify.${service}` }, ({ status }) => ({ status }));
  if ('status' in state && state.status === 200) {
    const json = { ...(call.json as JsonObject), entity_id: `notify.${service}` };
    return { path: '/api/services/notify/send_message', json };
  }
  return 'has' in known && known.has === false
    ? refused('notFound', `Home Assistant has no service notify.${service}, and no such entity (${said})`)
    : refused('notFound', `there is no such notify service, or it takes no such message (${said})`);
}

/** Whether a list of all services has a notify service of this name; undefined if it is not such a list. */
function hasService(json: Json | undefined, service: string): boolean | undefined {
  if (!Array.isArray(json)) return undefined;
  const notify = json.find((one) => isJsonObject(one) && one.domain === 'notify');
  return isJsonObject(notify) && isJsonObject(notify.services) && Object.hasOwn(notify.services, service);
}
