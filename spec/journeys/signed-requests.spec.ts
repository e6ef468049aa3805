import { createHmac, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { sign } from '@octokit/webhooks-methods';
import t, { type Test } from 'tap';
import { askCli, type Daemon, type LogLine, startBlocked, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';

const shared = 'a-secret-shared-with-senders';

function start(t: Test, front: string): Promise<Daemon> {
  const home = makeHome(t, {
    'config.yaml': `gateway: {front: ${front}, journal: memory}
platforms:
  webhook:
    enabled: true
    secret: ${shared}
    extra:
      host: 127.0.0.1
      port: 0
      rate_limit: 100000
      routes:
        gh: {prompt: "{event_type}"}
        other: {prompt: x}
        open: {secret: INSECURE_NO_AUTH, prompt: x}
`,
  });
  return startDaemon(t, home.path);
}

const hmac = (text: string): string => createHmac('sha256', shared).update(text).digest('hex');

async function post(daemon: Daemon, route: string, text: string, headers: Record<string, string>) {
  const response = await fetch(`${daemon.url}/webhooks/${route}`, { method: 'POST', body: text, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

for (const { front, skip } of httpServers) {
  t.test(`on the ${front} HTTP server`, { skip }, async (t) => {
    const daemon = await start(t, front);

    t.test('SIG-5 · a page of another port of this machine starts no run on a route without a secret', async (t) => {
      for (const headers of [{ origin: 'http://127.0.0.1:9' }, { 'sec-fetch-site': 'same-site' }])
        t.equal((await post(daemon, 'open', '{"page":1}', headers)).status, 401);
      t.equal((await post(daemon, 'open', '{"page":2}', {})).status, 202);
    });

    t.test('SIG-1 · EVT-1 · IDM-2 · real payloads of GitHub, signed by its own library, are accepted', async (t) => {
      const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as { default?: unknown };
      const events = (examples.default ?? examples) as readonly {
        readonly name: string;
        readonly examples: object[];
      }[];
      t.ok(events.length > 20);
      for (const { name, examples: payloads } of events) {
        const text = JSON.stringify(payloads[0]);
        const id = randomUUID();
        const answer = await post(daemon, 'gh', text, {
          'content-type': 'application/json',
          'x-github-event': name,
          'x-github-delivery': id,
          'x-hub-signature-256': await sign(shared, text),
        });
        t.same(answer, { status: 202, body: { status: 'accepted', route: 'gh', event: name, delivery_id: id } }, name);
      }
    });

    t.test('SIG-4 · OBS-1 · V1 is warned of once for each route, at warn', async (t) => {
      for (const [n, route] of ['gh', 'other', 'gh', 'other'].entries()) {
        const body = JSON.stringify({ n });
        t.equal((await post(daemon, route, body, { 'x-webhook-signature': hmac(body) })).status, 202);
      }
      const isWarning = ({ message }: LogLine): boolean => /deprecated scheme generic-v1/.test(message);
      await daemon.line((line) => isWarning(line) && line.message.includes('"other"'));
      const warned = daemon.log.filter(isWarning);
      t.same(warned.map(({ level, message }) => [level, /route "(\w+)"/.exec(message)?.[1]]).sort(), [
        ['warn', 'gh'],
        ['warn', 'other'],
      ]);
    });
  });
}

t.test('SEC-6 · SIG-5 · a weak secret stops the adapter outside loopback, unless that is allowed', async (t) => {
  const token = 'glft-1234567';
  const config = (listener: string): string =>
    `inspector: {enabled: false}\nplatforms: {webhook: {enabled: true, port: 0, ${listener}, routes: {gl: {secret: ${token}, prompt: x}}}}\n`;
  const why =
    /route "gl" has a secret that has 12 characters, fewer than 16, while the adapter binds "0\.0\.0\.0"; make one by .* \[secret-weak\]/;
  const home = makeHome(t, { 'config.yaml': config('host: 0.0.0.0') });
  t.match((await startBlocked(t, home.path)).stderr, why, 'at start');
  const checked = await askCli(['config', 'check'], home.path);
  t.equal(checked.code, 1);
  t.match(checked.stdout, why);
  const looked = await askCli(['doctor', '--offline', '--json'], home.path);
  t.equal(looked.code, 1);
  t.match(looked.stdout, /has 12 characters, fewer than 16/);
  t.notMatch(checked.stdout + looked.stdout, token, 'the secret itself is shown nowhere');

  await askCli(['gateway', 'stop'], home.path);
  for (const listener of ['host: 127.0.0.1', 'host: 0.0.0.0, allow_weak_secrets: true']) {
    home.write('config.yaml', config(listener));
    const daemon = await startDaemon(t, home.path);
    const warnings = daemon.log.filter(({ level, code }) => level === 'warn' && code === 'secret-weak');
    t.equal(warnings.length, listener.includes('allow') ? 1 : 0, listener);
    const port = new URL(daemon.url).port;
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/gl`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-gitlab-token': token },
    });
    t.equal(answer.status, 202, listener);
    await daemon.kill('SIGTERM');
  }
});
