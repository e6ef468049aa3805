import { createHmac, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { sign } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { signV2 } from '../../machines/webhook/signature.ts';
import { askCli, type Daemon, type LogLine, startBlocked, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { openRaw } from '../support/raw-http.ts';

const shared = 'a-secret-shared-with-senders';
const standard = `whsec_${Buffer.from('a standard secret of bytes').toString('base64')}`;

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
        std: {secret: ${standard}, prompt: x}
        open: {secret: INSECURE_NO_AUTH, prompt: x}
        some: {events: [push], prompt: x}
`,
  });
  return startDaemon(t, home.path);
}

const hmac = (text: string): string => createHmac('sha256', shared).update(text).digest('hex');
const nowSeconds = (): number => Math.floor(Date.now() / 1_000);

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

    t.test('SIG-1 · SIG-2 · SIG-3 · each scheme accepts only genuine requests', async (t) => {
      const text = '{"event_type":"e"}';
      const signed = (id: string, atSeconds: number): Record<string, string> => ({
        'webhook-id': id,
        'webhook-timestamp': String(atSeconds),
        'webhook-signature': new Webhook(standard).sign(id, new Date(atSeconds * 1_000), text),
      });
      const rows: readonly (readonly [string, string, Record<string, string>, number, string?])[] = [
        ['GitHub', 'gh', { 'x-hub-signature-256': `sha256=${hmac(text)}` }, 202],
        ['GitHub, another body', 'gh', { 'x-hub-signature-256': `sha256=${hmac('{}')}` }, 401],
        ['GitLab', 'gh', { 'x-gitlab-token': shared }, 202],
        ['GitLab, the neutral header', 'gh', { 'x-hostb-token': shared }, 202],
        ['GitLab, another token', 'gh', { 'x-gitlab-token': `${shared}x` }, 401],
        ['Standard Webhooks', 'std', signed('m1', nowSeconds()), 202],
        ['Standard Webhooks, another id', 'std', { ...signed('m1', nowSeconds()), 'webhook-id': 'm2' }, 401],
        ['Standard Webhooks, too old', 'std', signed('m3', nowSeconds() - 320), 401],
        ['V2', 'gh', signV2(shared, nowSeconds(), text), 202],
        ['V2, nearly too old', 'gh', signV2(shared, nowSeconds() - 280, text), 202],
        ['V2, too old', 'gh', signV2(shared, nowSeconds() - 320, text), 401],
        ['V2, too new', 'gh', signV2(shared, nowSeconds() + 320, text), 401],
        ['V1', 'gh', { 'x-webhook-signature': hmac(`${text} `) }, 202, `${text} `],
        ['V1, another body', 'gh', { 'x-webhook-signature': hmac('{}') }, 401],
        ['none', 'gh', {}, 401],
        [
          'a stronger one that fails',
          'gh',
          { 'x-hub-signature-256': 'sha256=00', 'x-webhook-signature': hmac(text) },
          401,
        ],
        ['none where none is asked for', 'open', {}, 202],
      ];
      for (const [title, route, headers, status, body = text] of rows) {
        const answer = await post(daemon, route, body, headers);
        t.equal(answer.status, status, title);
        if (status === 401) t.same(answer.body, { error: 'Invalid signature' }, title);
        else t.match(answer.body, { status: 'accepted', event: 'e' }, title);
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

    t.test('IDM-2 · an event without an id gets a random one', async (t) => {
      const ids = new Set<unknown>();
      for (const empty of [{}, { 'x-github-delivery': '', 'webhook-id': '', 'x-request-id': '' }]) {
        const { body } = await post(daemon, 'open', '{}', empty);
        t.match(body.delivery_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        ids.add(body.delivery_id);
      }
      t.equal(ids.size, 2);
    });

    t.test('EVT-1 · OBS-1 · a ping that is not listed is ignored, at debug; any other at info', async (t) => {
      for (const [event, level] of [
        ['ping', 'debug'],
        ['issues', 'info'],
      ] as const) {
        const answer = await post(daemon, 'some', '{}', {
          'x-github-event': event,
          'x-github-delivery': `of-${event}`,
          'x-hub-signature-256': `sha256=${hmac('{}')}`,
        });
        t.same(answer, { status: 200, body: { status: 'ignored', event } });
        const line = await daemon.line(({ delivery_id }) => delivery_id === `of-${event}`);
        t.match(line, { level, message: 'webhook ignored event', route: 'some', status: 200 });
      }
    });

    t.test(
      'SIG-2 · OBS-1 · hostile bytes in any signature header are a 401 with its one line, never a 5xx',
      async (t) => {
        const names = [
          'webhook-signature',
          'x-hub-signature-256',
          'x-gitlab-token',
          'x-webhook-signature-v2',
          'x-webhook-signature',
        ];
        const port = Number(new URL(daemon.url).port);
        for (const [n, name] of names.entries()) {
          for (const [m, value] of [
            '\xff\xfe\xf0',
            'sha256=\xc3\x28',
            'v1,\xe9\xe9',
            `a${'\x80'.repeat(500)}`,
            '',
            ',,, v1,',
          ].entries()) {
            const id = `hostile-${n}-${m}`;
            const raw = await openRaw(port);
            const more = `x-github-delivery: ${id}\r\nwebhook-id: ${id}\r\nwebhook-timestamp: ${nowSeconds()}\r\nx-webhook-timestamp: ${nowSeconds()}\r\n`;
            raw.write(
              Buffer.from(
                `POST /webhooks/gh HTTP/1.1\r\nhost: x\r\n${more}${name}: ${value}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
                'latin1',
              ),
            );
            const text = await raw.received((received) => received.includes('}'));
            t.match(
              text,
              /^HTTP\/1\.1 401 [\s\S]*\{"error":"Invalid signature"\}/,
              `${name}: ${JSON.stringify(value)}`,
            );
            raw.socket.destroy();
            await daemon.line(({ delivery_id }) => delivery_id === id);
            const lines = daemon.log.filter(({ delivery_id }) => delivery_id === id);
            t.match(lines, [{ level: 'warn', message: 'webhook bad signature', status: 401 }]);
            t.equal(lines.length, 1);
          }
        }
      },
    );
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
