import t from 'tap';
import { proofHeader, sessionHeader } from '../../../machines/base/page-proof.ts';
import { type Asked, cookieName, type DoorRules, isOurs, judgeRequest } from '../../../runtime/inspector/door.ts';
import { fc } from '../../support/property.ts';

const port = 8_645;
const rules: DoorRules = {
  port,
  origin: `http://127.0.0.1:${port}`,
  isLocal: true,
  knowsSession: ({ id, origin }) => ['mine', 'older'].includes(id) && origin === `http://127.0.0.1:${port}`,
  provesKey: ({ id }, proof) => id === 'mine' && proof === 'my proof',
};
const cookie = `${cookieName(port)}=mine`;
const proof = { [proofHeader]: 'my proof' };
const host = `127.0.0.1:${port}`;
const origin = `http://${host}`;

/** The status of a refusal, or 200. */
function statusOf(
  headers: Record<string, string>,
  asked: Asked,
  more: Partial<DoorRules> = {},
  method = 'GET',
): number {
  const verdict = judgeRequest({ headers, method }, asked, { ...rules, ...more });
  return verdict.kind === 'welcome' ? 200 : verdict.status;
}

interface Row {
  readonly says: string;
  readonly headers: Record<string, string>;
  readonly method?: string;
  readonly asked?: Asked;
  readonly status: number;
}

const rows: readonly Row[] = [
  { says: 'lets our own page in', headers: { ...proof, host, cookie, origin }, status: 200 },
  {
    says: 'has no page at a name that may lead to another listener',
    headers: { ...proof, host: `localhost:${port}`, cookie },
    status: 421,
  },
  { says: 'opens no link at such a name', headers: { host: `localhost:${port}` }, asked: 'link', status: 421 },
  {
    says: 'lets our own page in beside a cookie of the same name that another listener set',
    headers: { ...proof, host, cookie: `${cookieName(port)}=theirs; ${cookie}`, origin },
    status: 200,
  },
  {
    says: 'lets our own page in beside the cookie of an older session',
    headers: { ...proof, host, cookie: `${cookieName(port)}=older; ${cookie}`, origin },
    status: 200,
  },
  {
    says: 'greets no page whose session is not among the cookies',
    headers: { [sessionHeader]: 'other', host, cookie },
    asked: 'greeting',
    status: 401,
  },
  { says: 'has no page at another address', headers: { ...proof, host: `[::1]:${port}`, cookie }, status: 421 },
  { says: 'opens a link at its address', headers: { host }, asked: 'link', status: 200 },
  { says: 'lets a monitor in by any name', headers: { host: `localhost:${port}` }, asked: 'numbers', status: 200 },
  { says: 'refuses a name that was bent to us', headers: { host: `evil.example:${port}`, cookie }, status: 421 },
  {
    says: 'refuses a name that begins as ours',
    headers: { host: `localhost.evil.example:${port}`, cookie },
    status: 421,
  },
  { says: 'refuses another port', headers: { host: '127.0.0.1:80', cookie }, status: 421 },
  { says: 'refuses a Host without a port', headers: { host: '127.0.0.1', cookie }, status: 421 },
  { says: 'refuses no Host at all', headers: { cookie }, status: 421 },
  { says: 'refuses a foreign origin', headers: { host, cookie, origin: 'https://evil.example' }, status: 403 },
  {
    says: 'refuses an origin of this machine that is not ours',
    headers: { host, cookie, origin: 'http://127.0.0.1:3000' },
    status: 403,
  },
  { says: 'refuses the origin of a sandbox', headers: { host, cookie, origin: 'null' }, status: 403 },
  { says: 'refuses a POST without an origin', headers: { host, cookie }, method: 'POST', status: 403 },
  { says: 'lets a POST of our page in', headers: { ...proof, host, cookie, origin }, method: 'POST', status: 200 },
  { says: 'refuses a script of another site', headers: { host, cookie, 'sec-fetch-site': 'cross-site' }, status: 403 },
  {
    says: 'refuses one of the same site but another port',
    headers: { host, cookie, 'sec-fetch-site': 'same-site' },
    status: 403,
  },
  {
    says: 'lets a link from elsewhere show the page',
    headers: { host, cookie, 'sec-fetch-site': 'cross-site' },
    asked: 'document',
    status: 200,
  },
  { says: 'refuses no cookie', headers: { ...proof, host }, status: 401 },
  { says: 'refuses the cookie alone: it went to every port', headers: { host, cookie, origin }, status: 401 },
  { says: 'refuses the proof of another session', headers: { [proofHeader]: 'other', host, cookie }, status: 401 },
  { says: 'greets the page by its cookie alone', headers: { host, cookie }, asked: 'greeting', status: 200 },
  { says: 'greets no page without a cookie', headers: { host }, asked: 'greeting', status: 401 },
  {
    says: 'greets no page of another port',
    headers: { host, cookie, 'sec-fetch-site': 'same-site' },
    asked: 'greeting',
    status: 403,
  },
  { says: 'lets the page have its files by the cookie alone', headers: { host, cookie }, asked: 'file', status: 200 },
  {
    says: 'refuses a file to another port',
    headers: { host, cookie, 'sec-fetch-site': 'same-site' },
    asked: 'file',
    status: 403,
  },
  {
    says: 'refuses a cookie that nobody gave',
    headers: { ...proof, host, cookie: `${cookieName(port)}=other` },
    status: 401,
  },
  {
    says: 'refuses the cookie of another gateway',
    headers: { ...proof, host, cookie: `${cookieName(port + 1)}=mine` },
    status: 401,
  },
  { says: 'finds its cookie among others', headers: { ...proof, host, cookie: `a=b; ${cookie}; c=d` }, status: 200 },
  { says: 'lets a monitor in without a session', headers: { host }, asked: 'numbers', status: 200 },
  { says: 'refuses a monitor by a bent name', headers: { host: 'evil.example' }, asked: 'numbers', status: 421 },
];

for (const { says, headers, method, asked = 'data', status } of rows) {
  t.test(`INS-2 · ${says}`, (t) => {
    t.equal(statusOf(headers, asked, {}, method), status);
    t.end();
  });
}

t.test('SEC-1 · the greeting is for the session that the page names, whatever other session has a cookie', (t) => {
  const headers = { host, cookie: `${cookieName(port)}=older; ${cookie}` };
  for (const [named, id] of [
    ['mine', 'mine'],
    ['older', 'older'],
    ['', 'older'],
  ] as const)
    t.match(judgeRequest({ headers: { ...headers, [sessionHeader]: named } }, 'greeting', rules), { session: { id } });
  t.end();
});

t.test('SEC-1 · numbers ask for the token where one is set, and for nothing else', (t) => {
  const token = 'a token, ünlike others';
  const sent = Buffer.from(token).toString('latin1');
  const cases: readonly (readonly [
    scrapeToken: string | undefined,
    authorization: string | undefined,
    status: number,
  ])[] = [
    [undefined, undefined, 200],
    [undefined, 'Bearer any', 200],
    [token, `Bearer ${sent}`, 200],
    [token, `bearer  ${sent}`, 200],
    [token, undefined, 401],
    [token, '', 401],
    [token, 'Bearer', 401],
    [token, 'Bearer ', 401],
    [token, sent, 401],
    [token, `Basic ${sent}`, 401],
    [token, `Bearer ${sent}x`, 401],
    [token, `Bearer ${sent.slice(1)}`, 401],
    ['', undefined, 401],
    ['', 'Bearer', 401],
    ['', 'Bearer ', 401],
  ];
  for (const [scrapeToken, authorization, status] of cases) {
    const headers = { host, ...(authorization === undefined ? {} : { authorization }) };
    t.equal(statusOf(headers, 'numbers', { scrapeToken }), status, `${scrapeToken}: ${authorization}`);
  }
  t.equal(statusOf({ host: 'evil.example' }, 'numbers'), 421, 'a bent name is refused first');
  t.end();
});

t.test('INS-2 · no name but the three is ours, whatever it looks like', (t) => {
  fc.assert(
    fc.property(fc.string(), (name) => {
      fc.pre(!['127.0.0.1', 'localhost', '[::1]'].includes(name.toLowerCase()));
      return !isOurs(`${name}:${port}`, port);
    }),
  );
  t.end();
});

t.test('SEC-1 · behind a proxy the page has its public address, and numbers need a token there', (t) => {
  const publicUrl = 'https://agent.example.com';
  const publicly: Partial<DoorRules> = {
    publicUrl,
    knowsSession: ({ id, origin }) => id === 'mine' && origin === publicUrl,
  };
  const own = { host: 'agent.example.com', origin: publicUrl };
  const publicStatus = (headers: Record<string, string>, asked: Asked, more: Partial<DoorRules> = {}): number =>
    statusOf(headers, asked, { ...publicly, ...more });
  t.equal(publicStatus({ ...own, ...proof, cookie }, 'data'), 200);
  t.equal(publicStatus({ ...own, cookie }, 'data'), 401, 'a cookie alone');
  t.equal(publicStatus({ ...own, origin, ...proof, cookie }, 'data'), 403, 'another origin');
  t.equal(publicStatus({ host, origin, ...proof, cookie }, 'data'), 401, 'a session of the other address');
  t.equal(publicStatus({ host: 'evil.example', origin: publicUrl }, 'signIn'), 421);
  t.equal(publicStatus({ host: 'agent.example.com', origin: 'https://evil.example' }, 'signIn'), 403);
  t.equal(publicStatus(own, 'signIn'), 200);
  t.equal(publicStatus({ host: 'agent.example.com' }, 'entrance'), 200);
  t.equal(publicStatus({ host: 'agent.example.com' }, 'document'), 401);
  t.equal(publicStatus({ host: 'agent.example.com' }, 'numbers'), 401);
  t.equal(publicStatus({ host }, 'numbers'), 200);
  t.equal(publicStatus({ host }, 'numbers', { isLocal: false }), 401, 'a name is no proof of where it comes from');
  t.equal(publicStatus({ ...own, ...proof, cookie }, 'numbers'), 200, 'the page with its proof');
  t.equal(publicStatus({ ...own, cookie }, 'numbers'), 401, 'a cookie alone');
  t.equal(publicStatus({ ...own, ...proof }, 'numbers'), 401, 'a proof of no session');
  const bearer = { host: 'agent.example.com', authorization: 'Bearer right' };
  t.equal(publicStatus(bearer, 'numbers', { scrapeToken: 'right' }), 200);
  t.end();
});
