/**
 * wecom: WeCom. An app writes to members, departments, tags and the group chats that it created; a group robot writes to
 * its own group. The platform silently truncates longer texts, so they are split here.
 * @see [App messages](https://developer.work.weixin.qq.com/document/path/90236) and
 * [group robots](https://developer.work.weixin.qq.com/document/path/91770)
 * @see DLV-1 in docs/specification.md
 */

import { isJsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutTags } from '../../../machines/dispatch/inert-text.ts';
import { deliveredAs, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { createAccessToken, lifetimeOf, tokenRefused } from './access-token.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
  wrongPlace,
} from './platform-target.ts';

const defaultBase = 'https://qyapi.weixin.qq.com';
const limit = { most: 2_048, unit: 'utf8Bytes' } as const;
/** `<@id>` mentions a member, `<a href>` hides the target of a link. */
const inert = (text: string): string => withoutTags(text, '@|a\\b');
const tokenCodes: ReadonlySet<unknown> = new Set([40014, 42001]);
const chatForm = 'a member’s id, or party:, tag: or chat: and an id';

/** @see https://developer.work.weixin.qq.com/document/path/90313 */
const meanings: Readonly<Record<string, CodeMeaning>> = {
  [-1]: 'transient',
  40001: 'auth',
  40013: 'auth',
  40056: 'auth',
  41001: 'auth',
  41004: 'auth',
  301002: 'auth',
  60020: { refusal: 'auth', because: 'the app takes requests from trusted addresses only; add the gateway’s' },
  93000: { refusal: 'auth', because: 'the platform does not know the robot’s key' },
  48002: 'forbidden',
  60011: 'forbidden',
  81013: { refusal: 'notFound', because: 'the app may write to none of the recipients, or there is none' },
  40003: 'notFound',
  60111: 'notFound',
  86001: 'notFound',
  86003: 'notFound',
  86008: 'notFound',
  40059: 'notFound',
  45002: 'tooLong',
  45009: 'rateLimited',
  45033: 'rateLimited',
  46004: 'notFound',
};

export function createWecom(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  return optionOf(settings, 'corp_id') === undefined && optionOf(settings, 'robot_key') !== undefined
    ? createRobot(settings, ports)
    : createApp(settings, ports);
}

function createRobot(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const client = createClient(settings, defaultBase);
  const path = `/cgi-bin/webhook/send?${new URLSearchParams({ key: optionOf(settings, 'robot_key') ?? '' })}`;

  return createPieceTarget(
    {
      name: 'wecom',
      limit,
      maxPieces: 10,
      inert,
      onlyPlace: 'the robot’s own group',
      send: ({ text }, signal) =>
        client.ask({ method: 'POST', path, json: { msgtype: 'text', text: { content: text } } }, signal, (answer) =>
          isJsonObject(answer.json) && answer.json.errcode === 0 && answer.status === 200
            ? ({ kind: 'delivered' } as const)
            : read(answer, ports.now()),
        ),
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
  const client = createClient(settings, defaultBase);
  const token = createAccessToken((signal) => {
    const query = new URLSearchParams({
      corpid: optionOf(settings, 'corp_id') ?? '',
      corpsecret: optionOf(settings, 'corp_secret') ?? '',
    });
    return client.ask({ method: 'GET', path: `/cgi-bin/gettoken?${query}` }, signal, (answer) => {
      const { json } = answer;
      return isJsonObject(json) && json.errcode === 0 && typeof json.access_token === 'string'
        ? ({ kind: 'token', token: json.access_token, lifetimeMs: lifetimeOf(json.expires_in) } as const)
        : read(answer, ports.now());
    });
  }, ports.now);

  return createPieceTarget(
    {
      name: 'wecom',
      limit,
      maxPieces: 10,
      inert,
      problem: missing('wecom', settings, 'corp_id', 'corp_secret', 'agent_id'),
      placeProblem: (chat) =>
        /^(?:(?:user|party|tag|chat):)?[\w.@-]{1,64}$/.test(chat) ? undefined : wrongPlace(chat, chatForm),
      send: ({ chat, text }, signal) =>
        token.use(signal, (accessToken) => {
          const [, kind = 'user', place = chat] = /^(user|party|tag|chat):(.*)$/.exec(chat) ?? [];
          const message = { msgtype: 'text', text: { content: text }, safe: 0 };
          const query = new URLSearchParams({ access_token: accessToken });
          const call =
            kind === 'chat'
              ? { path: `/cgi-bin/appchat/send?${query}`, json: { chatid: place, ...message } }
              : {
                  path: `/cgi-bin/message/send?${query}`,
                  json: {
                    [`to${kind}`]: place,
                    agentid: Number(optionOf(settings, 'agent_id')),
                    ...message,
                    // The check compares the text only: a second alarm with the same text would be dropped silently.
                    enable_duplicate_check: 0,
                  },
                };
          return client.ask({ method: 'POST', ...call }, signal, (answer) => {
            const body = answer.json;
            if (!isJsonObject(body) || body.errcode !== 0)
              return isJsonObject(body) && tokenCodes.has(body.errcode) ? tokenRefused : read(answer, ports.now());
            // A success that reached no recipient: the only one is in a list of invalid ones.
            const wrong = ['invaliduser', 'invalidparty', 'invalidtag'].find(
              (key) => key === `invalid${kind}` && body[key],
            );
            return wrong === undefined ? deliveredAs(body.msgid) : refusedAs('notFound', saying(answer.status, wrong));
          });
        }),
      verify: (signal) => token.use(signal, async () => ({ kind: 'verified' }) as const),
    },
    settings,
    ports,
  );
}

function read(answer: HttpAnswer, nowMs: number): SendOutcome {
  const { json, status } = answer;
  if (!isJsonObject(json) || typeof json.errcode !== 'number' || json.errcode === 0)
    return readStatus(answer, { nowMs });
  if (json.errcode === 40058 && /exceed max length/i.test(scalarText(json.errmsg)))
    return refusedAs('tooLong', saying(status, 40058));
  return readCode(answer, { code: json.errcode, meanings, nowMs, otherwiseMs: 60_000 });
}
