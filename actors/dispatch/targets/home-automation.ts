/**
 * home_automation: Home Assistant, as a notice in its sidebar or through one of its notify services. A notice is known
 * again by its id; a service is not.
 * @see [REST API](https://developers.home-assistant.io/docs/api/rest/)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { refused, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
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
  wrongPlace,
} from './platform-target.ts';

const notice = 'persistent_notification';
const chatForm = 'persistent_notification, or the name of a notify service such as mobile_app_phone';

export function createHomeAutomation(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, '');
  const headers = { authorization: `Bearer ${optionOf(settings, 'token') ?? ''}` };
  const isNotice = ({ chat }: Pick<Message, 'chat'>): boolean => chat === notice;

  return createPieceTarget(
    {
      name: 'home_automation',
      limit: { most: 4_096, unit: 'utf16' },
      maxPieces: 5,
      knowsAgain: isNotice,
      problem: missing('home_automation', settings, 'api_base', 'token'),
      placeProblem: (chat) => (/^(?:notify\.)?[a-z\d_]{1,128}$/.test(chat) ? undefined : wrongPlace(chat, chatForm)),
      send(message, signal) {
        const { chat, text, extra, key } = message;
        const title = wordOf(extra, 'title', 'subject');
        const body = {
          message: text,
          ...(title === undefined ? {} : { title }),
          ...(isNotice(message) ? { notification_id: key } : {}),
        };
        const service = isNotice(message) ? `${notice}/create` : `notify/${chat.replace(/^notify\./, '')}`;
        return client.ask(
          { method: 'POST', path: `/api/services/${service}`, headers, json: body },
          signal,
          (answer) => {
            // The states that changed meanwhile, often none.
            if (answer.status === 200 && Array.isArray(answer.json)) {
              return isNotice(message) ? { kind: 'delivered', messageId: key } : { kind: 'delivered' };
            }
            return read(answer, message, ports.now());
          },
        );
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

function read(answer: HttpAnswer, message: Message, nowMs: number): SendOutcome {
  // A service that does not exist is a bad request.
  return answer.status === 400 && message.chat !== notice
    ? refused('notFound', `there is no such notify service, or it takes no such message (${saying(answer.status)})`)
    : readStatus(answer, { nowMs });
}
