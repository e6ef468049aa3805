/**
 * wecom: WeCom. An app writes to members, departments, tags and the group chats that it created; a group robot writes to
 * its own group. The platform silently truncates longer texts, so they are split here.
 * @see [App messages](https://developer.work.weixin.qq.com/document/path/90236) and
 * [group robots](https://developer.work.weixin.qq.com/document/path/91770)
 * @see DLV-1 in docs/specification.md
 */

import { type JsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutTags } from '../../../machines/dispatch/inert-text.ts';
import { createDescribedTarget, type Description } from './described-target.ts';
import { codes, optionOf, type PlatformTarget, refusedAs, saying, type TargetPorts } from './platform-target.ts';

const tokenCodes: ReadonlySet<unknown> = new Set([40014, 42001]);

/** What the app and the robot have in common. */
const common = {
  name: 'wecom',
  base: 'https://qyapi.weixin.qq.com',
  limit: { max: 2_048, unit: 'utf8Bytes' },
  maxPieces: 10,
  // `<@id>` mentions a member, `<a href>` hides the target of a link.
  inert: (text) => withoutTags(text, '@|a\\b'),
  code: ({ errcode }) => (typeof errcode === 'number' && errcode !== 0 ? errcode : undefined),
  /** @see https://developer.work.weixin.qq.com/document/path/90313 */
  meanings: {
    [-1]: 'transient',
    ...codes('auth', 40001, 40013, 40056, 41001, 41004, 301002),
    60020: { refusal: 'auth', because: 'the app takes requests from trusted addresses only; add the gateway’s' },
    93000: { refusal: 'auth', because: 'the platform does not know the robot’s key' },
    ...codes('forbidden', 48002, 60011),
    81013: { refusal: 'notFound', because: 'the app may write to none of the recipients, or there is none' },
    ...codes('notFound', 40003, 60111, 86001, 86003, 86008, 40059, 46004),
    45002: 'tooLong',
    ...codes('rateLimited', 45009, 45033),
  },
  otherwiseMs: 60_000,
  judge: ({ status }, { errcode, errmsg }) =>
    errcode === 40058 && /exceed max length/i.test(scalarText(errmsg))
      ? refusedAs('tooLong', saying(status, errcode))
      : undefined,
} as const satisfies Partial<Description>;

export function createWecom(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const isRobot = optionOf(settings, 'corp_id') === undefined && optionOf(settings, 'robot_key') !== undefined;
  return createDescribedTarget(isRobot ? robot : app, settings, ports);
}

const robot: Description = {
  ...common,
  needs: [],
  places: { only: 'the robot’s own group' },
  call: ({ text }, { option }) => ({
    path: `/cgi-bin/webhook/send?${new URLSearchParams({ key: option('robot_key') })}`,
    json: { msgtype: 'text', text: { content: text } },
  }),
  accepted: ({ status }, { errcode }) => (status === 200 && errcode === 0 ? true : undefined),
  verify: { unverifiable: 'the platform has no call that checks a robot without a message' },
};

const app: Description = {
  ...common,
  needs: ['corp_id', 'corp_secret', 'agent_id'],
  places: {
    form: /^(?:(?:user|party|tag|chat):)?[\w.@-]{1,64}$/,
    is: 'a member’s id, or party:, tag: or chat: and an id',
  },
  token: {
    call: ({ option }) => {
      const query = new URLSearchParams({ corpid: option('corp_id'), corpsecret: option('corp_secret') });
      return { method: 'GET', path: `/cgi-bin/gettoken?${query}` };
    },
    issued: ({ errcode, access_token: token, expires_in: seconds }) => (errcode === 0 ? { token, seconds } : undefined),
    isRefused: ({ errcode }) => tokenCodes.has(errcode),
  },
  call({ chat, text }, { option, token }) {
    const [kind, place] = recipientOf(chat);
    const message = { msgtype: 'text', text: { content: text }, safe: 0 };
    const query = new URLSearchParams({ access_token: token });
    if (kind === 'chat') return { path: `/cgi-bin/appchat/send?${query}`, json: { chatid: place, ...message } };
    return {
      path: `/cgi-bin/message/send?${query}`,
      json: {
        [`to${kind}`]: place,
        agentid: Number(option('agent_id')),
        ...message,
        // The check compares the text only: a second alarm with the same text would be dropped silently.
        enable_duplicate_check: 0,
      },
    };
  },
  accepted: (_, json, { chat }) =>
    json.errcode === 0 && invalidOf(json, chat) === undefined ? (json.msgid ?? true) : undefined,
  verify: async () => ({ kind: 'verified' }),
  judge(answer, json, sent) {
    const wrong = json.errcode === 0 ? invalidOf(json, sent.chat) : undefined;
    return wrong === undefined ? common.judge(answer, json) : refusedAs('notFound', saying(answer.status, wrong));
  },
};

function recipientOf(chat: string): readonly [kind: string, place: string] {
  const [, kind = 'user', place = chat] = /^(user|party|tag|chat):(.*)$/.exec(chat) ?? [];
  return [kind, place];
}

/** The list of invalid recipients that a success names the only one in; undefined if it was reached. */
function invalidOf(json: JsonObject, chat: string): string | undefined {
  const key = `invalid${recipientOf(chat)[0]}`;
  return ['invaliduser', 'invalidparty', 'invalidtag'].includes(key) && json[key] ? key : undefined;
}
