/**
 * The promise: nothing that was answered 2xx is lost by `kill -9`. The real daemon under load, killed at random points
 * and at each commit point, started again, until everything acknowledged has run.
 */

import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { askCli, type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { openPage } from '../support/inspector.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { hasEnded, until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';

const secret = 'crash-secret-crash-secret';

/** The agent writes down which delivery it ran, and under which attempt. A shell starts in a tenth of the time that Node needs. */
const agent = `prompt=$(tr '\\n' ' ')
printf '%s\\t%s\\t%s\\n' "$AGENT_DELIVERY_ID" "$AGENT_ATTEMPT" "$prompt" >>ran.txt
printf done
`;

function makeCrashHome(t: Test, more = '', database?: string): TestHome {
  return makeHome(t, {
    ...(database === undefined ? {} : { '.env': `DATABASE_URL='${database}'\n` }),
    'config.yaml': `${database === undefined ? '' : onPostgres}agent: {runner: command, command: [sh, scripts/agent.sh], concurrency: 2${more}}
platforms:
  webhook:
    enabled: true
    extra:
      host: 127.0.0.1
      port: 0
      secret: ${secret}
      rate_limit: 100000
      max_body_bytes: 20000000
      routes:
        gh: {prompt: "run {n}"}
        co: {prompt: "burst {id}", coalesce: {key: id, window_seconds: 0.2, max_wait_seconds: 1}}
        all: {prompt: "<{n}>", coalesce: {key: id, window_seconds: 0.2, max_wait_seconds: 1, mode: batch}}
`,
    'scripts/agent.sh': agent,
    'ran.txt': '',
  });
}

const onPostgres = 'gateway: {journal: postgres, postgres: {url: "${DATABASE_URL}"}}\n';

interface Ran {
  readonly id: string;
  readonly attempt: number;
  readonly prompt: string;
}

function ranIn(home: TestHome): Ran[] {
  return readFileSync(`${home.path}/ran.txt`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [id = '', attempt = '', prompt = ''] = line.split('\t');
      return { id, attempt: Number(attempt), prompt };
    });
}

interface RunRow {
  readonly id: string;
  readonly delivery_id: string;
  readonly status: string;
  readonly attempt: number;
  readonly reason?: string;
}

/** Resolves when no run waits or is under way any more. */
async function allSettled(home: TestHome): Promise<readonly RunRow[]> {
  for (;;) {
    // The batches first: one that ends between the two looks is a run in the second.
    const status = JSON.parse((await askCli(['gateway', 'status', '--json'], home.path)).stdout) as {
      actors: Record<string, number>;
    };
    if ((status.actors.coalescingGroup ?? 0) === 0 && (await noneIsBusy(home))) return runsOf(home, '--limit', '1000');
    await wait(20);
  }
}

async function noneIsBusy(home: TestHome): Promise<boolean> {
  // In the order in which a run passes through them, so that none slips through between two looks.
  for (const status of ['queued', 'running', 'delivering']) {
    if ((await runsOf(home, '--status', status, '--limit', '1')).length > 0) return false;
  }
  return true;
}

async function runsOf(home: TestHome, ...words: readonly string[]): Promise<readonly RunRow[]> {
  return JSON.parse((await askCli(['runs', 'list', '--json', ...words], home.path)).stdout);
}

/** How many crashes a run outlives, each of which may interrupt it with its prompt (DUR-1). */
const outlived = 5;

interface Load {
  readonly kills: number;
  /** A kill comes after three answers at the earliest, and before this many. */
  readonly maxAnswers: number;
  /** A journal in Postgres. */
  readonly database?: string;
}

/** As many kills under load, then peace until everything has come to its end; peace in between too, before a run is given up. */
async function killUnderLoad(t: Test, { kills, maxAnswers, database }: Load): Promise<void> {
  const home = makeCrashHome(t, '', database);
  const acknowledged = new Set<string>();
  const batches = new Map<string, string>();
  const batched = new Set<number>();
  let sent = 0;

  for (let round = 0; round < kills; round += 1) {
    const daemon = await startDaemon(t, home.path);
    if (round % outlived === 0) await allSettled(home);
    const killAfter = randomInt(3, maxAnswers);
    let answered = 0;
    const senders = Array.from({ length: 6 }, async () => {
      for (;;) {
        sent += 1;
        const id = `d-${sent}`;
        const n = sent;
        const route = (['co', 'all', 'gh'] as const)[sent % 3] ?? 'gh';
        try {
          const group = `g${round}-${sent % 2}`;
          const answer = await postSigned(`${daemon.url}/webhooks/${route}`, { n, id: group }, { secret, id });
          if (answer.status !== 202) continue;
          if (route === 'gh') acknowledged.add(id);
          else if (route === 'all') batched.add(n);
          else batches.set(id, group);
        } catch {
          // The daemon died before it answered: nothing was promised.
          return;
        }
        answered += 1;
        if (answered === killAfter) daemon.kill('SIGKILL');
      }
    });
    await Promise.all(senders);
    t.equal(await daemon.exited, null, `killed after ${killAfter} answers`);
  }

  await startDaemon(t, home.path);
  await allSettled(home);
  const ran = ranIn(home);
  t.same(
    ran.filter(({ prompt }) => prompt === ''),
    [],
    'no program began before its attempt counted',
  );
  const ids = new Set(ran.map(({ id }) => id));
  t.same(
    [...acknowledged].filter((id) => !ids.has(id)),
    [],
    'every acknowledged event has run',
  );
  const groups = new Set(
    ran.filter(({ prompt }) => prompt.startsWith('burst ')).map(({ prompt }) => prompt.split(' ')[1]),
  );
  t.same(
    [...new Set(batches.values())].filter((group) => !groups.has(group)),
    [],
    'every acknowledged burst has run',
  );
  const inBatches = ran.filter(({ attempt }) => attempt === 1).map(({ prompt }) => prompt);
  t.same(
    [...batched].filter((n) => !ran.some(({ prompt }) => prompt.includes(`<${n}>`))),
    [],
    'every acknowledged event is in the prompt of its batch',
  );
  const places = inBatches.flatMap((prompt) => prompt.match(/<\d+>/g) ?? []);
  t.equal(new Set(places).size, places.length, 'and in no other');
  t.same(await runsOf(home, '--status', 'interrupted'), [], 'none was given up');
  const firsts = ran.filter(({ attempt }) => attempt === 1).map(({ id }) => id);
  t.equal(new Set(firsts).size, firsts.length, 'no first attempt happened twice');
  t.comment(`${acknowledged.size} events, ${batches.size} coalesced ones, runs by attempt: ${attemptsOf(ran)}`);
}

/** How many runs came to their end in the first attempt, in the second, and so on. */
function attemptsOf(rows: readonly Ran[]): string {
  const counts: Record<number, number> = {};
  for (const { attempt } of rows) counts[attempt] = (counts[attempt] ?? 0) + 1;
  return JSON.stringify(counts);
}

t.test('DUR-1 · what was answered 2xx runs, whenever kill -9 comes', (t) =>
  killUnderLoad(t, { kills: 4, maxAnswers: 30 }),
);

t.test(
  'DUR-1 · an event of 17 MiB, which LMDB’s binding returns as another view, runs',
  { skip: inAllOnly },
  async (t) => {
    const home = makeCrashHome(t);
    const daemon = await startDaemon(t, home.path);
    const payload = { n: 1, text: 'x'.repeat(17 * 1024 * 1024) };
    t.equal((await postSigned(`${daemon.url}/webhooks/gh`, payload, { secret, id: 'large' })).status, 202);
    await daemon.kill('SIGKILL');

    await startDaemon(t, home.path);
    t.match(await allSettled(home), [{ delivery_id: 'large', status: 'delivered' }]);
    t.match(ranIn(home).at(-1), { id: 'large', prompt: 'run 1' });
    t.match((await askCli(['events'], home.path)).stdout, /delivered +gh +push +\d+ +large/);
  },
);

t.test(
  'DUR-1 · DUR-2 · what the built-in agent answers is two commits, and survives kill -9 like any run',
  async (t) => {
    const home = makeHome(t, {
      'config.yaml': `inspector: {enabled: true, port: 0}
platforms:
  webhook:
    enabled: true
    extra: {host: 127.0.0.1, port: 0, secret: ${secret}, rate_limit: 100000, routes: {gh: {prompt: "run {n}"}}}
`,
    });
    const acknowledged: string[] = [];
    let daemon = await startDaemon(t, home.path);
    const send = async (id: string): Promise<void> => {
      const answer = await postSigned(`${daemon.url}/webhooks/gh`, { n: id }, { secret, id });
      if (answer.status === 202) acknowledged.push(id);
    };
    for (let round = 0; round < 3; round += 1) {
      const killAfter = acknowledged.length + randomInt(3, 40);
      const senders = Array.from({ length: 6 }, async (_, sender) => {
        for (let nth = 0; ; nth += 1) {
          try {
            await send(`d-${round}-${sender}-${nth}`);
          } catch {
            // The daemon died before it answered.
            return;
          }
          if (acknowledged.length >= killAfter) daemon.kill('SIGKILL');
        }
      });
      await Promise.all(senders);
      await daemon.exited;
      daemon = await startDaemon(t, home.path);
    }
    const runs = new Map((await allSettled(home)).map((run) => [run.delivery_id, run]));
    t.same(
      acknowledged.filter((id) => runs.get(id)?.status !== 'delivered' || runs.get(id)?.attempt !== 1),
      [],
      'every acknowledged event was delivered',
    );
    const { stdout } = await askCli(['deliveries', 'list', '--json', '--limit', '1000'], home.path);
    const delivered = new Set((JSON.parse(stdout) as { id: string; status: string }[]).map(({ id }) => id));
    t.same(
      acknowledged.filter((id) => !delivered.has(runs.get(id)?.id ?? '')),
      [],
      'and its delivery is in the history',
    );

    const page = await openPage(t, home.path);
    const commits = async (): Promise<number> => {
      const { body } = await page.ask('/metrics');
      return Number(/^agent_journal_commits_total\{verdict="committed"\} (\d+)$/m.exec(body)?.[1] ?? 0);
    };
    const before = await commits();
    await send('quiet');
    await daemon.line(({ message, delivery_id }) => message === 'run delivered' && delivery_id === 'quiet');
    t.equal((await commits()) - before, 2, 'the event with its run, and the ends of both');
  },
);

t.test('DUR-1 · a hundred kills under load give up nothing', { skip: inAllOnly }, (t) =>
  killUnderLoad(t, { kills: 100, maxAnswers: 60 }),
);

t.test('DUR-1 · IDM-1 · a delivery id is not accepted again after the crash', async (t) => {
  const home = makeCrashHome(t);
  const first = await startDaemon(t, home.path);
  t.equal((await postSigned(`${first.url}/webhooks/gh`, { n: 1 }, { secret, id: 'once' })).status, 202);
  await first.kill('SIGKILL');
  const second = await startDaemon(t, home.path);
  const answer = await postSigned(`${second.url}/webhooks/gh`, { n: 1 }, { secret, id: 'once' });
  t.same([answer.status, answer.body], [200, { status: 'duplicate', delivery_id: 'once' }]);
});

/** An agent that reports when it has the prompt, and stays until it is ended. */
const slowAgent = `cat >/dev/null
echo "$AGENT_ATTEMPT" >>began.txt
[ "$AGENT_ATTEMPT" = 1 ] && exec sleep 600
printf 'attempt %s' "$AGENT_ATTEMPT"
`;

async function begun(home: TestHome): Promise<void> {
  for (;;) {
    try {
      if (readFileSync(`${home.path}/began.txt`, 'utf8') !== '') return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function killWhileRunning(t: Test, policy: string): Promise<{ readonly home: TestHome; readonly next: Daemon }> {
  const home = makeCrashHome(t, `, on_interrupted: ${policy}`);
  home.write('scripts/agent.sh', slowAgent);
  const first = await startDaemon(t, home.path);
  await postSigned(`${first.url}/webhooks/gh`, { n: 1 }, { secret, id: 'cut' });
  await begun(home);
  await first.kill('SIGKILL');
  return { home, next: await startDaemon(t, home.path) };
}

t.test('DUR-1 · a run that the crash cut off is run once more, as attempt 2', async (t) => {
  const { home, next } = await killWhileRunning(t, 'rerun');
  t.equal((await next.line(({ message }) => message.startsWith('response: '))).message, 'response: attempt 2');
  t.match(await allSettled(home), [{ status: 'delivered', attempt: 2 }]);
});

t.test('DUR-1 · crashes of the gateway alone repeat a run five times', async (t) => {
  const home = makeCrashHome(t);
  home.write('scripts/agent.sh', slowAgent.replace('= 1', '!= 6'));
  const began = (): string => readFileSync(`${home.path}/began.txt`, { encoding: 'utf8', flag: 'a+' });
  let daemon = await startDaemon(t, home.path);
  await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'cut' });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await until(() => began().endsWith(`${attempt}\n`));
    await daemon.kill('SIGKILL');
    daemon = await startDaemon(t, home.path);
  }
  t.match(await allSettled(home), [{ status: 'delivered', attempt: 6 }]);
  t.equal(began(), '1\n2\n3\n4\n5\n6\n');
});

t.test('DUR-1 · on_interrupted: report marks it interrupted instead', async (t) => {
  const { home } = await killWhileRunning(t, 'report');
  t.match(await allSettled(home), [{ status: 'interrupted', attempt: 1 }]);
  t.equal(readFileSync(`${home.path}/began.txt`, 'utf8'), '1\n');
});

t.test('LIF-9 · no child outlives a daemon that was killed', async (t) => {
  const home = makeCrashHome(t);
  home.write('scripts/agent.sh', 'echo $$ >pid.txt; exec sleep 600\n');
  const daemon = await startDaemon(t, home.path);
  await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret });
  let pid = 0;
  while (pid === 0) {
    try {
      pid = Number(readFileSync(`${home.path}/pid.txt`, 'utf8'));
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  await daemon.kill('SIGKILL');
  await until(() => hasEnded(pid));
  t.pass('the agent ended with the daemon');
});

t.test('DUR-1 · a store that cannot be opened answers 503 before anything is acknowledged', async (t) => {
  const home = makeCrashHome(t);
  home.write('state/data.mdb', 'this is no store');
  const daemon = await startDaemon(t, home.path);
  const finding = await daemon.line(({ message }) => message.includes('journal unavailable'));
  t.match(finding.message, /state/, 'the finding names the place');
  const answer = await postSigned(`${daemon.url}/webhooks/gh`, { n: 1 }, { secret, id: 'later' });
  t.same([answer.status, answer.body], [503, { error: 'Service unavailable' }]);
  t.ok(Number(answer.headers.get('retry-after')) > 0);
  t.equal(daemon.child.exitCode, null, 'it does not end, and loops through no crash');
  writeFileSync(`${home.path}/ran.txt`, '');
});

t.test('DUR-1 · CLI-5 · runs that a crash cut off are shown as waiting until their next attempt begins', async (t) => {
  const home = makeCrashHome(t);
  // Ends with its home too, so that nothing is left behind.
  home.write(
    'scripts/agent.sh',
    `cat >/dev/null
printf x >>began.txt
until [ -e go ] || [ ! -e ran.txt ]; do sleep 0.02; done
printf done
`,
  );
  const runs = (...words: string[]): Promise<readonly RunRow[]> => runsOf(home, ...words);
  const untilRunning = (count: number): Promise<void> =>
    until(async () => (await runs('--status', 'running')).length >= count);
  const first = await startDaemon(t, home.path);
  for (const id of ['one', 'two']) await postSigned(`${first.url}/webhooks/gh`, { n: id }, { secret, id });
  await until(() => readFileSync(`${home.path}/began.txt`, { encoding: 'utf8', flag: 'a+' }) === 'xx');
  await first.kill('SIGKILL');

  home.write(
    'config.yaml',
    readFileSync(`${home.path}/config.yaml`, 'utf8').replace('concurrency: 2', 'concurrency: 1'),
  );
  await startDaemon(t, home.path);
  await untilRunning(1);
  t.match(await runs('--status', 'running'), [{ attempt: 2 }]);
  const reason = 'cut off in attempt 1; waits to be taken up again';
  const [waiting, ...others] = await runs('--status', 'queued');
  t.match([waiting, ...others], [{ attempt: 1, status: 'queued', reason }], 'the place is taken by the other');
  const shown = await askCli(['runs', 'show', waiting?.id ?? ''], home.path);
  t.match(shown.stdout, new RegExp(`queued[\\s\\S]*${reason}`));
  const listed = await askCli(['webhook', 'deliveries', '--status', 'accepted', '--json'], home.path);
  t.match(JSON.parse(listed.stdout), [{ delivery_id: waiting?.delivery_id, reason }]);

  home.write('go', '');
  const ended = await allSettled(home);
  t.same(
    ended.map(({ status, attempt }) => [status, attempt]),
    [
      ['delivered', 2],
      ['delivered', 2],
    ],
  );
  t.notOk(
    ended.some((row) => 'reason' in row),
    'the reason of the wait is gone',
  );
});

t.test('DUR-1 · kills under load give up nothing on Postgres', { skip: withoutPostgres || inAllOnly }, async (t) => {
  const postgres = await startPostgres(t);
  await killUnderLoad(t, { kills: 3, maxAnswers: 40, database: await postgres.url() });
});

t.test(
  'DUR-1 · CON-2 · what keeps a start from a journal in Postgres is logged',
  { skip: withoutPostgres || inAllOnly },
  async (t) => {
    const postgres = await startPostgres(t);
    const newer = await postgres.url();
    const home = makeCrashHome(t, '', newer);
    const first = await startDaemon(t, home.path);
    await postgres.run(newer, 'alter table agent_record rename to gone');
    t.equal(await first.kill('SIGTERM'), 0, 'CON-2 · it ends although the database cannot say what waits');
    await postgres.run(newer, `update agent_meta set value = 9 where name = 'schema'`);
    const later = await startDaemon(t, home.path);
    t.match(
      (await later.line(({ message }) => message.includes('version 9'))).message,
      /run the release that made them/,
    );
  },
);
