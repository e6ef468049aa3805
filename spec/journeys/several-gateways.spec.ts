/**
 * Three real daemons on one real Postgres, each with a home of its own. All take events and run agents, and one of them sends
 * what is delivered.
 */

import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { askCli, type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { commandOf } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { type FakePlatform, type Script, startPlatform } from '../support/platforms/fake-platform.ts';
import { slackApi } from '../support/platforms/slack.ts';
import { startPostgres, withoutPostgres } from '../support/postgres.ts';
import { hasEnded, numbersIn, until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly, isEachTier } from '../support/tier.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

const shiftedClock = new URL('../support/shifted-clock.js', import.meta.url).href;
const secret = 'several-secret-several-secret';

/** Writes down when it begins and ends, and waits to be let go where the prompt says so. */
const agent = (folder: string): string => `name=$(cat)
note() { echo "$1 $name $AGENT_DELIVERY_ID $AGENT_ATTEMPT" >>'${folder}/steps.txt'; }
note begin
case $name in
  wait*) until grep -qxF "$name" '${folder}/go.txt'; do sleep 0.05; done ;;
esac
note end
printf %s "$name"
`;

interface Cluster {
  readonly url: string;
  readonly daemons: Daemon[];
  readonly slack: FakePlatform;
  /** Posts an event to one of the gateways; resolves with the status and the word of the answer. */
  send(nth: number, route: string, payload: object, id?: string, signal?: AbortSignal): Promise<string>;
  /** What the agents have noted, as `begin name id attempt` and `end name id attempt`. */
  steps(): string[];
  letGo(name: string): void;
  rows(statement: string): Promise<Record<string, unknown>[]>;
  /** The owner of a gateway's sessions. */
  owner(nth: number): string;
  /** Resolves once there is one. */
  leader(): Promise<number>;
  moveClock(nth: number, ms: number): void;
  /** Cuts a gateway off its database without a word; the database hears of it once the returned function is called. */
  mute(nth: number): () => void;
  /** Ends the database as a power cut would, and starts it again. */
  restart(): Promise<void>;
  start(nth: number): Promise<void>;
  cli(nth: number, ...words: readonly string[]): Promise<string>;
}

async function startCluster(
  t: Test,
  gateways: number,
  { rateLimit = 100_000, shiftsClock = false, isLossy = false, servers = {} as Readonly<Record<string, unknown>> } = {},
): Promise<Cluster> {
  const postgres = await startPostgres(t);
  const url = await postgres.url();
  const folder = mkdtempSync(join(tmpdir(), 'agent-several-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const file of ['steps.txt', 'go.txt']) writeFileSync(join(folder, file), '');
  const slack = await startPlatform(t, slackApi);
  const place = { deliver: 'slack', deliver_extra: { chat_id: slackApi.chat ?? '' } };
  const configOf = (nth: number) => ({
    gateway: { journal: 'postgres', node: `gateway-${nth}`, postgres: { url: '${DATABASE_URL}' } },
    agent: { runner: 'command', command: ['sh', 'scripts/agent.sh'], concurrency: 3 },
    inspector: { enabled: false },
    mcp_servers: servers,
    platforms: {
      slack: { enabled: true, api_base: slack.base, ...slackApi.options, messages_per_minute: 60_000 },
      webhook: adapterOf(
        {
          run: { prompt: '{n}' },
          reply: { prompt: '{n}', ...place },
          one: { prompt: '{n}', concurrency: 1 },
          direct: { prompt: '{n}', deliver_only: true, ...place },
          batch: { prompt: '{n}', coalesce: { key: 'key', window_seconds: 1, max_wait_seconds: 4 } },
        },
        { secret, rate_limit: rateLimit },
      ),
    },
  });
  const ways = isLossy ? await Promise.all(Array.from({ length: gateways }, () => postgres.lossy())) : [];
  const homes = Array.from({ length: gateways }, (_, nth) =>
    makeHome(t, {
      '.env': `DATABASE_URL='${ways[nth]?.url(url) ?? url}'\n`,
      'config.yaml': JSON.stringify(configOf(nth)),
      'clock.txt': '0',
      'scripts/agent.sh': agent(folder),
    }),
  );
  const pathOf = (nth: number): string => homes[nth]?.path ?? '';
  const start = (nth: number): Promise<Daemon> =>
    startDaemon(
      t,
      pathOf(nth),
      shiftsClock ? { NODE_OPTIONS: `--import=${shiftedClock}`, SPEC_CLOCK_FILE: `${pathOf(nth)}/clock.txt` } : {},
    );
  const daemons = await Promise.all(homes.map((_, nth) => start(nth)));
  return {
    url,
    daemons,
    slack,
    async send(nth, route, payload, id, signal) {
      const answer = await postSigned(`${daemons[nth]?.url}/webhooks/${route}`, payload, {
        secret,
        ...(id === undefined ? {} : { id }),
        ...(signal === undefined ? {} : { signal }),
      });
      return `${answer.status} ${answer.body.status}`;
    },
    steps: () => readFileSync(join(folder, 'steps.txt'), 'utf8').split('\n').filter(Boolean),
    letGo: (name) => appendFileSync(join(folder, 'go.txt'), `${name}\n`),
    rows: (statement) => postgres.run(url, statement),
    owner: (nth) => `gateway-${nth}`,
    async leader() {
      let found: Record<string, unknown>[] = [];
      await until(async () => {
        found = await postgres.run(
          url,
          `select s.owner from agent_claim c join agent_session s on s.id = c.value::json->>'session' where c.name = 'lock/leader'`,
        );
        return found.length > 0;
      });
      return daemons.findIndex((_, nth) => found[0]?.owner === `gateway-${nth}`);
    },
    moveClock: (nth, ms) => writeFileSync(`${pathOf(nth)}/clock.txt`, String(ms)),
    mute: (nth) => ways[nth]?.mute() ?? (() => {}),
    restart: () => postgres.restart(),
    async start(nth) {
      daemons[nth] = await start(nth);
    },
    async cli(nth, ...words) {
      const { code, stdout, stderr } = await askCli(words, pathOf(nth));
      return code === 0 ? stdout : `${code}: ${stderr}`;
    },
  };
}

const named = (steps: readonly string[], what: string): string[] =>
  steps.filter((step) => step.startsWith(`${what} `)).map((step) => step.split(' ')[1] ?? '');

/** Every text that Slack has taken, in order. */
const textsOf = (slack: FakePlatform): string[] => slack.world.messages.map(({ text }) => text);

t.test(
  'SCA-1 · IDM-1 · COA-1 · DIS-2 · every gateway takes events, each id once, and a batch is one run',
  { skip: withoutPostgres },
  async (t) => {
    const { send, steps, slack, leader, rows } = await startCluster(t, 3);
    const twice = await Promise.all(
      Array.from({ length: 9 }, (_, n) =>
        Promise.all([n, n + 1].map((nth) => send(nth % 3, 'run', { n: `r${n}` }, `id-${n}`))),
      ),
    );
    for (const answers of twice) t.same(answers.sort(), ['200 duplicate', '202 accepted']);
    await until(() => named(steps(), 'end').length === 9);
    t.same(
      named(steps(), 'begin').sort(),
      Array.from({ length: 9 }, (_, n) => `r${n}`),
      'each has run once',
    );

    const direct = await Promise.all([0, 1, 2].map((nth) => send(nth, 'direct', { n: `d${nth}` })));
    t.same(direct, Array(3).fill('200 delivered'), 'whichever gateway sends it');
    t.same(textsOf(slack).sort(), ['d0', 'd1', 'd2']);

    // The sender hangs up at another gateway than the one that sends.
    slack.scripts.push(
      ...Array<Script>(99).fill({ status: 429, headers: { 'retry-after': '1' }, json: { ok: false } }),
    );
    const leaving = new AbortController();
    const left = send(((await leader()) + 1) % 3, 'direct', { n: 'left' }, 'left', leaving.signal);
    const waitsFor = (sender: string) => async (): Promise<boolean> =>
      (
        await rows(`select 1 from agent_record where collection = 'd' and value::json->>'deliveryId' = 'left'
        and value::json->>'status' = 'waitingToRetry' and value::json->>'answerByMs' is ${sender}`)
      ).length > 0;
    await until(waitsFor('not null'));
    leaving.abort();
    await t.rejects(left);
    await until(waitsFor('null'));
    slack.scripts.splice(0);
    await until(() => textsOf(slack).includes('left'));

    for (let n = 0; n < 6; n += 1) t.equal(await send(n % 3, 'batch', { n: `b${n}`, key: 'k' }), '202 coalesced');
    await until(() => named(steps(), 'end').includes('b5'));
    t.equal(named(steps(), 'begin').filter((name) => name.startsWith('b')).length, 1, 'one run, of the newest event');
  },
);

t.test(
  'SCA-2 · OBS-1 · a gateway whose connections are cut while it is idle accepts the next event',
  { skip: withoutPostgres },
  async (t) => {
    const { daemons, rows, send } = await startCluster(t, 1);
    const writers = `from pg_locks where locktype = 'advisory' and classid = hashtext('agent_gateway')::oid
      and objid = hashtext(current_schema)::oid`;
    const [{ pid } = {}] = await rows(`select pid ${writers}`);
    await rows(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent'
      and datname = current_database()`);
    await until(async () => (await rows(`select 1 ${writers} and pid <> ${pid}`)).length === 1);
    t.equal(await send(0, 'run', { n: 'next' }), '202 accepted');
    t.same(
      daemons[0]?.log.filter(({ level, message }) => level === 'error' && /not queryable/.test(message)),
      [],
    );
  },
);

t.test(
  'SCA-1 · DLV-4 · DIS-3 · over all gateways a chat keeps its order and a route its concurrency',
  { skip: withoutPostgres || inAllOnly },
  async (t) => {
    const { send, steps, slack, letGo, rows } = await startCluster(t, 3);
    slack.scripts.push('hang');
    const first = slack.arrival();
    await send(0, 'reply', { n: 'first' });
    await first;
    const names = ['wait-a', 'wait-b', 'wait-c', 'wait-d'];
    for (const [nth, name] of names.entries()) await send(nth % 3, 'reply', { n: name });
    await until(() => names.every((name) => named(steps(), 'begin').includes(name)));
    // Each response is on disk before the next.
    for (const [nth, name] of ['wait-c', 'wait-a', 'wait-d', 'wait-b'].entries()) {
      letGo(name);
      await until(async () => (await rows(`select 1 from agent_record where collection = 'd'`)).length === nth + 2);
    }
    slack.release();
    await until(() => textsOf(slack).length === 5);
    t.same(textsOf(slack), ['first', 'wait-c', 'wait-a', 'wait-d', 'wait-b']);

    for (let n = 0; n < 9; n += 1) await send(n % 3, 'one', { n: `one-${n}` });
    const ofRoute = () => steps().filter((step) => step.includes(' one-'));
    await until(() => ofRoute().length === 18);
    const pairs = ofRoute().map((step) => step.split(' ').slice(0, 2).join(' '));
    for (let at = 0; at < 18; at += 2) {
      t.equal(pairs[at + 1], pairs[at]?.replace('begin', 'end'), 'one at a time');
    }
  },
);

t.test(
  'SCA-1 · DIS-3 · runs that wait for their route keep no other route waiting',
  { skip: withoutPostgres },
  async (t) => {
    const { send, steps } = await startCluster(t, 1);
    await send(0, 'one', { n: 'wait-one' });
    await until(() => named(steps(), 'begin').length === 1);
    // More than a gateway holds of runs that could begin elsewhere.
    for (let n = 0; n < 21; n += 1) await send(0, 'one', { n: `one-${n}` });
    await send(0, 'run', { n: 'other' });
    await until(() => named(steps(), 'end').includes('other'));
    t.same(named(steps(), 'begin'), ['wait-one', 'other']);
  },
);

t.test(
  'SCA-1 · LIM-2 · the requests of a minute are counted over all gateways',
  { skip: withoutPostgres },
  async (t) => {
    const { send } = await startCluster(t, 2, { rateLimit: 5 });
    const minute = () => Math.floor(Date.now() / 60_000);
    // Where a minute ends meanwhile, the other route has not been asked in the next one.
    for (let route = 'run'; ; route = route === 'run' ? 'one' : 'run') {
      const began = minute();
      const answers: string[] = [];
      for (let n = 0; n < 16; n += 1) answers.push(await send(n % 2, route, { n: `${route}${n}` }));
      if (minute() !== began) continue;
      t.same(answers.filter((answer) => answer.startsWith('202')).length, 5, 'the shares of both are the limit');
      return;
    }
  },
);

t.test(
  'SCA-1 · CON-2 · a gateway that drains hands over at once what has not begun, and finishes what has',
  { skip: withoutPostgres },
  async (t) => {
    const { daemons, send, steps, letGo, slack, rows, leader } = await startCluster(t, 2);
    const nth = await leader();
    slack.scripts.push('hang');
    const arrived = slack.arrival();
    await send(nth, 'reply', { n: 'first' });
    await arrived;
    await send(nth, 'reply', { n: 'second' });
    await until(async () => (await rows(`select 1 from agent_record where collection = 'd'`)).length === 2);
    for (const n of ['wait-1', 'wait-2', 'wait-3', 'later-1', 'later-2']) await send(nth, 'reply', { n });
    await until(() => named(steps(), 'begin').length === 5);
    for (const [at, n] of [
      [nth, 'a'],
      [1 - nth, 'b'],
    ] as const)
      t.equal(await send(at, 'batch', { n, key: 'k' }), '202 coalesced');

    daemons[nth]?.kill('SIGTERM');
    const begun = () => named(steps(), 'begin');
    await until(() => ['later-1', 'later-2', 'b'].every((name) => begun().includes(name)));
    t.equal(named(steps(), 'end').filter((name) => name.startsWith('wait')).length, 0, 'while its own runs still work');
    await until(async () => (await leader()) !== nth);
    t.same(textsOf(slack), [], 'what it has begun to send comes first');
    for (const n of [1, 2, 3]) letGo(`wait-${n}`);
    slack.release();
    await daemons[nth]?.exited;
    await until(() => textsOf(slack).length === 7);
    t.same(begun().length, new Set(begun()).size, 'none began twice');
    t.same(textsOf(slack).slice(0, 2), ['first', 'second']);
  },
);

t.test(
  'SCA-3 · DLV-4 · DIS-3 · a run and a delivery of another gateway are cancelled, dropped and retried at any',
  { skip: withoutPostgres },
  async (t) => {
    const cluster = await startCluster(t, 2);
    const { send, steps, slack, cli } = cluster;
    const leader = await cluster.leader();
    const other = 1 - leader;
    const listed = async (what: string) =>
      JSON.parse(await cli(other, what, 'list', '--json')) as { id: string; delivery_id: string; status: string }[];
    const idOf = async (what: string, delivery: string) =>
      (await listed(what)).find(({ delivery_id: id }) => id === delivery)?.id ?? '';
    await send(leader, 'run', { n: 'wait-1' }, 'r1');
    await until(() => named(steps(), 'begin').includes('wait-1'));
    const run = await idOf('runs', 'r1');
    t.equal(await cli(other, 'runs', 'cancel', run), `Cancelled ${run}.\n`);
    t.match(await listed('runs'), [{ id: run, status: 'cancelled' }]);

    slack.scripts.push('hang');
    const arrived = slack.arrival();
    await send(other, 'reply', { n: 'first' });
    await arrived;
    await send(other, 'reply', { n: 'second' }, 'r2');
    await until(async () => (await idOf('deliveries', 'r2')) !== '');
    const second = await idOf('deliveries', 'r2');
    await until(async () => (await cli(other, 'deliveries', 'drop', second)).startsWith(`Dropped ${second}`));
    slack.release();
    await until(() => textsOf(slack).length === 1);
    t.match(await listed('deliveries'), [{ id: second, status: 'dropped' }]);
    t.match(await cli(other, 'deliveries', 'retry', second), new RegExp(`^Trying ${second} again`));
    await until(() => textsOf(slack).length === 2);
    t.same(textsOf(slack), ['first', 'second']);
  },
);

t.test(
  'SCA-1 · LIF-9 · a server that may exist once is at one gateway, used by all, and goes to another with the next need',
  { skip: withoutPostgres },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'agent-placed-'));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const [pidFile, counter] = [join(folder, 'pids.txt'), join(folder, 'calls.txt')];
    const { daemons, cli } = await startCluster(t, 2, {
      servers: { peer: commandOf(stdioPeer('legacy', { pidFile, counter }), { placement: 'one' }) },
    });
    const call = (nth: number, text: string) => cli(nth, 'mcp', 'call', 'mcp__peer__echo', JSON.stringify({ text }));
    const rows = async (nth: number) =>
      JSON.parse(await cli(nth, 'mcp', 'list', '--json')) as { state: string; tools: number }[];
    const tools: number[] = [];
    for (const nth of [0, 1]) {
      await until(async () => (await rows(nth))[0]?.state === 'connected');
      tools.push((await rows(nth))[0]?.tools ?? 0);
      t.match(await call(nth, `by ${nth}`), new RegExp(`by ${nth}`));
    }
    t.equal(tools[0], tools[1], 'all have the same tools');
    t.equal(numbersIn(pidFile).length, 1);
    const [first = 0] = numbersIn(pidFile);
    const through = (nth: number) =>
      daemons[nth]?.log.some(({ message }) => /is used through gateway "gateway-\d"/.test(message));
    t.not(through(0), through(1));
    const holder = through(0) ? 1 : 0;
    const other = 1 - holder;

    daemons[holder]?.kill('SIGKILL');
    await daemons[holder]?.exited;
    await until(async () => /anew/.test(await call(other, 'anew')));
    t.equal(numbersIn(pidFile).length, 2);
    await until(() => hasEnded(first));
    t.equal(readFileSync(counter, 'utf8').trim().split('\n').length, 3, 'each call has run once');
  },
);

const open = `select 1 from agent_record where collection in ('r', 'd', 'g') and due_at is not null`;
const outcomes = `select value::json->>'text' as text, value::json->>'status' as status from agent_record where collection = 'd'`;

type Fault = 'SIGKILL' | 'SIGSTOP' | 'SIGTERM' | 'cut' | 'mute' | 'restart' | 'clock';

/** Harms one gateway after the other; everything that was answered runs and is delivered once, and no attempt begins twice. */
async function harm(t: Test, faults: readonly Fault[], { random = Math.random } = {}): Promise<void> {
  const cluster = await startCluster(t, 3, {
    shiftsClock: faults.includes('clock'),
    isLossy: faults.includes('mute'),
  });
  const { daemons, send, steps, slack, rows, moveClock } = cluster;
  const accepted: string[] = [];
  const delivered: string[] = [];
  const away = new Set<number>();
  let sent = 0;
  let isOver = false;
  const kinds = ['run', 'reply', 'direct', 'batch', 'one'] as const;

  async function sendOne(): Promise<void> {
    sent += 1;
    const name = `e${sent}`;
    const kind = kinds[sent % kinds.length] ?? 'run';
    const to = sent % daemons.length;
    if (away.has(to)) return;
    // Each seventh id comes to two gateways at once.
    const nodes = sent % 7 === 0 ? [to, (to + 1) % daemons.length] : [to];
    const answers = await Promise.all(
      nodes.map((nth) => send(nth, kind, { n: name, key: `k${sent % 3}` }, name).catch(() => 'cut')),
    );
    const taken = answers.filter((answer) => answer === '202 accepted');
    if (taken.length > 1) t.fail(`${name} was accepted twice`);
    if (taken.length > 0) accepted.push(name);
    if (answers.includes('200 delivered')) delivered.push(name);
  }
  const senders = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      await sendOne();
      await wait(isEachTier ? 100 : 20);
    }
  });

  const takeOvers: Record<string, number[]> = {};
  /** For each gateway that was killed while all were connected: whether its work was taken before its lease ran out. */
  const inLease: boolean[] = [];
  /** Until then gateways give each other time to come back to the database. */
  let comeBackMs = 0;
  const cutOff = (): void => {
    comeBackMs = performance.now() + 6_000;
  };
  async function takenOver(nth: number, fault: 'SIGKILL' | 'SIGSTOP'): Promise<void> {
    const found = await rows(`select id, expires_at as lease from agent_session where owner = '${cluster.owner(nth)}'`);
    const [{ id = '', lease: before = 0 } = {}] = found;
    /** By the database's clock, which the lease is of; its row goes when its work is taken, which a slow look may miss. */
    let leftMs = 0;
    const beganMs = performance.now();
    away.add(nth);
    daemons[nth]?.kill(fault);
    const held = `select 1 from agent_record where held_by = '${id}' and due_at is not null`;
    const look = `select exists (${held}) as held, agent_now() as now, max(expires_at) as lease from agent_session where id = '${id}'`;
    let lease = Number(before);
    await until(async () => {
      const [seen] = await rows(look);
      lease = Math.max(lease, Number(seen?.lease ?? 0));
      leftMs = lease - Number(seen?.now);
      return seen?.held === false;
    });
    if (fault === 'SIGKILL' && id !== '' && beganMs >= comeBackMs) inLease.push(leftMs > 0);
    const when = beganMs < comeBackMs ? `${fault} soon after the database was away` : fault;
    takeOvers[when] = [...(takeOvers[when] ?? []), performance.now() - beganMs];
  }

  for (const fault of faults) {
    const nth = Math.floor(random() * daemons.length);
    const before = accepted.length;
    await until(() => accepted.length > before + 8);
    // Also shows the runner that it does not hang.
    t.comment(`${fault} ${cluster.owner(nth)}`);
    switch (fault) {
      case 'SIGKILL':
        await takenOver(nth, fault);
        await daemons[nth]?.exited;
        await cluster.start(nth);
        break;
      case 'SIGSTOP':
        await takenOver(nth, fault);
        daemons[nth]?.kill('SIGCONT');
        break;
      case 'SIGTERM':
        away.add(nth);
        daemons[nth]?.kill(fault);
        await daemons[nth]?.exited;
        await cluster.start(nth);
        break;
      case 'cut':
        await rows(
          `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent' and random() < 0.3`,
        );
        cutOff();
        break;
      case 'mute': {
        const noticed = cluster.mute(nth);
        // It answers 503 until it has found out; then it is one of them again.
        await until(async () => (await send(nth, 'run', { n: `mute-${sent}` }).catch(() => 'cut')) === '202 accepted');
        noticed();
        cutOff();
        break;
      }
      case 'restart':
        await cluster.restart();
        cutOff();
        break;
      case 'clock':
        moveClock(nth, Math.round((random() - 0.5) * 40_000));
    }
    away.delete(nth);
  }
  isOver = true;
  await Promise.all(senders);
  await until(async () => (await rows(open)).length === 0);

  const begun = steps().filter((step) => step.startsWith('begin '));
  const ran = new Set(named(begun, 'begin'));
  t.same(
    accepted.filter((name) => !ran.has(name) && !delivered.includes(name)),
    [],
    'everything acknowledged has run',
  );
  t.same(
    begun.filter((step, at) => begun.indexOf(step) !== at),
    [],
    'no attempt began twice',
  );
  const texts = textsOf(slack);
  t.same(
    texts.filter((text, at) => texts.indexOf(text) !== at),
    [],
    'nothing was delivered twice',
  );
  const unsure = new Set((await rows(outcomes)).filter(({ status }) => status === 'unknown').map(({ text }) => text));
  const isReply = (name: string): boolean => kinds[Number(name.slice(1)) % kinds.length] === 'reply';
  const isThere = (name: string): boolean => texts.includes(name) || unsure.has(name);
  t.same(
    [...delivered, ...accepted.filter(isReply)].filter((name) => !isThere(name)),
    [],
    'everything was delivered, or is unsure',
  );
  // The history says why.
  const doubled = begun.filter((step, at) => begun.indexOf(step) !== at).map((step) => step.split(' ')[1] ?? '');
  const missing = accepted.filter((one) => !ran.has(one) || (isReply(one) && !isThere(one)));
  for (const name of [...doubled, ...missing])
    for (const { row } of await rows(
      `select r.collection || ' ' || r.key || ' ' || r.value as row from agent_record e join agent_record r
        on r.key = e.key or r.key like (e.value::json->>'work') || '%' where e.collection = 'e' and e.value like '%"${name}"%'`,
    ))
      t.comment(String(row));
  // A few could be chance on a busy machine.
  if (inLease.length > 5) {
    const early = inLease.filter(Boolean).length;
    t.ok(
      early * 2 > inLease.length,
      `${early} of ${inLease.length} killed ones were not waited for until their lease ran out`,
    );
  }
  const again = begun.filter((step) => !step.endsWith(' 1')).length;
  const times = Object.entries(takeOvers).map(([fault, all]) => {
    const sorted = all.sort((one, other) => one - other).map((ms) => Math.round(ms) / 1_000);
    const median = sorted[sorted.length >> 1] ?? 0;
    return `${fault}: median ${median} s, p95 ${sorted[Math.floor(sorted.length * 0.95)]} s`;
  });
  t.comment(
    `${sent} sent, ${accepted.length} accepted, ${delivered.length} delivered directly, ${texts.length} texts, ${unsure.size} unsure, ${again} begun again, ${times.join('; ')}`,
  );
}

t.test(
  'SCA-1 · SCA-2 · the work of a gateway that is killed or drains goes on at the others',
  { skip: withoutPostgres },
  (t) => harm(t, ['SIGKILL', 'SIGTERM']),
);

t.test(
  'SCA-1 · SCA-2 · sixty faults of gateways and of their database lose nothing, and double nothing',
  { skip: withoutPostgres || inAllOnly },
  (t) => {
    const stops: readonly Fault[] = ['SIGKILL', 'SIGSTOP', 'cut', 'SIGKILL', 'clock'];
    const each: readonly Fault[] = [...stops, 'mute', 'SIGTERM', 'restart', 'SIGKILL'];
    return harm(
      t,
      Array.from({ length: 60 }, (_, n) => each[n % each.length] ?? 'cut'),
    );
  },
);
