import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { until } from '../support/processes.ts';
import { openRaw } from '../support/raw-http.ts';
import { type Answer, postSigned, type Sending } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

/** Comments at once, or holds a comment until it is told how to end. */
const gh = `#!/bin/sh
case "$*" in *a/held*) ;; *) cat >> sent.txt; exit 0 ;; esac
cat > /dev/null
echo began >> tries
until [ -e pass ] || [ -e fail ]; do sleep 0.02; done
rm fail 2> /dev/null && exit 1
rm pass
`;

async function start(t: Test, front: string): Promise<{ readonly daemon: Daemon; readonly home: TestHome }> {
  const routes = [
    'plain: {events: [push], filters: [{field: go, equals: yes}], script: mark.sh, prompt: "{n}"}',
    'full: {prompt: x}',
    'off: {enabled: false}',
    'co: {filters: [{field: go, equals: yes}], prompt: "{n}", coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600}}',
    'held: {deliver: github_comment, deliver_only: true, prompt: "{n}", deliver_extra: {repo: a/held, pr_number: "1"}}',
  ];
  const home = makeHome(t, {
    'config.yaml': webhookConfig(routes.map((route) => `        ${route}\n`).join(''), {
      more: `gateway: {front: ${front}}`,
      webhook: 'rate_limit: 1000\n    max_body_bytes: 500',
    }),
    'scripts/mark.sh': 'touch ran\n[ "$(wc -c)" -lt 60 ] && echo "[SILENT]" || echo "{\\"n\\":7}"\n',
    'scripts/gh.sh': gh,
  });
  return { daemon: await startDaemon(t, home.path), home };
}

/** Sends a head alone, with a length that was never sent: an answer to it was decided before any byte of the body. */
async function declare(daemon: Daemon, head: string, length: number): Promise<string> {
  const raw = await openRaw(Number(new URL(daemon.url).port));
  raw.write(`${head} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`);
  const text = await raw.received((received) => received.includes('}'));
  raw.socket.destroy();
  return text.slice(0, 12);
}

for (const { front, skip } of httpServers) {
  t.test(`on the ${front} HTTP server`, { skip }, async (t) => {
    const { daemon, home } = await start(t, front);
    const send = (route: string, body: unknown, more: Partial<Sending> = {}) =>
      postSigned(`${daemon.url}/webhooks/${route}`, body, { secret, ...more });
    const ran = (): boolean => {
      const marked = existsSync(`${home.path}/ran`);
      rmSync(`${home.path}/ran`, { force: true });
      return marked;
    };
    const passes = { go: 'yes', n: 1, pad: 'x'.repeat(60) };

    t.test('RTE-3 · LIM-1 · size, method, route and switch are decided before a byte of the body', async (t) => {
      for (const [title, head, length, status] of [
        ['too large wins over an unknown route', 'POST /webhooks/nope', 501, '413'],
        ['and over a disabled one', 'POST /webhooks/off', 501, '413'],
        ['another method', 'PUT /webhooks/plain', 500, '405'],
        ['an unknown route', 'POST /webhooks/nope', 500, '404'],
        ['a disabled route', 'POST /webhooks/off', 500, '403'],
      ] as const) {
        t.equal(await declare(daemon, head, length), `HTTP/1.1 ${status}`, title);
      }
    });

    t.test(
      'RTE-3 · SIG-2 · LIM-3 · EVT-1 · FIL-1 · SCR-2 · each rule is asked only where those before it let pass',
      async (t) => {
        const bad = { secret: 'a stranger' };
        const rows: readonly (readonly [string, () => ReturnType<typeof send>, number, object, boolean])[] = [
          ['a stranger with no JSON', () => send('plain', '{', bad), 401, { error: 'Invalid signature' }, false],
          [
            'no JSON of another event',
            () => send('plain', '{', { event: 'issues' }),
            400,
            { error: 'Cannot parse body' },
            false,
          ],
          [
            'another event that no filter passes',
            () => send('plain', {}, { event: 'issues' }),
            200,
            { event: 'issues' },
            false,
          ],
          ['no filter passes it to the script', () => send('plain', {}), 200, { reason: 'filter' }, false],
          ['the script is silent', () => send('plain', { go: 'yes' }), 200, { reason: 'script' }, true],
          ['all let it pass', () => send('plain', passes), 202, { status: 'accepted' }, true],
        ];
        for (const [title, asked, status, body, script] of rows) {
          const answer = await asked();
          t.equal(answer.status, status, title);
          t.match(answer.body, body, title);
          t.equal(ran(), script, `${title}: the script ${script ? 'ran' : 'did not run'}`);
        }
      },
    );

    t.test('IDM-1 · RTE-3 · an id is claimed after filters and script: what they ignored may come again', async (t) => {
      for (const body of [{ n: 1 }, { go: 'yes' }]) {
        const ignored = await send('plain', body, { id: 'again' });
        t.equal(ignored.body.status, 'ignored');
      }
      t.equal((await send('plain', passes, { id: 'again' })).status, 202);
      t.same((await send('plain', passes, { id: 'again' })).body, { status: 'duplicate', delivery_id: 'again' });
      t.equal((await send('plain', {}, { id: 'again' })).body.reason, 'filter', 'a filter is asked before the id');
    });

    t.test('IDM-1 · COA-1 · a duplicate is answered before it could join a batch', async (t) => {
      for (const [id, status] of [
        ['c1', 'coalesced'],
        ['c1', 'duplicate'],
        ['c2', 'coalesced'],
        ['c1', 'duplicate'],
      ] as const) {
        t.equal((await send('co', { ...passes, id: 'x' }, { id })).body.status, status);
      }
      const tree = JSON.stringify(await cliJson(home.path, 'inspect', 'tree'));
      const [, path = ''] = /"(groups\/[^"]+)"/.exec(tree) ?? [];
      t.match(await cliJson(home.path, 'inspect', 'show', path), { context: { burst: { count: 2 } } });
    });

    t.test('IDM-2 · DUR-1 · DIS-2 · no 2xx is given for an id while its direct delivery may still fail', async (t) => {
      const tries = (): number => readFileSync(`${home.path}/tries`, { encoding: 'utf8', flag: 'a+' }).length / 6;
      const begun = async (before: number) => {
        while (tries() === before) await wait(10);
      };
      const again = () => send('held', { n: 1 }, { id: 'h1' });
      const pending = [503, '5', { error: 'Delivery in progress' }];
      const told = ({ status, body, headers }: Answer) => [status, headers.get('retry-after'), body];

      const first = again();
      await begun(0);
      t.same(told(await again()), pending, 'the sender gave up and tries again');
      home.write('fail', '');
      t.equal((await first).status, 502);

      const [one, other] = [again(), again()];
      await begun(1);
      t.same(told(await Promise.race([one, other])), pending, 'one of two that come together is put off');
      home.write('pass', '');
      t.same((await Promise.all([one, other])).map(({ status }) => status).sort(), [200, 503]);
      t.same((await again()).body, { status: 'duplicate', delivery_id: 'h1' }, 'what was delivered is a duplicate');
      t.equal(tries(), 2);
      t.match(await cliJson(home.path, 'webhook', 'deliveries', 'h1'), { status: 'delivered' });
    });
  });
}

t.test('LIM-2 · SIG-2 · a full window answers before the signature is checked, and is the route’s own', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        a: {}\n        b: {}\n', { webhook: 'rate_limit: 1' }),
  });
  const { url } = await startDaemon(t, home.path);
  const at = (route: string, given: string) => postSigned(`${url}/webhooks/${route}`, {}, { secret: given });
  // The minute may turn between two requests; it does not turn twice in a row.
  let full = await at('a', secret);
  while (full.status !== 429) full = await at('a', secret);

  t.same(full.body, { error: 'Rate limit exceeded' });
  const seconds = Number(full.headers.get('retry-after'));
  t.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `Retry-After: ${seconds}`);
  const stranger = await at('a', 'a stranger');
  t.ok(stranger.status === 429 || seconds <= 1, 'a stranger is told the same');
  t.equal((await at('b', secret)).status, 202, 'another route has room');
});

/** Fails until it is let go. */
const failing = `[ -e go ] || exit 3
printf done
`;

t.test('IDM-2 · INS-2 · an event whose run failed releases its id: its redelivery runs, once', async (t) => {
  const home = makeHome(t, {
    'config.yaml': webhookConfig(
      '        plain: {prompt: "{n}"}\n        co: {prompt: "{n}", coalesce: {key: id, window_seconds: 0.1}}\n',
      { more: 'agent: {runner: command, command: [sh, scripts/agent.sh]}' },
    ),
    'scripts/agent.sh': failing,
  });
  const daemon = await startDaemon(t, home.path);
  const send = (route: string, id: string) =>
    postSigned(`${daemon.url}/webhooks/${route}`, { id: 1, n: id }, { secret, id });
  type Row = { readonly delivery_id: string; readonly status: string; readonly id: string };
  const runs = async (status: string) => (await cliJson(home.path, 'runs', 'list', '--status', status)) as Row[];
  /** Those of the batches may be one batch, or two on a slow machine. */
  const haveEnded = (status: string) =>
    until(async () => ((await cliJson(home.path, 'events', '--status', status)) as Row[]).length === 3);
  const why = async (key: string) => JSON.stringify(await cliJson(home.path, 'inspect', 'why', key));
  t.equal((await send('plain', 'a')).status, 202);
  for (const id of ['b', 'c']) t.equal((await send('co', id)).status, 202);
  await haveEnded('failed');
  const failed = (await runs('failed')).find(({ delivery_id }) => delivery_id === 'a');
  t.match(await why(failed?.id ?? ''), /its delivery id is free/);

  home.write('go', '');
  const answers = await Promise.all([1, 2, 3].map(() => send('plain', 'a')));

  t.same(answers.map(({ status }) => status).sort(), [200, 200, 202], 'of equal ids at one instant one runs');
  // Each event of a batch releases its own.
  for (const id of ['b', 'c']) t.equal((await send('co', id)).status, 202);
  await haveEnded('delivered');
  t.match((await send('plain', 'a')).body, { status: 'duplicate' }, 'what has run keeps its id');
  const repeated = (await runs('delivered')).find(({ delivery_id }) => delivery_id === 'a');
  t.match(await why(failed?.id ?? ''), new RegExp(`delivered it again.*${repeated?.id}`));
  t.match(await why(repeated?.id ?? ''), new RegExp(`its id or signature came before, with ${failed?.id}`));
});
