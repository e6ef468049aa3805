/** WeCom: an app with a token in the query, and a group robot; HTTP 200 whatever happens. */

import { type FakeAnswer, is, type PlatformFixture, providerWords } from './fake-platform.ts';

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
  unknown: { chat: 'lisi', outcome: is.notFound },
  malformedChats: ['a b', 'zhangsan|lisi', 'team:1'],
  limit: { max: 2_048, unit: 'utf8Bytes' },
  maxPieces: 10,
  verifies: { kind: 'verified' },
  limited: { ...wecomError(45009), headers: { 'retry-after': '2' } },
  recorded: [
    ['too often, with HTTP 200', wecomError(45009), is.waitMs(60_000)],
    ['nobody it may write to', wecomError(81013), is.notFound],
    [
      'the one recipient is wrong, with errcode 0',
      { status: 200, json: { errcode: 0, errmsg: 'ok', invaliduser: 'zhangsan', msgid: 'm' } },
      is.notFound,
    ],
    ['an address that is not trusted', wecomError(60020), { ...is.auth, reason: /trusted addresses/ }],
    ['no permission', wecomError(60011), is.forbidden],
    ['too long', wecomError(45002), is.tooLong],
    ['busy', wecomError(-1), is.transient],
    ['a code of next year', wecomError(999999), is.permanent],
    ['a token that is refused twice', wecomError(42001), is.auth],
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
  limit: { max: 2_048, unit: 'utf8Bytes' },
  maxPieces: 10,
  verifies: { kind: 'unverifiable' },
  limited: { ...wecomError(45009), headers: { 'retry-after': '2' } },
  recorded: [
    ['an unknown key, with HTTP 200', wecomError(93000), is.auth],
    ['more than 20 in a minute', wecomError(45009), is.waitMs(60_000)],
    ['too long', wecomError(40058, `text.content exceed max length 2048. ${providerWords}`), is.tooLong],
    ['another wrong parameter', wecomError(40058), is.permanent],
  ],
  sends: ({ path }) => path === '/cgi-bin/webhook/send',
  answer({ query, json }, world) {
    if (query.get('key') !== 'sec-693a91f6') return wecomError(93000);
    if (Buffer.byteLength(json.text.content) > 2_048) return wecomError(40058, 'text.content exceed max length 2048.');
    world.take({ place: 'group', text: json.text.content });
    return { status: 200, json: { errcode: 0, errmsg: 'ok' } };
  },
};
