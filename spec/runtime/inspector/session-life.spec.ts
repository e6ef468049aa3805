/** How long a session of the page may do what, through a real daemon whose time the spec lets pass. */

import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  challengeHeader,
  daemonProofText,
  type Introduction,
  pageProofText,
  proofHeader,
  sessionHeader,
} from '../../../machines/base/page-proof.ts';
import { type InspectorServerPorts, openInspectorServer } from '../../../runtime/inspector/server.ts';
import { createPageSessions } from '../../../runtime/inspector/sessions.ts';
import { askCli, type Daemon, startDaemon } from '../../support/daemon.ts';
import { makeHome } from '../../support/home.ts';
import { ask, hmacOf, linkOf, openPage, openUntilClosed, sessionIn } from '../../support/inspector.ts';
import { collected } from '../../support/processes.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const platforms = { webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, secret: 'a-secret-of-the-spec' } } };

async function start(t: Test): Promise<{ readonly home: string; readonly daemon: Daemon }> {
  const config = { inspector: { port: 0 }, agent: { runner: 'echo' }, platforms };
  const home = makeHome(t, { 'config.yaml': JSON.stringify(config) }).path;
  return { home, daemon: await startDaemon(t, home, {}, { timePasses: true }) };
}

function linkTo(name: string, config: object): string {
  return `agent://mcp/install?name=${name}&config=${Buffer.from(JSON.stringify(config)).toString('base64url')}`;
}

t.test('SEC-1 · a session lasts 12 hours, and its stream no longer', async (t) => {
  const { home, daemon } = await start(t);
  const page = await openPage(t, home);
  await daemon.pass(12 * hourMs - minuteMs);
  t.match(await page.rpc('gateway.status'), { pid: daemon.child.pid });
  const stream = await openUntilClosed(t, page);

  await daemon.pass(minuteMs);

  await stream.closed;
  t.equal((await page.ask('/stream')).status, 401);
  t.equal((await page.ask('/')).status, 401);
});

t.test('SEC-1 · the cookie of an older session does not keep a page out', async (t) => {
  const { home } = await start(t);
  const { cookie: older } = await openPage(t, home);
  const link = await linkOf(home);
  const { origin } = new URL(link);
  const opened = await ask(link);
  const { id, key } = sessionIn(opened.body);
  const cookie = `${older}; ${opened.headers['set-cookie']?.[0]?.split(';')[0]}`;
  const challenge = 'c'.repeat(43);

  const { body } = await ask(`${origin}/hello`, {
    headers: { cookie, [challengeHeader]: challenge, [sessionHeader]: id },
  });
  const { nonce, proof } = JSON.parse(body) as Introduction;
  t.equal(
    proof,
    hmacOf(key, daemonProofText({ id, origin, nonce }, challenge)),
    'the daemon proves itself to this page',
  );
  const headers = { cookie, origin, [proofHeader]: hmacOf(key, pageProofText({ id, origin, nonce })) };
  t.equal((await ask(`${origin}/actor/supervisor`, { headers })).status, 200);
});

t.test('SEC-1 · a command ends all sessions, their streams and the links that are not used yet', async (t) => {
  const { home } = await start(t);
  const pages = [await openPage(t, home), await openPage(t, home)];
  const streams = await Promise.all(pages.map((page) => openUntilClosed(t, page)));
  const link = await linkOf(home);

  const ended = await askCli(['inspect', '--end-sessions'], home);

  t.same([ended.code, ended.stdout], [0, '2 sessions of the inspector page ended.\n']);
  for (const { closed } of streams) await closed;
  for (const page of pages) t.equal((await page.ask('/actor/supervisor')).status, 401);
  t.equal((await ask(link)).status, 401);
  t.same(JSON.parse((await askCli(['inspect', '--end-sessions', '--json'], home)).stdout), { ended: 0 });
  t.equal((await (await openPage(t, home)).ask('/actor/supervisor')).status, 200, 'a new link opens the page again');
});

t.test('SEC-1 · the command ends the sessions of a daemon that does not run', async (t) => {
  const { home, daemon } = await start(t);
  const page = await openPage(t, home);
  await openPage(t, home);
  await daemon.kill('SIGTERM');

  const ended = await askCli(['inspect', '--end-sessions'], home);

  t.same([ended.code, ended.stdout], [0, '2 sessions of the inspector page ended.\n']);
  t.same(JSON.parse(readFileSync(join(home, 'state/inspector-sessions.json'), 'utf8')), {});
  await startDaemon(t, home);
  const { origin } = new URL(await linkOf(home));
  t.equal((await ask(`${origin}/`, { headers: { cookie: page.cookie } })).status, 401);
  t.match(await askCli(['inspect', '--web', '--end-sessions'], home), { code: 2, stderr: /exclude each other/ });
  const empty = makeHome(t).path;
  t.same(JSON.parse((await askCli(['inspect', '--end-sessions', '--json'], empty)).stdout), { ended: 0 });
  t.equal(existsSync(join(empty, 'state')), false, 'a home without sessions is left as it is');
});

t.test('SEC-1 · a link is fresh or not when the request has come completely', async (t) => {
  const { home, daemon } = await start(t);
  const page = await openPage(t, home);
  const params = { name: 'nightly', record: { prompt: 'p', schedule: '0 3 * * *' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'cron.add', params });
  const headers = { ...page.own, 'content-type': 'application/json', expect: '100-continue' };
  const asked = request(`${page.url}/rpc`, { method: 'POST', headers, agent: false });
  const answered = new Promise<string>((resolve, reject) => {
    asked.once('error', reject);
    asked.once('response', (response) => {
      const text = collected(response);
      response.once('end', () => resolve(text()));
    });
  });
  const isHeard = new Promise<void>((resolve) => asked.once('continue', () => resolve()));
  asked.flushHeaders();
  await isHeard;

  await daemon.pass(10 * minuteMs);
  asked.end(body);

  t.match(JSON.parse(await answered), { error: { data: { code: 'link-not-fresh' } } });
});

t.test('SEC-1 · what starts a program needs a link that was opened in the last ten minutes', async (t) => {
  const { home, daemon } = await start(t);
  const page = await openPage(t, home);
  const program = (name: string): { url: string; profile: string } => ({
    url: linkTo(name, { command: 'sh', args: ['-c', 'true'] }),
    profile: 'default',
  });
  t.match(await page.rpc('link.add', program('soon')), { added: 'soon' });

  await daemon.pass(10 * minuteMs);

  const refusal = { data: { code: 'link-not-fresh' }, message: /agent inspect --web/ };
  t.match(await page.rpc('link.add', program('late')), refusal);
  const record = { prompt: 'a prompt of its own', toolsets: ['mcp-*'] };
  for (const [method, params] of [
    ['webhook.subscribe', { name: 'hooked', record: { ...record, script: 'run.sh' } }],
    ['webhook.subscribe', { name: 'hooked', record }],
    ['webhook.test', { name: 'hooked', payload: { x: 'a text of its own' } }],
    ['cron.add', { name: 'nightly', record: { ...record, schedule: '0 3 * * *' } }],
    ['cron.run', { job: 'nightly', context: 'a text of its own' }],
    ['chat.open', {}],
  ] as const) {
    t.match(await page.rpc(method, params), refusal, method);
  }
  t.same(await page.rpc('cron.list'), [], 'nothing was added');
  t.match(await page.rpc('link.read', program('late')), { kind: 'command' }, 'a link may be read');
  const address = (more: object) => ({
    url: linkTo('remote', { url: 'http://127.0.0.1:1/mcp', ...more }),
    profile: 'default',
  });
  t.match(await page.rpc('link.add', address({})), refusal, 'its tools would run without asking');
  const asking = address({ trust: 'untrusted' });
  t.match(await page.rpc('link.add', asking), { added: 'remote' }, 'one that asks starts no program');
  t.match(await (await openPage(t, home)).rpc('link.add', program('late')), { added: 'late' });
});

t.test('SEC-1 · a link that ends between its check and its use opens nothing', async (t) => {
  const sessions = createPageSessions(Date.now, { load: () => [], save: () => Promise.resolve(true) });
  const audited: object[] = [];
  const verdict = await openInspectorServer({ enabled: true, host: '127.0.0.1', port: 0 }, {
    sessions: { ...sessions, open: () => undefined },
    audit: () => ({ addSession: (row: object) => audited.push(row) }),
    pageFolder: new URL('../../../runtime/inspector/page', import.meta.url).pathname,
  } as unknown as InspectorServerPorts);
  if (verdict.kind !== 'listening') throw new Error(verdict.why);
  t.teardown(() => verdict.server.close());

  const { status, headers } = await ask(`${verdict.server.url}/open?token=${sessions.invite()}`);

  t.same([status, headers['set-cookie']], [401, undefined]);
  t.match(audited, [{ what: 'signed in', refused: /./ }]);
});
