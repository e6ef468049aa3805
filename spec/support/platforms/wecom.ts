/** WeCom: an app with a token in the query, and a group robot; HTTP 200 whatever happens. */

import {
  auth,
  type FakeAnswer,
  forbidden,
  notFound,
  type PlatformFixture,
  permanent,
  providerWords,
  tooLong,
  transient,
  waitMs,
} from './fake-platform.ts';

const corpSecret = 'sec-corp-secret';

export function wecomError(errcode: number, errmsg = providerWords): FakeAnswer {
  return { status: 200, json: { errcode, errmsg } };
}

export const wecomApp: PlatformFixture = {
  target: 'wecom',
  variant: 'app',
  options: { corp_id: 'ww1', corp_secret: corpSecret, agent_id: 1000002 },
  wrongOptions: { corp_secret: 'sec-wrong' },
  chat: 'zhangsan',
  place: 'touser zhangsan',
  unknown: { chat: 'lisi', outcome: notFound },
  malformedChats: ['a b', 'zhangsan|lisi', 'team:1'],
  limit: { most: 2_048, unit: 'utf8Bytes' },
  maxPieces: 10,
  resends: false,
  verifies: { kind: 'verified' },
  limited: { ...wecomError(45009), headers: { 'retry-after': '2' } },
  recorded: [
    ['too often, with HTTP 200', wecomError(45009), waitMs(60_000)],
    ['nobody it may write to', wecomError(81013), notFound],
    [
      'the one recipient is wrong, with errcode 0',
      { status: 200, json: { errcode: 0, errmsg: 'ok', invaliduser: 'zhangsan', msgid: 'm' } },
      notFound,
    ],
    ['an address that is not trusted', wecomError(60020), { ...auth, reason: /trusted addresses/ }],
    ['no permission', wecomError(60011), forbidden],
    ['too long', wecomError(45002), tooLong],
    ['busy', wecomError(-1), transient],
    ['a code of next year', wecomError(999999), permanent],
    ['a token that is refused twice', wecomError(42001), auth],
  ],
  sends: ({ path }) => path.endsWith('/send'),
  answer({ path, query, json, text: body }, world) {
    if (path === '/cgi-bin/gettoken') {
      return query.get('corpid') === 'ww1' && query.get('corpsecret') === corpSecret
        ? { status: 200, json: { errcode: 0, errmsg: 'ok', access_token: 'sec-wecom-token', expires_in: 7200 } }
        : wecomError(40001);
    }
    if (query.get('access_token') !== 'sec-wecom-token') return wecomError(40014);
    if (json.msgtype !== 'text' || Buffer.byteLength(json.text.content) > 2_048) return wecomError(45002);
    if (path === '/cgi-bin/appchat/send') {
      if (json.chatid !== 'ops') return wecomError(86001);
      world.take({ place: `chat ${json.chatid}`, text: json.text.content });
      return { status: 200, json: { errcode: 0, errmsg: 'ok' } };
    }
    if (path !== '/cgi-bin/message/send') return wecomError(40066);
    if (json.agentid !== 1000002) return wecomError(40056);
    const kind = ['touser', 'toparty', 'totag'].find((key) => json[key] !== undefined) ?? '';
    if (json[kind] === 'lisi') return wecomError(81013);
    const checked = json.enable_duplicate_check === 1 ? body : undefined;
    const number = world.take({ place: `${kind} ${json[kind]}`, text: json.text.content }, checked);
    return { status: 200, json: { errcode: 0, errmsg: 'ok', invaliduser: '', msgid: `M${number}` } };
  },
};

export const wecomRobot: PlatformFixture = {
  target: 'wecom',
  variant: 'robot',
  options: { robot_key: 'sec-693a91f6' },
  wrongOptions: { robot_key: 'sec-gone' },
  place: 'group',
  malformedChats: [],
  limit: { most: 2_048, unit: 'utf8Bytes' },
  maxPieces: 10,
  resends: false,
  verifies: { kind: 'unverifiable' },
  unverifiable: true,
  limited: { ...wecomError(45009), headers: { 'retry-after': '2' } },
  recorded: [
    ['an unknown key, with HTTP 200', wecomError(93000), auth],
    ['more than 20 in a minute', wecomError(45009), waitMs(60_000)],
    ['too long', wecomError(40058, `text.content exceed max length 2048. ${providerWords}`), tooLong],
    ['another wrong parameter', wecomError(40058), permanent],
  ],
  sends: ({ path }) => path === '/cgi-bin/webhook/send',
  answer({ query, json }, world) {
    if (query.get('key') !== 'sec-693a91f6') return wecomError(93000);
    if (Buffer.byteLength(json.text.content) > 2_048) return wecomError(40058, 'text.content exceed max length 2048.');
    world.take({ place: 'group', text: json.text.content });
    return { status: 200, json: { errcode: 0, errmsg: 'ok' } };
  },
};
