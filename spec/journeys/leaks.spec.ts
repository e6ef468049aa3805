import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { connectControl } from '../../runtime/control/client.ts';
import type { Asked, Counts, Leak, Told } from '../support/counted-daemon.ts';
import { askCli, type Daemon, followDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { httpServers } from '../support/http-servers.ts';
import { openRaw } from '../support/raw-http.ts';
import { postSigned } from '../support/sign.ts';
import { secret, webhookConfig } from '../support/webhook-home.ts';

const routes = [
  'plain: {prompt: "{n}"}',
  'fails: {prompt: fail}',
  'slow: {prompt: slow}',
  'picky: {events: [issues], filters: [{field: action, equals: opened}]}',
  'scripted: {script: up.mjs, prompt: "{b}"}',
  'silent: {script: silent.sh}',
  'hanging: {script: hanging.sh, script_timeout_seconds: 0.2}',
  'co: {prompt: "{n}", coalesce: {key: id, window_seconds: 0.1, max_wait_seconds: 1}}',
  'late: {prompt: "{n}", coalesce: {key: id, window_seconds: 600, max_wait_seconds: 600}}',
  'direct: {deliver: github_comment, deliver_only: true, prompt: "{n}", deliver_extra: {repo: a/b, pr_number: "{n}"}}',
  'job: {cron_job: nightly}',
  'off: {enabled: false}',
];

function makeLoadedHome(t: Test, front: string): TestHome {
  return makeHome(t, {
    'config.yaml': webhookConfig(routes.map((route) => `        ${route}\n`).join(''), {
      more: `gateway: {front: ${front}}\nagent: {runner: command, command: [bash, scripts/agent.sh], timeout_seconds: 1, concurrency: 4}`,
    }).replace(`secret: ${secret}`, `secret: ${secret}\n      rate_limit: 10000\n      max_body_bytes: 5000`),
    'scripts/agent.sh':
      'read -r p; case "$p" in fail) exit 3;; slow) sleep 600 & sleep 600;; *) echo "done $p";; esac\n',
    'scripts/up.mjs': 'console.log(JSON.stringify({ b: 2 }));',
    'scripts/silent.sh': 'echo "[SILENT]"',
    'scripts/hanging.sh': 'trap "" TERM; sleep 600',
    'scripts/gh.sh': '#!/bin/sh\ncat > /dev/null\n[ "$3" = 13 ] && exit 1\nexit 0\n',
    'cron/jobs.json': JSON.stringify([{ id: 'j1', name: 'nightly', prompt: 'job' }]),
  });
}

interface Counted extends Daemon {
  /** What the process had before the daemon began in it. */
  readonly bare: Counts;
  count(): Promise<Counts>;
  leak(kind: Leak): Promise<void>;
  /** Stops it; resolves with the exit code. */
  stop(): Promise<0 | 1>;
}

async function startCounted(t: Test, home: string): Promise<Counted> {
  const path = new URL('../support/counted-daemon.js', import.meta.url).pathname;
  const child: ChildProcess = spawn(process.execPath, ['--enable-source-maps', path], {
    env: { ...process.env, AGENT_LOG_LEVEL: 'debug', AGENT_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const first = once(child, 'message');
  const daemon = await followDaemon(t, child);
  const [{ counts: bare }] = (await first) as [{ readonly counts: Counts }];
  async function ask<Wanted extends Told>(asked: Asked): Promise<Wanted> {
    const answer = once(child, 'message');
    child.send(asked);
    const [told] = (await answer) as [Wanted];
    return told;
  }
  return {
    ...daemon,
    bare,
    count: async () => (await ask<{ readonly counts: Counts }>({ count: true })).counts,
    leak: async (kind) => void (await ask({ leak: kind })),
    stop: async () => (await ask<{ readonly ended: 0 | 1 }>({ stop: true })).ended,
  };
}

/** How often it is asked whether work has ended: what is left after it has leaked. */
const patience = 300;

/** Asks again and again until the answer is as expected; the last one is compared. */
async function comesTo<Value>(t: Test, ask: () => Promise<Value>, expected: Value, title: string): Promise<void> {
  let answer = await ask();
  // Each count collects the garbage first, which the work itself has to wait for.
  for (let asked = 1; !isDeepStrictEqual(answer, expected) && asked < patience; asked += 1) {
    await sleep(100);
    answer = await ask();
  }
  t.same(answer, expected, title);
}

type Tally = Readonly<Record<string, number>>;

/** By how much each kind has grown; those that have not are left out. */
function grownIn(now: Tally, before: Tally): Tally {
  return Object.fromEntries(
    Object.entries(now).flatMap(([kind, count]) => {
      const more = count - (before[kind] ?? 0);
      return more > 0 ? [[kind, more]] : [];
    }),
  );
}

/** All that is counted, as one tally. */
function tallied({ children, followed, actorsOnHeap, exchanges, ...kinds }: Counts): Tally {
  const all: Record<string, number> = { actorsOnHeap, exchanges, followed: Number(followed) };
  for (const [of, tally] of Object.entries(kinds))
    for (const [kind, count] of Object.entries(tally)) all[`${of}: ${kind}`] = count;
  for (const child of children) all[`child: ${child}`] = (all[`child: ${child}`] ?? 0) + 1;
  return all;
}

const work = ['webhookRequest', 'coalescingGroup', 'agentRun', 'delivery'];

/** The work that is under way, and who looks on. */
function underWay({ actors, exchanges, followed, waits }: Counts): readonly string[] {
  // The journal waits for its heartbeat, except while it has one.
  const beats = waits.journal === undefined ? ['heartbeat'] : [];
  const others = [...(exchanges > 0 ? ['exchange'] : []), ...(followed ? ['follower'] : []), ...beats];
  return [...work.filter((machine) => machine in actors), ...others];
}

/** A connection that its client keeps alive is no leak of the daemon's. */
const leaving = { connection: 'close' };

/** Everything that a request can come to, several at once; the answers are checked, or nothing would be known to be under way. */
async function load(t: Test, daemon: Daemon, home: string): Promise<void> {
  const at = (route: string): string => `${daemon.url}/webhooks/${route}`;
  const payload = (n: number) => ({ n, id: `g${n % 3}`, action: 'opened' });
  const post = (route: string, n: number, more: { secret?: string; event?: string; id?: string } = {}) =>
    postSigned(at(route), payload(n), { secret, headers: leaving, ...more });
  const each = async (n: number): Promise<void> => {
    const id = `same-${n}-${randomUUID()}`;
    const rows: readonly (readonly [string, Promise<{ readonly status: number }>, number])[] = [
      ['a failing run', post('fails', n), 202],
      ['an event not listed', post('picky', n), 200],
      ['a filter that matches', post('picky', n, { event: 'issues' }), 202],
      ['a script', post('scripted', n), 202],
      ['a silent script', post('silent', n), 200],
      ['a burst', post('co', n), 202],
      ['a direct delivery', post('direct', 12), 200],
      ['one that fails', post('direct', 13), 502],
      ['a cron job', post('job', n), 202],
      ['a disabled route', post('off', n), 403],
      ['no route', post('nowhere', n), 404],
      ['a stranger', post('plain', n, { secret: 'a stranger' }), 401],
      ['no JSON', postSigned(at('plain'), '{', { secret, headers: leaving }), 400],
      ['too large', postSigned(at('plain'), 'x'.repeat(6_000), { secret, headers: leaving }), 413],
      ['another method', fetch(at('plain'), { headers: leaving }), 405],
    ];
    const twins = Promise.all([post('plain', n, { id }), post('plain', n, { id })]);
    await leavesEarly(Number(new URL(daemon.url).port));
    for (const [title, asked, status] of rows) t.equal((await asked).status, status, title);
    t.same((await twins).map(({ status }) => status).sort(), [200, 202], 'equal ids');
  };
  await Promise.all([1, 2].map(each));
  const [slow, hanging] = await Promise.all([post('slow', 1), post('hanging', 1)]);
  t.same([slow.status, hanging.status], [202, 200], 'a run and a script that hang');
  const replayed = await askCli(['webhook', 'replay', String(slow.body.delivery_id)], home);
  t.match(replayed.stdout, /HTTP 202/, 'a replay');
  const follower = await connectControl(`${home}/gateway.sock`);
  await follower?.call('inspect.follow');
  await post('plain', 9);
  follower?.close();
}

/** A client that sends half of its body and leaves. */
async function leavesEarly(port: number): Promise<void> {
  const raw = await openRaw(port, 'POST /webhooks/plain HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf');
  raw.socket.destroy();
  await raw.closed;
}

for (const { front, skip } of httpServers) {
  t.test(`INS-1 · LIF-9 · CON-2 · nothing of a mixed load is left over (${front})`, { skip }, async (t) => {
    const home = makeLoadedHome(t, front);
    const daemon = await startCounted(t, home.path);
    // What is made once, at its first need, is no leak.
    await load(t, daemon, home.path);
    let before = await daemon.count();
    const left = async (): Promise<readonly string[]> => {
      before = await daemon.count();
      return underWay(before);
    };
    await comesTo(t, left, [], 'all work ends');

    await load(t, daemon, home.path);
    // What was about to end may be in the first count: a killed program, and the wait for its last words.
    const grown = async (): Promise<Tally> => grownIn(tallied(await daemon.count()), tallied(before));
    await comesTo(t, grown, {}, 'nothing more than before');

    const held = await postSigned(`${daemon.url}/webhooks/late`, { id: 'x', n: 1 }, { secret, headers: leaving });
    t.equal(held.body.status, 'coalesced');
    t.equal(await daemon.stop(), 0);
    const atTheEnd = async (): Promise<Counts> => {
      const counts = await daemon.count();
      // The native library never lets go of a handler, nor of what that refers to.
      return { ...counts, actorsOnHeap: front === 'uws' ? daemon.bare.actorsOnHeap : counts.actorsOnHeap };
    };
    // The last lines of the log hold what they were said by, as long as they are on their way.
    await comesTo(t, atTheEnd, daemon.bare, 'nothing at all once it has ended');
    daemon.child.disconnect();
    t.equal(await daemon.exited, 0, 'nothing keeps the process alive');
  });
}

t.test('INS-1 · a leak of each kind is noticed', async (t) => {
  const leaks: readonly (readonly [Leak, keyof Counts])[] = [
    ['actor', 'actors'],
    ['orphan', 'actorsOnHeap'],
    ['exchange', 'exchanges'],
    ['wait', 'waits'],
    ['timer', 'resources'],
    ['socket', 'descriptors'],
    ['child', 'children'],
  ];
  const home = makeLoadedHome(t, 'node');
  const daemon = await startCounted(t, home.path);
  let before = await daemon.count();
  for (const [kind, shown] of leaks) {
    await daemon.leak(kind);
    const now = await daemon.count();
    t.notSame(now[shown], before[shown], `${kind} is seen in ${shown}`);
    before = now;
  }
});
