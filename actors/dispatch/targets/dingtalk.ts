/**
 * dingtalk: DingTalk. A custom robot writes to the one group that its address belongs to; an app's robot writes to groups
 * and users by id.
 * @see [Custom robot](https://open.dingtalk.com/document/robots/custom-robot-access) and
 * [group messages of an app](https://open.dingtalk.com/document/orgapp/the-robot-sends-a-group-message)
 * @see DLV-1 in docs/specification.md
 */

import { createHmac } from 'node:crypto';
import { scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { limitedInChat } from '../../../machines/dispatch/send-outcome.ts';
import { createDescribedTarget, type Description } from './described-target.ts';
import {
  codes,
  optionOf,
  type PlatformTarget,
  rateLimited,
  readStatus,
  refusedAs,
  saying,
  type TargetPorts,
} from './platform-target.ts';

const tokenPath = '/v1.0/oauth2/accessToken';
/** An app's message is limited to 15,000 bytes, and most characters on this platform take three. */
const limit = { max: 4_000, unit: 'utf16' } as const;
/** A robot that sends more than 20 messages in a minute is blocked for ten minutes. */
const robotPauseMs = 600_000;

export function createDingtalk(settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  return createDescribedTarget(optionOf(settings, 'app_key') === undefined ? robot : app, settings, ports);
}

const robot: Description = {
  name: 'dingtalk',
  base: 'https://oapi.dingtalk.com',
  needs: ['access_token'],
  limit,
  maxPieces: 5,
  places: { only: 'the robot’s own group' },
  call({ text }, { option, nowMs }) {
    const query = new URLSearchParams({ access_token: option('access_token') });
    const secret = option('secret');
    if (secret !== '') {
      const timestamp = String(nowMs());
      query.set('timestamp', timestamp);
      query.set('sign', createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64'));
    }
    return {
      path: `/robot/send?${query}`,
      json: { msgtype: 'text', text: { content: text }, at: { isAtAll: false } },
    };
  },
  accepted: ({ status }, { errcode }) => (status === 200 && errcode === 0 ? true : undefined),
  verify: { unverifiable: 'the platform has no call that checks a robot without a message' },
  code: ({ errcode }) => errcode,
  meanings: {
    [-1]: 'transient',
    ...codes('auth', 300001, 300005, 400101, 400106),
    400102: { refusal: 'auth', because: 'the robot is switched off' },
    310000: {
      refusal: 'forbidden',
      because: 'the robot’s security settings refuse the message: its signature, its keywords or the gateway’s address',
    },
    400013: { refusal: 'notFound', because: 'the group was dissolved' },
    460101: 'tooLong',
    ...codes('rateLimited', 130101, 410100, 90018, 90030),
  },
  otherwiseMs: robotPauseMs,
};

const app: Description = {
  name: 'dingtalk',
  base: 'https://api.dingtalk.com',
  needs: ['app_key', 'app_secret', 'robot_code'],
  limit,
  maxPieces: 5,
  places: {
    form: /^(?:(?:group:|user:)\S{1,200}|\S{1,200})$/,
    is: 'a group’s openConversationId or a user’s id',
  },
  token: {
    call: ({ option }) => ({
      path: tokenPath,
      json: { appKey: option('app_key'), appSecret: option('app_secret') },
    }),
    issued: ({ accessToken: token, expireIn: seconds }) => ({ token, seconds }),
    isRefused: ({ code }, status) =>
      status >= 400 && /^InvalidAuthentication|invalid.?access.?token/i.test(scalarText(code)),
  },
  headers: ({ token }) => ({ 'x-acs-dingtalk-access-token': token }),
  call({ chat, text }, { option }) {
    const [, kind, place = chat] = /^(group|user):(.*)$/s.exec(chat) ?? [];
    const isGroup = kind === 'group' || (kind === undefined && chat.startsWith('cid'));
    return {
      path: isGroup ? '/v1.0/robot/groupMessages/send' : '/v1.0/robot/oToMessages/batchSend',
      json: {
        robotCode: option('robot_code'),
        msgKey: 'sampleText',
        // A string that contains JSON, not an object.
        msgParam: JSON.stringify({ content: text }),
        ...(isGroup ? { openConversationId: place } : { userIds: [place] }),
      },
    };
  },
  accepted: ({ status }, { processQueryKey: key, invalidStaffIdList, flowControlledStaffIdList }) =>
    status === 200 && !lists(invalidStaffIdList) && !lists(flowControlledStaffIdList) && typeof key === 'string'
      ? key
      : undefined,
  verify: async () => ({ kind: 'verified' }),
  judge(answer, json, { call, nowMs }) {
    const { status } = answer;
    const { invalidStaffIdList, flowControlledStaffIdList } = json;
    if (status === 200 && lists(invalidStaffIdList)) return refusedAs('notFound', saying(200, 'invalidStaffIdList'));
    if (status === 200 && lists(flowControlledStaffIdList))
      return limitedInChat(rateLimited(saying(200, 'flowControlledStaffIdList'), {}, nowMs(), 60_000));
    const code = scalarText(json.code);
    const said = saying(status, code);
    if (call.path === tokenPath && /client|appkey|secret|authentication|credential/i.test(code))
      return refusedAs('auth', said);
    if (code === '' || status < 300) return undefined;
    const hints = { header: answer.headers.get('retry-after') };
    // The codes are dotted words; a part of them is enough to classify an error.
    if (status === 429 || /throttling|qpslimit|flowcontrol/i.test(code))
      return rateLimited(said, hints, nowMs(), 60_000);
    if (/^Forbidden|permission/i.test(code)) return refusedAs('forbidden', said);
    if (/robotCode/i.test(code)) return refusedAs('auth', said);
    if (/openConversationId|userId|staffId|not\.?found|notExist/i.test(code)) return refusedAs('notFound', said);
    if (/msgParam.*(?:length|long|size|max)/i.test(code)) return refusedAs('tooLong', said);
    return readStatus(answer, { nowMs: nowMs(), code });
  },
};

function lists(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0;
}
