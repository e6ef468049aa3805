import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { sampleNames } from '../../machines/webhook/samples.ts';
import { askCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { until } from '../support/processes.ts';
import { answersIn, openRaw } from '../support/raw-http.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson } from '../support/webhook-home.ts';

const secret = 'journey-secret-journey';

function config(front: string, routes: string, more = ''): string {
  return `gateway: {front: ${front}}
agent: {runner: command, command: [sh, scripts/agent.sh], timeout_seconds: 20}
${more}
platforms:
  github_comment: {enabled: true, command: ./scripts/gh.sh}
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      port: 0
      secret: ${secret}
      max_body_bytes: 2000
      routes:
${routes}`;
}

/** Answers what it was started with and its prompt. */
const agent = `printf '%s|' "$AGENT_ROUTE" "$AGENT_EVENT" "$AGENT_DELIVERY_ID" "$AGENT_PROFILE" "$AGENT_ATTEMPT"
exec cat
`;

for (const { front, skip } of httpServers) {
  t.test(`on the ${front} HTTP server`, { skip }, async (t) => {
    t.test('RTE-3 · DIS-1 · DIS-3 · a signed event becomes a run whose response is delivered', async (t) => {
      const home = makeHome(t, {
        'config.yaml': config(
          front,
          '        gh: {events: [pull_request], prompt: "PR {number}: {pull_request.title}"}\n',
        ),
        'scripts/agent.sh': agent,
      });
      const daemon = await startDaemon(t, home.path);

      const answer = await postSigned(
        `${daemon.url}/webhooks/gh`,
        { number: 5, pull_request: { title: 'Fix it' } },
        { secret, event: 'pull_request', id: 'd-1' },
      );

      t.same(
        [answer.status, answer.body],
        [202, { status: 'accepted', route: 'gh', event: 'pull_request', delivery_id: 'd-1' }],
      );
      const response = await daemon.line(({ message }) => message.startsWith('response: '));
      t.equal(response.message, 'response: gh|pull_request|d-1|default|1|PR 5: Fix it');
      await daemon.line(({ message, delivery_id }) => message === 'run delivered' && delivery_id === 'd-1');
    });

    t.test('LIM-1 · LIM-3 · SIG-2 · EVT-1 · FIL-1 · RTE-2 · each refusal has its status and body', async (t) => {
      const home = makeHome(t, {
        'config.yaml': config(
          front,
          '        gh: {events: [push, ping], filters: [{field: action, in: [opened]}]}\n        off: {enabled: false}\n        "with space/slash": {}\n',
        ),
        'scripts/agent.sh': agent,
      });
      const { url } = await startDaemon(t, home.path);
      const gh = `${url}/webhooks/gh`;
      const sized = (length: number): string => JSON.stringify({ action: 'opened', x: 'x'.repeat(length - 26) });
      const rows: readonly (readonly [string, Promise<{ status: number; body: unknown }>, number, object])[] = [
        ['unknown route', postSigned(`${url}/webhooks/nope`, {}, { secret }), 404, { error: 'Unknown route' }],
        ['another path', postSigned(`${url}/other`, {}, { secret }), 404, { error: 'Unknown route' }],
        ['disabled', postSigned(`${url}/webhooks/off`, {}, { secret }), 403, { error: 'Route disabled' }],
        [
          'wrong secret',
          postSigned(gh, { action: 'opened' }, { secret: 'wrong' }),
          401,
          { error: 'Invalid signature' },
        ],
        ['not JSON', postSigned(gh, '{', { secret }), 400, { error: 'Cannot parse body' }],
        ['a list', postSigned(gh, [1], { secret }), 400, { error: 'Cannot parse body' }],
        [
          'nested beyond reason',
          postSigned(gh, `{"a":${'['.repeat(900)}${']'.repeat(900)}}`, { secret }),
          200,
          { status: 'ignored', reason: 'filter', route: 'gh' },
        ],
        ['one byte too large', postSigned(gh, sized(2_001), { secret }), 413, { error: 'Payload too large' }],
        [
          'exactly the cap',
          postSigned(gh, sized(2_000), { secret, id: 'cap' }),
          202,
          { status: 'accepted', route: 'gh', event: 'push', delivery_id: 'cap' },
        ],
        ['another event', postSigned(gh, {}, { secret, event: 'issues' }), 200, { status: 'ignored', event: 'issues' }],
        [
          'filtered',
          postSigned(gh, { action: 'closed' }, { secret }),
          200,
          { status: 'ignored', reason: 'filter', route: 'gh' },
        ],
        [
          'an encoded name',
          postSigned(`${url}/webhooks/with%20space%2Fslash`, {}, { secret, id: 'sp' }),
          202,
          { status: 'accepted', route: 'with space/slash', event: 'push', delivery_id: 'sp' },
        ],
      ];
      for (const [title, asked, status, body] of rows) {
        const answer = await asked;
        t.same([answer.status, answer.body], [status, body], title);
      }
      const got = await fetch(gh);
      t.same([got.status, got.headers.get('allow')], [405, 'POST'], 'GET');
      for (const method of ['PUT', 'DELETE', 'PATCH']) {
        const refused = await postSigned(gh, {}, { secret, id: 'other-method', method });
        t.same([refused.status, refused.headers.get('allow')], [405, 'POST'], method);
      }
      t.equal((await fetch(gh, { method: 'POST', body: '{}' })).status, 401, 'no signature at all');
    });

    t.test('FIL-4 · TPL-1 · COA-1 · SCR-1 · no size or depth of a body hangs or breaks the gateway', async (t) => {
      const routes = [
        'bare: {}',
        'extra: {prompt: "{a} {a.0.0}", deliver_extra: {chat_id: "{a}"}}',
        'co: {coalesce: {key: a, window_seconds: 600, max_wait_seconds: 600}}',
        'filtered: {filters: [{field: a, contains: x}]}',
        'scripted: {script: size.sh, prompt: "{script_output}"}',
        'searched: {filters: [{field: text, regex: "[a-z]{1,500}[0-9]"}]}',
        'unsearched: {filters: [{not: {field: text, regex: "[a-z]{1,500}[0-9]"}}]}',
      ];
      const home = makeHome(t, {
        'config.yaml': config(front, routes.map((route) => `        ${route}\n`).join('')).replace(
          'max_body_bytes: 2000',
          'rate_limit: 1000',
        ),
        'scripts/agent.sh': agent,
        'scripts/size.sh': 'wc -c',
      });
      const daemon = await startDaemon(t, home.path);
      // One blank more each time: a text that comes twice has one signature, and runs once (SEC-6).
      let blanks = '';
      const send = (route: string, body: unknown, id: string) => {
        blanks += ' ';
        const text = typeof body === 'string' ? `${body}${blanks}` : body;
        return postSigned(`${daemon.url}/webhooks/${route}`, text, { secret, id });
      };
      const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
      const wide = `{"a":${'['.repeat(2_200)}${'0,'.repeat(500_000)}0${']'.repeat(2_200)}}`;
      const long = { text: 'a'.repeat(1_000_000) };

      for (const [title, body] of [
        ['deep', deep],
        ['wide', wide],
      ] as const) {
        for (const route of ['bare', 'extra', 'scripted']) {
          const answer = await send(route, body, `${route}-${title}`);
          t.same([answer.status, answer.body.status], [202, 'accepted'], `${route} ${title}`);
        }
        const grouped = await send('co', body, `co-${title}`);
        t.same([grouped.status, grouped.body.status], [202, 'coalesced'], title);
        t.same((await send('filtered', body, `filtered-${title}`)).body.reason, 'filter', title);
      }
      const deeper = `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`;
      for (const route of ['bare', 'co'])
        t.same((await send(route, deeper, `${route}-deeper`)).status, 400, 'no reading of millions of levels');
      const scripted = await daemon.line(({ message }) => message.startsWith('response: scripted|push|scripted-deep|'));
      t.match(scripted.message, new RegExp(`\\|${deep.length}$`), 'the script was given all of it');
      for (const route of ['searched', 'unsearched'])
        t.same((await send(route, long, route)).body.reason, 'filter', route);

      // What is refused is written down after its answer.
      const rows = await eventually(async () => {
        const found = (await cliJson(home.path, 'webhook', 'deliveries')) as { delivery_id: string; reason?: string }[];
        return ['searched', 'unsearched'].every((id) => found.some((row) => row.delivery_id === id)) && found;
      });
      const reasonOf = (id: string): string | undefined => rows.find((row) => row.delivery_id === id)?.reason;
      for (const route of ['searched', 'unsearched']) {
        t.match(reasonOf(route), /text regex .* was not tried: the text has 1000000 characters; this pattern/, route);
      }
      t.equal(reasonOf('co-deeper'), 'the body is nested too deep');
      t.match(reasonOf('filtered-deep'), /^filter: a contains "x" saw \[{120}…$/);
    });

    t.test(
      'RTE-3 · DUR-2 · SEC-8 · a request that fails within is answered 500, and leaves a row of its sender',
      async (t) => {
        const home = makeHome(t, { 'config.yaml': config(front, '        gh: {}\n') });
        const fails = `const own = Object.hasOwn; Object.hasOwn = (held, key) => { if (own(held, 'fail_here')) throw new Error('injected'); return own(held, key); };`;
        const daemon = await startDaemon(t, home.path, {
          NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(fails)}`,
        });

        const answer = await postSigned(
          `${daemon.url}/webhooks/gh`,
          { fail_here: 1 },
          { secret, event: '', id: 'broken' },
        );

        t.same([answer.status, answer.body], [500, { error: 'Internal error' }]);
        const rows = await eventually(async () => {
          const found = (await cliJson(home.path, 'webhook', 'deliveries')) as object[];
          return found.length > 0 && found;
        });
        t.match(rows, [{ delivery_id: 'broken', route: 'gh', status: 'refused', reason: /^internal error/ }]);
        const headers = { 'x-forwarded-for': '192.0.2.7' };
        await postSigned(`${daemon.url}/webhooks/gh`, { fail_here: 1 }, { secret, event: '', id: 'other', headers });
        await eventually(async () => ((await cliJson(home.path, 'webhook', 'deliveries')) as object[]).length === 2);
        t.equal((await postSigned(`${daemon.url}/webhooks/gh`, {}, { secret })).status, 202, 'it still serves');
      },
    );

    t.test('IDM-2 · EVT-1 · FIL-1 · SIG-2 · headers beyond ASCII are read as UTF-8 on every HTTP server', async (t) => {
      const token = 'geheißmnis-secret';
      const home = makeHome(t, {
        'config.yaml': config(
          front,
          [
            'gh: {events: [vénement], filters: [{field: headers.X-Team, equals: aßb}]}',
            `gl: {secret: ${token}, prompt: x}`,
          ]
            .map((line) => `        ${line}\n`)
            .join(''),
        ),
        // The id of a run that failed would be free again.
        'scripts/agent.sh': agent,
      });
      const { url } = await startDaemon(t, home.path);
      const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
      const send = (id: string, n: number) =>
        postSigned(
          `${url}/webhooks/gh`,
          { n },
          { secret, event: bytes('vénement'), id, headers: { 'x-team': bytes('aßb') } },
        );

      const first = await send('a\xe9b', 1);
      t.same([first.status, first.body.event], [202, 'vénement']);
      t.equal((await send('a\xe8b', 2)).status, 202, 'another id and another body are another event');
      t.same((await send('a\xe9b', 1)).body, { status: 'duplicate', delivery_id: first.body.delivery_id });
      t.equal((await send(bytes('1-é-1'), 3)).body.delivery_id?.toString().startsWith('1-é-1~'), true);

      const gitlab = await fetch(`${url}/webhooks/gl`, {
        method: 'POST',
        body: '{}',
        headers: { 'x-gitlab-token': bytes(token), 'content-type': 'application/json' },
      });
      t.equal(gitlab.status, 202, 'a token is compared by its bytes');
    });

    t.test('COA-1 · COA-2 · COA-3 · a batch becomes one run of the newest event', async (t) => {
      const home = makeHome(t, {
        'config.yaml': config(
          front,
          '        co: {prompt: "{id} {n}", coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600}}\n' +
            '        all: {prompt: "n={n}", coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600, mode: batch}}\n' +
            '        soon: {prompt: "{id}", coalesce: {key: id, window_seconds: 0.1, max_wait_seconds: 5}}\n',
        ),
        'scripts/agent.sh': agent,
      });
      const daemon = await startDaemon(t, home.path);
      const co = `${daemon.url}/webhooks/co`;
      for (const n of [1, 2, 3]) {
        const answer = await postSigned(co, { id: 'x', n }, { secret, id: `x${n}` });
        t.same(
          [answer.status, answer.body],
          [202, { status: 'coalesced', route: 'co', event: 'push', delivery_id: `x${n}` }],
        );
      }
      for (const n of [1, 2, 3])
        await postSigned(`${daemon.url}/webhooks/all`, { id: 'x', n }, { secret, id: `all${n}` });
      const unkeyed = await postSigned(co, { n: 9 }, { secret, id: 'none' });
      t.equal(unkeyed.body.status, 'accepted', 'an unresolved key runs at once');
      await postSigned(`${daemon.url}/webhooks/soon`, { id: 'quiet' }, { secret, id: 'q' });
      await daemon.line(({ message }) => message.includes('soon|push|q|default|1|quiet'));
      // How soon three requests come is the machine's matter, so the window outlasts them and the drain settles it.
      await daemon.kill('SIGTERM');
      const again = await startDaemon(t, home.path);
      const burst = await again.line(({ message }) => message.includes('superseded'));
      t.match(burst.message, /co\|push\|x3\|default\|1\|x 3\n\n\[Note: 2 earlier events were superseded/);
      const batch = await again.line(({ message }) => message.includes('all|push|'));
      t.match(
        batch.message,
        /all3\|default\|1\|\[Event 1 of 3\]\nn=1\n\n\[Event 2 of 3\]\nn=2\n\n\[Event 3 of 3\]\nn=3/,
      );
      const rows = JSON.parse((await askCli(['runs', 'list', '--json'], home.path)).stdout) as Record<
        string,
        unknown
      >[];
      const row = rows.find(({ delivery_id }) => delivery_id === 'all3');
      t.match(row, { superseded: 0, events: 3 });
      t.match((await askCli(['runs', 'list'], home.path)).stdout, / 3 events +\w+/);
      const show = async (shown: typeof row): Promise<string> =>
        (await askCli(['runs', 'show', String(shown?.id)], home.path)).stdout;
      const ofBatch = await show(row);
      t.match(ofBatch, /Batch +3 events\n/);
      t.match(ofBatch, /\[Event 1 of 3\]\s+n=1\s+\[Event 2 of 3\]\s+n=2\s+\[Event 3 of 3\]\s+n=3/);
      const newest = await show(rows.find(({ delivery_id }) => delivery_id === 'x3'));
      t.match(newest, /x 3\s+\[Note: 2 earlier events were superseded by this one\.\]/);
    });

    t.test('DIS-2 · COA-1 · a batch of direct deliveries is one text of all, without an agent', async (t) => {
      const home = makeHome(t, {
        'config.yaml': config(
          front,
          '        several: {deliver: github_comment, deliver_only: true, prompt: "Hi {m}", deliver_extra: {repo: acme/site, pr_number: "{n}"}, coalesce: {key: n, window_seconds: 600, max_wait_seconds: 600, mode: batch}}\n',
        ),
        'scripts/gh.sh': '#!/bin/sh\necho "$@" > called.txt\ncat > body.txt\necho https://example/1\n',
      });
      const daemon = await startDaemon(t, home.path);
      for (const m of [1, 2, 3]) {
        const answer = await postSigned(`${daemon.url}/webhooks/several`, { n: 7, m }, { secret, id: `s${m}` });
        t.match([answer.status, answer.body], [202, { status: 'coalesced' }]);
      }
      // The drain ends the window, and the next start delivers what it parked on disk.
      await daemon.kill('SIGTERM');
      const again = await startDaemon(t, home.path);
      const read = (file: string) => readFileSync(`${home.path}/${file}`, { encoding: 'utf8', flag: 'a+' });
      await until(() => read('called.txt').includes('comment 7 '));
      await until(() => read('body.txt') === 'Hi 1\n\nHi 2\n\nHi 3');
      t.notOk(
        again.log.some(({ message }) => message.startsWith('response: several')),
        'no agent was asked',
      );
    });

    t.test(
      'DUR-2 · SUB-1 · SUB-2 · SUB-4 · CON-4 · subscribe, test, list, replay and remove by the command line',
      async (t) => {
        const home = makeHome(t, { 'config.yaml': config(front, '        fixed: {}\n'), 'scripts/agent.sh': agent });
        const daemon = await startDaemon(t, home.path);
        const agentCli = (...words: string[]) => askCli(words, home.path);

        const created = JSON.parse(
          (await agentCli('webhook', 'subscribe', 'hook', '--prompt', 'P {x}', '--events', 'a,b', '--json')).stdout,
        ) as { url: string; secret: string };
        t.match(created.secret, /^[0-9a-f]{64}$/);
        t.equal(created.url, `${daemon.url}/webhooks/hook`);
        const tested = await agentCli('webhook', 'test', 'hook', '--event', 'a', '--payload', '{"x":1}');
        t.equal(tested.code, 0, tested.stderr);
        t.match(tested.stdout, /HTTP 202/);
        await daemon.line(({ message }) => message.endsWith('|P 1'));
        await daemon.line(({ message }) => message === 'run delivered');
        const refused = await agentCli('webhook', 'test', 'hook', '--event', 'other');
        t.match(refused.stdout, /HTTP 200\n.*ignored/);
        t.equal((await agentCli('webhook', 'test', 'fixed')).code, 0, 'a route of config.yaml too');
        for (const sample of sampleNames.filter((name) => /^git(?:hub|lab):/.test(name))) {
          t.match((await agentCli('webhook', 'test', 'fixed', '--sample', sample)).stdout, /^HTTP 202/, sample);
        }
        await daemon.line(({ message }) => message.includes('octocat/hello-world'));
        const checked = await agentCli('webhook', 'test', 'fixed', '--sample', 'github:push', '--checks-only');
        t.match(checked.stdout, /^HTTP 202/, 'the checks are answered although an event has claimed this signature');
        const unknown = await agentCli('webhook', 'test', 'fixed', '--sample', 'pull_request.open');
        t.match(unknown.stderr, /no sample is named "pull_request\.open"; did you mean "pull_request\.opened"\?/);

        const listed = JSON.parse((await agentCli('webhook', 'list', '--json')).stdout) as { name: string }[];
        t.same(
          listed.map(({ name }) => name),
          ['fixed', 'hook'],
        );
        const rows = await eventually(async () => {
          const found = (await cliJson(home.path, 'webhook', 'deliveries', '--route', 'hook')) as {
            delivery_id: string;
            key: string;
            status: string;
          }[];
          return found.length === 2 && found[1]?.status === 'delivered' && found;
        });
        t.same(
          rows.map(({ status }) => status),
          ['ignored', 'delivered'],
          'newest first',
        );
        const id = rows[1]?.delivery_id ?? '';
        const shown = (await agentCli('webhook', 'deliveries', id)).stdout;
        t.match(shown, new RegExp(`^${id}  delivered\\n  Route +hook\\n  Event +.*\\n  Received +\\d`), 'in words');
        t.match(shown, `agent inspect why ${rows[1]?.key}`, 'by its key, which means one event');
        t.match(shown, /\nPayload\n +\{/);
        const replayed = await agentCli('webhook', 'replay', id);
        t.match(replayed.stdout, /HTTP 202/);
        t.equal((await agentCli('webhook', 'remove', 'hook')).code, 0);
        t.equal(
          (await postSigned(`${daemon.url}/webhooks/hook`, {}, { secret: created.secret })).status,
          404,
          'no restart needed',
        );

        const status = JSON.parse((await agentCli('gateway', 'status', '--json')).stdout) as Record<string, unknown>;
        t.match(status, {
          pid: daemon.child.pid,
          home: home.path,
          webhook: { enabled: true, url: daemon.url },
          servers: {},
        });
        const stopped = await agentCli('gateway', 'stop');
        t.equal(stopped.code, 0);
        t.equal(await daemon.exited, 0);
        t.equal((await agentCli('webhook', 'deliveries')).code, 3, 'not running');
      },
    );
  });
}

t.test("PRF-2 · SIG-1 · a profile's routes open to the profile's secret and not to the home's", async (t) => {
  const own = 'the-secret-of-work-alone';
  const home = makeHome(t, {
    'config.yaml': config('auto', '        plain: {}\n        bound: {profile: work}\n').replace(
      '{front',
      '{multiplex_profiles: true, front',
    ),
    'profiles/work/config.yaml': 'platforms: {webhook: {extra: {port: 1, routes: {theirs: {}}}}}\n',
    'profiles/work/.env': `WEBHOOK_SECRET=${own}\n`,
    'profiles/work/webhook_subscriptions.json': '{"lent": {}}',
    'profiles/other/config.yaml': 'platforms: {webhook: {routes: {theirs: {}}}}\n',
  });
  const daemon = await startDaemon(t, home.path);
  const rows = [
    ['/p/work/webhooks/theirs', own, 202],
    ['/p/work/webhooks/theirs', secret, 401],
    ['/p/work/webhooks/lent', own, 202],
    ['/p/work/webhooks/lent', secret, 401],
    // The home's own file opens it by the home's secret.
    ['/p/work/webhooks/bound', secret, 202],
    ['/p/other/webhooks/theirs', secret, 202],
    ['/p/other/webhooks/theirs', own, 401],
    ['/webhooks/plain', own, 401],
  ] as const;
  for (const [path, used, status] of rows) {
    t.equal((await postSigned(`${daemon.url}${path}`, {}, { secret: used })).status, status, `${path} by ${used}`);
  }
  await daemon.line(
    ({ level, message }) => level === 'warn' && /extra\.port" takes no effect in a profile/.test(message),
  );
});

t.test('ADP-2 · RTE-4 · what follows a request changes nothing about its answer', async (t) => {
  const home = makeHome(t, { 'config.yaml': config('auto', '        one: {}\n'), 'scripts/agent.sh': agent });
  const daemon = await startDaemon(t, home.path);
  const raw = await openRaw(Number(new URL(daemon.url).port));
  const signature = createHmac('sha256', secret).update('{}').digest('hex');
  raw.write(
    `GET /health HTTP/1.1\r\nhost: x\r\n\r\nPOST http://x/webhooks/one HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: sha256=${signature}\r\n` +
      'x-github-delivery: d1\r\ntransfer-encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-T: y\r\n\r\nno HTTP\r\n\r\n',
  );
  await raw.closed;
  t.same(answersIn(await raw.received(() => true)), ['200', '202']);
  t.match(await cliJson(home.path, 'webhook', 'deliveries'), [{ delivery_id: 'd1' }]);
});

t.test('SEC-3 · unverified bodies fill a budget, and a sender beyond it is asked to come back', async (t) => {
  const small = config('auto', '        one: {}\n').replace('max_body', 'max_unverified_bytes: 1500\n      max_body');
  const home = makeHome(t, { 'config.yaml': small, 'scripts/agent.sh': agent });
  const daemon = await startDaemon(t, home.path);
  const port = Number(new URL(daemon.url).port);
  const post = (head: string, body: string): string =>
    `POST /webhooks/one HTTP/1.1\r\nhost: x\r\n${head}\r\n\r\n${body}`;
  const holding = await openRaw(port, post('content-length: 1400', 'half'));
  // Answered after the first was read: the route is known, the body is not asked for.
  const declared = await openRaw(port, post('content-length: 200', ''));
  t.match(await declared.received((text) => text.includes('}')), /^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n/i);
  const chunked = await openRaw(port, post('transfer-encoding: chunked', `c8\r\n${'x'.repeat(200)}\r\n`));
  t.match(await chunked.received((text) => text.includes('}')), /^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n/i);
  t.match(await cliJson(home.path, 'webhook', 'deliveries'), [
    { status: 'refused', reason: /max_unverified_bytes/, alike: { count: 2 } },
  ]);

  holding.socket.destroy();
  await eventually(async () => (await postSigned(`${daemon.url}/webhooks/one`, {}, { secret })).status === 202);
});
