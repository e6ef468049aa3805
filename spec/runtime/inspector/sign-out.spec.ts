/** How a user signs in on the page, what that leaves in the audit log, and what is left of the session after signing out. */

import t, { type Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { challengeHeader, type Introduction, pageProofText, proofHeader } from '../../../machines/base/page-proof.ts';
import { connectControl } from '../../../runtime/control/client.ts';
import type { AuditRow } from '../../../runtime/control/contract/gateway.ts';
import { type Daemon, startDaemon } from '../../support/daemon.ts';
import { makeHome, type TestHome } from '../../support/home.ts';
import { type Answer, ask, hmacOf, linkOf, openUntilClosed } from '../../support/inspector.ts';
import { adapterOf } from '../../support/webhook-adapter.ts';

const publicUrl = 'https://agent.example.com';
const publicly = { host: new URL(publicUrl).host, origin: publicUrl };
const passwords = { maya: 'q8Zr4Lk2Wm7Tn1-Vx5', noor: 'Hd3Jf6Pw9Ys0BcR5K-' } as const;
const users = { maya: { password: '${MAYA}' }, noor: { password: passwords.noor, role: 'reader' } };

interface Stage {
  readonly home: TestHome;
  readonly daemon: Daemon;
  readonly url: string;
  signIn(name: string, password: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  call(method: string, params?: JsonObject): Promise<unknown>;
  audit(): Promise<readonly AuditRow[]>;
  /** Makes a link, and resolves with its address at the daemon itself. */
  link(params?: JsonObject): Promise<string>;
}

async function stage(t: Test): Promise<Stage> {
  const home = makeHome(t, {
    'config.yaml': JSON.stringify({
      inspector: { port: 0, public_url: publicUrl, users },
      platforms: {
        webhook: adapterOf({ gh: { prompt: 'p' } }, { secret: 'a-secret-of-the-spec' }),
      },
    }),
    '.env': `MAYA=${passwords.maya}\n`,
  });
  const daemon = await startDaemon(t, home.path);
  const client = await connectControl(`${home.path}/gateway.sock`);
  t.teardown(() => client?.close());
  await daemon.line(({ message }) => message.startsWith('inspector at'));
  const call: Stage['call'] = async (method, params = {}) => client?.call(method, params);
  const { inspector } = (await call('gateway.status')) as { readonly inspector: { readonly url: string } };
  return {
    home,
    daemon,
    call,
    url: inspector.url,
    signIn: (name, password, headers = {}) =>
      ask(`${inspector.url}/sign-in`, {
        method: 'POST',
        headers: { ...publicly, ...headers },
        body: JSON.stringify({ name, password }),
      }),
    audit: async () => (await call('audit.list')) as readonly AuditRow[],
    async link(params = {}) {
      const { url } = (await call('inspect.link', params)) as { readonly url: string };
      return `${inspector.url}${new URL(url).pathname}${new URL(url).search}`;
    },
  };
}

/** Signs in. Resolves with the headers that prove the session. */
async function sessionOf(
  { url, signIn }: Stage,
  name: keyof typeof passwords,
  cookie = '',
): Promise<Record<string, string>> {
  const answer = await signIn(name, passwords[name], { cookie });
  const { id, key } = JSON.parse(answer.body) as { readonly id: string; readonly key: string };
  const own = { ...publicly, cookie: answer.headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
  const greeting = await ask(`${url}/hello`, { headers: { ...own, [challengeHeader]: 'a'.repeat(43) } });
  const { nonce } = JSON.parse(greeting.body) as Introduction;
  return { ...own, [proofHeader]: hmacOf(key, pageProofText({ id, origin: publicUrl, nonce })) };
}

const shown = (rows: readonly AuditRow[]) =>
  rows.map(({ who, from, what, on, refused }) => ({ who, from, what, on, refused }));

t.test('SEC-1 · a user signs in with a password, at the public address alone, until it is changed', async (t) => {
  const stand = await stage(t);
  const { home, daemon, url, call, signIn } = stand;
  const { host } = publicly;
  t.match(await linkOf(home.path), `${publicUrl}/open?token=`, 'links lead to the public address');
  t.equal((await ask(`${url}/`, { headers: { host } })).status, 200, 'the page, which asks who comes');
  t.equal((await ask(`${url}/sign-in`, { headers: { host } })).status, 204);
  t.equal((await signIn('maya', passwords.maya, { origin: 'https://evil.example' })).status, 403);
  t.equal((await signIn('maya', 'wrong')).status, 401);
  t.equal((await ask(`${url}/metrics`, { headers: { host } })).status, 401, 'no numbers by the proxy');
  t.equal((await signIn('n'.repeat(3_000_000), 'wrong')).status, 400, 'what anybody may send is short');
  // An owner of IPv6 addresses has 2^64 of them, and is one sender.
  const statuses = [];
  for (let at = 0; at < 11; at += 1) {
    const forwarded = { 'x-forwarded-for': `10.0.0.1, 2001:db8::${at}` };
    statuses.push((await signIn(`typed-password-${at}`, 'wrong', forwarded)).status);
  }
  t.same(statuses, [...new Array<number>(10).fill(401), 429]);
  const plainly = { host: new URL(url).host, origin: url };
  t.equal((await signIn('maya', passwords.maya, plainly)).status, 401, 'by HTTPS alone');
  const { headers } = await signIn('maya', passwords.maya);
  t.match(headers['set-cookie']?.[0], /; HttpOnly; SameSite=Strict; .*; Secure$/);

  const rpc = async (own: Record<string, string>, method: string, params: JsonObject) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const typed = { ...own, 'content-type': 'application/json' };
    return (await ask(`${url}/rpc`, { method: 'POST', headers: typed, body })).body;
  };
  const maya = await sessionOf(stand, 'maya');
  t.match(await rpc(maya, 'webhook.disable', { name: 'gh' }), /"result"/);
  const noor = await sessionOf(stand, 'noor');
  t.match(await rpc(noor, 'webhook.enable', { name: 'gh' }), /page-read-only/);
  t.match(await rpc(noor, 'audit.list', {}), /"who":"maya","from":"page","what":"disabled a route"/);

  home.write('.env', 'MAYA=Zz9-another-one-of-hers\n');
  await call('gateway.reload');
  const { inspector } = (await call('gateway.status')) as { readonly inspector: { readonly url: string } };
  const greeting = { ...maya, [challengeHeader]: 'a'.repeat(43) };
  t.equal(
    (await ask(`${inspector.url}/hello`, { headers: greeting })).status,
    401,
    'whose password was changed is out',
  );
  t.notMatch(JSON.stringify(daemon.log), /q8Zr4Lk2Wm7Tn1|Hd3Jf6Pw9Ys0BcR5K|typed-password/);
});

t.test(
  'SEC-1 · a sign-in and its refusals are in the audit log, with who they are of, and without a password',
  async (t) => {
    const { daemon, signIn, audit } = await stage(t);
    const forwarded = { 'x-forwarded-for': '198.51.100.1, 2001:db8::7' };

    await signIn('maya', passwords.maya, forwarded);
    await signIn('maya', 'typed-wrong-password', forwarded);
    // Ten are enough, unless a minute ends meanwhile and the count begins again.
    while ((await signIn('typed-password-as-name', 'x', forwarded)).status !== 429);
    await signIn('noor', passwords.noor, forwarded);

    const from = { from: 'page', what: 'signed in', on: { sender: '2001:db8:0:0::/64' } };
    const rows = await audit();
    t.match(shown(rows), [
      { ...from, who: 'noor', refused: 'too many wrong ones in a minute' },
      { ...from, who: 'unknown user', refused: 'too many wrong ones in a minute' },
      { ...from, who: 'unknown user', refused: 'the name or the password is wrong' },
      { ...from, who: 'maya', refused: 'the name or the password is wrong' },
      { ...from, who: 'maya', refused: undefined },
    ]);
    t.equal(rows.length, 5, 'all of one sender are one row');
    t.notMatch(JSON.stringify([rows, daemon.log]), /typed-|q8Zr4Lk2|Hd3Jf6Pw/);
  },
);

t.test('SEC-1 · a page that a link opens, and a link that is over, are in the audit log as sign-ins are', async (t) => {
  const { link, audit } = await stage(t);
  const opened = await link({ as: 'ana' });
  const address = await link();
  const follow = (url: string) => ask(url, { headers: { 'x-forwarded-for': '203.0.113.7' } });

  t.equal((await follow(opened)).status, 200);
  t.equal((await follow(opened)).status, 401, 'a second time');
  t.equal((await ask(address, { method: 'HEAD' })).status, 200, 'what looks ahead opens nothing');
  t.equal((await follow(address)).status, 200);

  const from = { from: 'page', what: 'signed in', on: { by: 'link', sender: '203.0.113.7' } };
  const rows = (await audit()).filter(({ what }) => what === 'signed in');
  t.match(shown(rows), [
    { ...from, who: 'owner', refused: undefined },
    { ...from, who: 'unknown user', refused: 'the link was used already or is too old' },
    { ...from, who: 'ana', refused: undefined },
  ]);
  t.equal(rows.length, 3);
  for (const url of [opened, address]) {
    t.notMatch(JSON.stringify(rows), new URL(url).searchParams.get('token') ?? '', 'no link can be read there');
  }
});

t.test('SEC-1 · signing out ends the session and its streams at once, also of one who only reads', async (t) => {
  const stand = await stage(t);
  const { url, audit } = stand;
  for (const name of ['maya', 'noor'] as const) {
    const own = await sessionOf(stand, name);
    const other = await sessionOf(stand, name);
    const stream = await openUntilClosed(t, { url, own });

    const answer = await ask(`${url}/sign-out`, { method: 'POST', headers: own });

    t.equal(answer.status, 204);
    t.match(
      answer.headers['set-cookie']?.[0],
      /^agent_inspector_\d+=; HttpOnly; SameSite=Strict; Path=\/; Max-Age=0; Secure$/,
    );
    await stream.closed;
    t.equal((await ask(`${url}/stream`, { headers: own })).status, 401, 'its proof');
    t.equal(
      (await ask(`${url}/hello`, { headers: { ...own, [challengeHeader]: 'b'.repeat(43) } })).status,
      401,
      'its cookie',
    );
    t.equal((await ask(`${url}/ready`, { headers: other })).status, 200, 'another session of the user continues');
    t.match((await audit())[0], { who: name, from: 'page', what: 'signed out', on: {} });
  }
});

t.test('SEC-1 · only the page itself signs its user out', async (t) => {
  const stand = await stage(t);
  const { url, audit } = stand;
  const own = await sessionOf(stand, 'maya');
  const { [proofHeader]: _, ...unproven } = own;
  const { origin: __, ...nameless } = own;
  const asking = (headers: Readonly<Record<string, string>>, method = 'POST') =>
    ask(`${url}/sign-out`, { method, headers });

  t.equal((await asking(unproven)).status, 401, 'a cookie alone');
  t.equal((await asking(nameless)).status, 403, 'without an origin');
  t.equal((await asking({ ...own, origin: 'https://evil.example' })).status, 403, 'another origin');
  t.equal((await asking({ ...own, 'sec-fetch-site': 'cross-site' })).status, 403, 'another site');
  t.equal((await asking(own, 'GET')).status, 405, 'an address that is opened');

  t.equal((await ask(`${url}/ready`, { headers: own })).status, 200);
  t.notMatch(JSON.stringify(await audit()), /signed out/);
});

t.test('SEC-1 · a user who signs in again has one session: the earlier one ends', async (t) => {
  const stand = await stage(t);
  const { url } = stand;
  const before = await sessionOf(stand, 'maya');
  const noor = await sessionOf(stand, 'noor', before.cookie);
  t.equal((await ask(`${url}/ready`, { headers: before })).status, 200, 'it is not ended by another user');

  const after = await sessionOf(stand, 'maya', before.cookie);

  t.equal((await ask(`${url}/ready`, { headers: before })).status, 401);
  for (const headers of [after, noor]) t.equal((await ask(`${url}/ready`, { headers })).status, 200);
});
