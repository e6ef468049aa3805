/**
 * dingtalk: DingTalk. A custom robot writes to the one group that its address belongs to; an app's robot writes to groups
 * and users by id.
 * @see [Custom robot](https://open.dingtalk.com/document/robots/custom-robot-access) and
 * [group messages of an app](https://open.dingtalk.com/document/orgapp/the-robot-sends-a-group-message)
 * @see DLV-1 in docs/specification.md
 */

import { createHmac } from 'node:crypto';
import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { deliveredAs, limitedInChat, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { createAccessToken, lifetimeOf, tokenRefused } from './access-token.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  rateLimited,
  readCode,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  wrongPlace,
} from './platform-target.ts';

const robotBase = 'https://oapi.dingtalk.com';
const appBase = 'https://api.dingtalk.com';
/** An app's message is limited to 15,000 bytes, and most characters on this platform take three. */
const limit = { most: 4_000, unit: 'utf16' } as const;
/** A robot that sends more than 20 messages in a minute is blocked for ten minutes. */
const robotPauseMs = 600_000;

const robotMeanings: Readonly<Record<string, CodeMeaning>> = {
  [-1]: 'transient',
  300001: 'auth',
  300005: 'auth',
  400101: 'auth',
  400102: { refusal: 'auth', because: 'the robot is switched off' },
  400106: 'auth',
  310000: {
    refusal: 'forbidden',
    because: 'the robot’s security settings refuse the message: its signature, its keywords or the gateway’s address',
  },
  400013: { refusal: 'notFound', because: 'the group was dissolved' },
  460101: 'tooLong',
  130101: 'rateLimited',
  410100: 'rateLimited',
  90018: 'rateLimited',
  90030: 'rateLimited',
};

export function createDingtalk(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  return optionOf(settings, 'app_key') === undefined ? createRobot(settings, ports) : createApp(settings, ports);
}

function createRobot(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, robotBase);
  const token = optionOf(settings, 'access_token') ?? '';
  const secret = optionOf(settings, 'secret');
  const signature = (): Record<string, string> => {
    if (secret === undefined) return {};
    const timestamp = String(ports.now());
    return { timestamp, sign: createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64') };
  };

  return createPieceTarget(
    {
      name: 'dingtalk',
      limit,
      maxPieces: 5,
      problem: missing('dingtalk', settings, 'access_token'),
      onlyPlace: 'the robot’s own group',
      send({ text }, signal) {
        const query = new URLSearchParams({ access_token: token, ...signature() });
        const json = { msgtype: 'text', text: { content: text }, at: { isAtAll: false } };
        return client.ask({ method: 'POST', path: `/robot/send?${query}`, json }, signal, (answer): SendOutcome => {
          const body = answer.json;
          if (!isJsonObject(body) || body.errcode === undefined) return readStatus(answer, { nowMs: ports.now() });
          if (body.errcode === 0 && answer.status === 200) return { kind: 'delivered' };
          const words = { code: body.errcode, meanings: robotMeanings, nowMs: ports.now() };
          return readCode(answer, { ...words, otherwiseMs: robotPauseMs });
        });
      },
      verify: () =>
        Promise.resolve({
          kind: 'unverifiable',
          reason: 'the platform has no call that checks a robot without a message',
        }),
    },
    settings,
    ports,
  );
}

function createApp(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, appBase);
  const token = createAccessToken(
    (signal) =>
      client.ask(
        {
          method: 'POST',
          path: '/v1.0/oauth2/accessToken',
          json: { appKey: optionOf(settings, 'app_key'), appSecret: optionOf(settings, 'app_secret') },
        },
        signal,
        (answer) => {
          const { json, status } = answer;
          if (status === 200 && isJsonObject(json) && typeof json.accessToken === 'string')
            return { kind: 'token', token: json.accessToken, lifetimeMs: lifetimeOf(json.expireIn) } as const;
          const code = isJsonObject(json) ? scalarText(json.code) : '';
          return /client|appkey|secret|authentication|credential/i.test(code)
            ? refusedAs('auth', saying(status, code))
            : readApp(answer, ports.now());
        },
      ),
    ports.now,
  );

  return createPieceTarget(
    {
      name: 'dingtalk',
      limit,
      maxPieces: 5,
      problem: missing('dingtalk', settings, 'app_key', 'app_secret', 'robot_code'),
      placeProblem: (chat) =>
        /^(?:(?:group:|user:)\S{1,200}|\S{1,200})$/.test(chat)
          ? undefined
          : wrongPlace(chat, 'a group’s openConversationId or a user’s id'),
      send: ({ chat, text }, signal) =>
        token.use(signal, (accessToken) => {
          const [, kind, place = chat] = /^(group|user):(.*)$/s.exec(chat) ?? [];
          const isGroup = kind === 'group' || (kind === undefined && chat.startsWith('cid'));
          const json = {
            robotCode: optionOf(settings, 'robot_code'),
            msgKey: 'sampleText',
            // A string that contains JSON, not an object.
            msgParam: JSON.stringify({ content: text }),
            ...(isGroup ? { openConversationId: place } : { userIds: [place] }),
          };
          const path = isGroup ? '/v1.0/robot/groupMessages/send' : '/v1.0/robot/oToMessages/batchSend';
          const headers = { 'x-acs-dingtalk-access-token': accessToken };
          return client.ask({ method: 'POST', path, headers, json }, signal, (answer) => {
            const body = answer.json;
            if (isTokenError(answer)) return tokenRefused;
            if (answer.status !== 200 || !isJsonObject(body)) return readApp(answer, ports.now());
            if (lists(body.invalidStaffIdList)) return refusedAs('notFound', saying(200, 'invalidStaffIdList'));
            if (lists(body.flowControlledStaffIdList))
              return limitedInChat(rateLimited(saying(200, 'flowControlledStaffIdList'), {}, ports.now(), 60_000));
            return typeof body.processQueryKey === 'string'
              ? deliveredAs(body.processQueryKey)
              : readApp(answer, ports.now());
          });
        }),
      verify: (signal) => token.use(signal, async () => ({ kind: 'verified' }) as const),
    },
    settings,
    ports,
  );
}

function isTokenError({ json, status }: HttpAnswer): boolean {
  const code = isJsonObject(json) ? scalarText(json.code) : '';
  return status >= 400 && /^InvalidAuthentication|invalid.?access.?token/i.test(code);
}

/** The codes are dotted words; a part of them is enough to classify an error. */
function readApp(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status } = answer;
  if (!isJsonObject(json) || typeof json.code !== 'string' || status < 300) return readStatus(answer, { nowMs });
  const said = saying(status, json.code);
  const { code } = json;
  const hints = { header: answer.headers.get('retry-after') };
  if (status === 429 || /throttling|qpslimit|flowcontrol/i.test(code)) return rateLimited(said, hints, nowMs, 60_000);
  if (/^Forbidden|permission/i.test(code)) return refusedAs('forbidden', said);
  if (/robotCode/i.test(code)) return refusedAs('auth', said);
  if (/openConversationId|userId|staffId|not\.?found|notExist/i.test(code)) return refusedAs('notFound', said);
  if (/msgParam.*(?:length|long|size|max)/i.test(code)) return refusedAs('tooLong', said);
  return readStatus(answer, { nowMs, code });
}

function lists(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}
