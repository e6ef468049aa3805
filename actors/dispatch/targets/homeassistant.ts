/**
 * homeassistant: Home Assistant, as a notification in its sidebar or through one of its notify services. A notification
 * is deduplicated by its id; a message to a service is not.
 * @see [REST API](https://developers.home-assistant.io/docs/api/rest/)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutCommand, withoutTemplates } from '../../../machines/dispatch/inert-text.ts';
import { refused, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import {
  createClient,
  createPieceTarget,
  type Message,
  missing,
  optionOf,
  type PlatformTarget,
  readStatus,
  saying,
  type TargetPorts,
  wordOf,
} from './platform-target.ts';

const notice = 'persistent_notification';
/**
 * A phone executes a message that is one of these words.
 * @see https://companion.home-assistant.io/docs/notifications/notification-commands/
 */
const commands = /^(?:(?:command|request|clear|delete|remove|update)_\w+|tts)$/i;

export function createHomeAssistant(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, '');
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };
  const isNotice = ({ chat }: Pick<Message, 'chat'>): boolean => chat === notice;

  /**
   * HTTP 400 also means that the service does not exist; the list of services shows which it is. Integrations are moving
   * from a service to an entity each; a call for an entity that does not exist would count as a success.
   */
  const badRequest = async (
    service: string,
    said: string,
    { signal, toEntity }: { readonly signal: AbortSignal; readonly toEntity: () => Promise<SendOutcome> },
  ): Promise<SendOutcome> => {
    const known = await client.ask({ method: 'GET', path: '/api/services', headers }, signal, ({ json }) =>
      hasService(json, service),
    );
    if (known === true)
      return refused('permanent', `the service notify.${service} does not take the message (${said})`);
    const entity = { method: 'GET', path: `/api/states/notify.${service}`, headers } as const;
    const isEntity = await client.ask(entity, signal, ({ status }) => status === 200);
    if (isEntity === true) return toEntity();
    return known === false
      ? refused('notFound', `Home Assistant has no service notify.${service}, and no such entity (${said})`)
      : refused('notFound', `there is no such notify service, or it takes no such message (${said})`);
  };

  return createPieceTarget(
    {
      name: 'homeassistant',
      limit: { most: 4_096, unit: 'utf16' },
      maxPieces: 5,
      takesEmpty: true,
      // The notify services render message and title as templates.
      inert: withoutTemplates,
      knowsAgain: isNotice,
      problem: missing('homeassistant', settings, 'api_base', 'token'),
      send(message, signal) {
        const { chat, text, extra, key } = message;
        const title = wordOf(extra, 'title', 'subject');
        const body = {
          message: isNotice(message) ? text : withoutCommand(text, commands),
          ...(title === undefined ? {} : { title: withoutTemplates(title) }),
          ...(isNotice(message) ? { notification_id: key } : {}),
        };
        const service = chat.replace(/^notify\./, '');
        const post = (path: string, json: JsonObject, toEntity?: () => Promise<SendOutcome>): Promise<SendOutcome> =>
          client.ask({ method: 'POST', path: `/api/services/${path}`, headers, json }, signal, (answer) => {
            // The response lists the states that changed, often none.
            if (answer.status === 200 && Array.isArray(answer.json)) {
              return isNotice(message) ? { kind: 'delivered', messageId: key } : { kind: 'delivered' };
            }
            const { status } = answer;
            return status === 400 && toEntity !== undefined
              ? badRequest(service, saying(status), { signal, toEntity })
              : readStatus(answer, { nowMs: ports.now() });
          });
        if (isNotice(message)) return post(`${notice}/create`, body);
        const entity = { ...body, entity_id: `notify.${service}` };
        return post(`notify/${service}`, body, () => post('notify/send_message', entity));
      },
      verify: (signal) =>
        client.ask({ method: 'GET', path: '/api/', headers }, signal, (answer) =>
          answer.status === 200 && isJsonObject(answer.json) && typeof answer.json.message === 'string'
            ? ({ kind: 'verified' } as const)
            : readStatus(answer, { nowMs: ports.now() }),
        ),
    },
    settings,
    ports,
  );
}

/** Whether a list of all services has a notify service of this name; undefined if it is not such a list. */
function hasService(json: Json | undefined, service: string): boolean | undefined {
  if (!Array.isArray(json)) return undefined;
  const notify = json.find((one) => isJsonObject(one) && one.domain === 'notify');
  return isJsonObject(notify) && isJsonObject(notify.services) && Object.hasOwn(notify.services, service);
}
