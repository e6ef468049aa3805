/** DingTalk: a robot that signs its requests and hears of failure with HTTP 200, and an app with a token. */

import { createHmac } from 'node:crypto';
import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

const accessToken = 'sec-robot-token';
const secret = 'sec-SECrobot';

export function dingtalkError(errcode: number): FakeAnswer {
  return { status: 200, json: { errcode, errmsg: providerWords } };
}

export const dingtalkRobot: PlatformFixture = {
  target: 'dingtalk',
  variant: 'robot',
  options: { access_token: accessToken, secret },
  wrongOptions: { access_token: 'sec-gone' },
  place: 'group',
  limit: { max: 4_000, unit: 'utf16' },
  maxPieces: 5,
  verifies: { kind: 'unverifiable' },
  limited: { ...dingtalkError(130101), headers: { 'retry-after': '2' } },
  recorded: [
    [
      'its security settings refuse, with HTTP 200',
      dingtalkError(310000),
      { ...is.forbidden, reason: /security settings/ },
    ],
    ['no such token, with HTTP 200', dingtalkError(300001), is.auth],
    ['too fast: silenced for ten minutes', dingtalkError(130101), is.waitMs(600_000)],
    ['over its quota', dingtalkError(90030), is.waitMs(600_000)],
    ['the group was dissolved', dingtalkError(400013), is.notFound],
    ['too long', dingtalkError(460101), is.tooLong],
    ['busy', dingtalkError(-1), is.transient],
    ['a code of next year', dingtalkError(777777), is.permanent],
  ],
  sends: ({ path }) => path === '/robot/send',
  answer({ query, json }, world) {
    if (query.get('access_token') !== accessToken) return dingtalkError(300001);
    const timestamp = query.get('timestamp');
    const expected = createHmac('sha256', secret).update(`${timestamp}\n${secret}`).digest('base64');
    if (query.get('sign') !== expected) return dingtalkError(310000);
    if (json.msgtype !== 'text' || Buffer.byteLength(json.text.content) > 20_000) return dingtalkError(460101);
    world.take({ place: 'group', text: json.text.content });
    return { status: 200, json: { errcode: 0, errmsg: 'ok' } };
  },
};

const appSecret = 'sec-app-secret';

export function dingtalkAppError(status: number, code: string): FakeAnswer {
  return { status, json: { code, message: providerWords, requestid: 'R1' } };
}

export const dingtalkApp: PlatformFixture = {
  target: 'dingtalk',
  variant: 'app',
  options: { app_key: 'dingkey', app_secret: appSecret, robot_code: 'dingrobot' },
  wrongOptions: { app_secret: 'sec-wrong' },
  chat: 'cidGroup0001==',
  unknown: { chat: 'user:nobody', outcome: is.notFound },
  malformedChats: ['two words'],
  limit: { max: 4_000, unit: 'utf16' },
  maxPieces: 5,
  verifies: { kind: 'verified' },
  limited: { ...dingtalkAppError(429, 'Throttling.Api'), headers: { 'retry-after': '2' } },
  recorded: [
    ['a limit in a 403', dingtalkAppError(403, 'Forbidden.AccessDenied.QpsLimitForAppkeyAndApi'), is.waitMs(60_000)],
    ['no permission', dingtalkAppError(403, 'Forbidden.AccessDenied.AccessTokenPermissionDenied'), is.forbidden],
    ['an unknown group', dingtalkAppError(400, 'invalidParameter.openConversationId.invalid'), is.notFound],
    ['another app’s robot', dingtalkAppError(400, 'invalidParameter.robotCode.auth'), is.auth],
    ['another wrong parameter', dingtalkAppError(400, 'invalidParameter.msgKey.invalid'), is.permanent],
    ['its own failure', dingtalkAppError(500, 'ServiceUnavailable'), is.transient],
    [
      'users that it holds back',
      { status: 200, json: { processQueryKey: 'q', flowControlledStaffIdList: ['u'] } },
      is.waitMs(60_000),
    ],
    ['a token that is refused twice', dingtalkAppError(401, 'InvalidAuthentication'), is.auth],
  ],
  sends: ({ path }) => path.startsWith('/v1.0/robot/'),
  answer({ path, headers, json }, world) {
    if (path === '/v1.0/oauth2/accessToken') {
      return headers['x-acs-dingtalk-access-token'] === undefined &&
        json.appKey === 'dingkey' &&
        json.appSecret === appSecret
        ? { status: 200, json: { accessToken: 'sec-token', expireIn: 7200 } }
        : dingtalkAppError(400, 'invalidClientIdOrSecret');
    }
    if (headers['x-acs-dingtalk-access-token'] !== 'sec-token') return dingtalkAppError(401, 'InvalidAuthentication');
    if (json.robotCode !== 'dingrobot' || json.msgKey !== 'sampleText')
      return dingtalkAppError(400, 'invalidParameter.robotCode.empty');
    if (Buffer.byteLength(json.msgParam) > 15_000) return dingtalkAppError(400, 'invalidParameter.msgParam.tooLong');
    const { content } = JSON.parse(json.msgParam);
    if (path === '/v1.0/robot/groupMessages/send') {
      if (json.openConversationId !== 'cidGroup0001==')
        return dingtalkAppError(400, 'invalidParameter.openConversationId.invalid');
      return {
        status: 200,
        json: { processQueryKey: `q${world.take({ place: json.openConversationId, text: content })}` },
      };
    }
    const [user] = json.userIds;
    if (user !== 'manager1') return { status: 200, json: { processQueryKey: 'q', invalidStaffIdList: [user] } };
    const processQueryKey = `q${world.take({ place: user, text: content })}`;
    return { status: 200, json: { processQueryKey, invalidStaffIdList: [], flowControlledStaffIdList: [] } };
  },
};
