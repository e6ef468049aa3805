import { getEventListeners } from 'node:events';
import t from 'tap';
import { absentPool } from '../../../machines/base/pool.ts';
import type { CallInput, CallOutput } from '../../../machines/mcp/tool-call.machine.ts';
import { askerOf, createCalls } from '../../../runtime/mcp/calls.ts';
import { lentTime } from '../../support/lent-time.ts';
import { fakePool } from '../../support/pools.ts';

const request = { profile: 'default', name: 'mcp__s__t', args: { a: 1 }, caller: 'cli' };
const output = (more: Partial<CallOutput> = {}): CallOutput => ({ fault: null, ...more }) as CallOutput;

function stage() {
  const pool = fakePool<CallInput>();
  const withdrawn: string[] = [];
  return { pool, withdrawn, calls: createCalls(pool.handle as never, Date.now, (id) => void withdrawn.push(id)) };
}

t.test('CON-4 · a call is answered with its result once its chart has settled', async (t) => {
  const { pool, calls } = stage();
  const answer = calls.start(request);
  const [{ key, input } = { key: '', input: {} }] = pool.spawned;
  t.same(input, { id: key, profile: 'default', name: 'mcp__s__t', caller: 'cli' }, 'arguments lie in no context');
  const row = calls.get(key);
  t.same(row?.request.args, { a: 1 });
  if (row !== undefined) row.result = { content: [], isError: false };
  calls.settled(key, output());
  t.same(await answer, { kind: 'result', result: { content: [], isError: false } });
  t.equal(calls.get(key), undefined, 'and nothing of it is kept');
});

t.test('CON-4 · a fault is the answer, even where a result was there; a crash is an uncertain outcome', async (t) => {
  const { pool, calls, withdrawn } = stage();
  const fault = { code: 'timed_out', message: 'slow' } as const;
  const first = calls.start(request);
  calls.settled(pool.spawned[0]?.key ?? '', output({ fault }));
  t.same(await first, { kind: 'fault', fault });
  const second = calls.start(request);
  const row = calls.get(pool.spawned[1]?.key ?? '');
  let abandoned = 0;
  if (row !== undefined) {
    row.approval = 'a1';
    row.abandon = () => {
      abandoned += 1;
    };
  }
  calls.crashed(pool.spawned[1]?.key ?? '');
  t.same([withdrawn, abandoned], [['a1'], 1], 'and no person is asked for it any more, nor its server');
  t.match(await second, { kind: 'fault', fault: { code: 'outcome_uncertain' } });
  calls.crashed('no such call');
});

t.test('LIF-3 · a caller that leaves cancels its call, also one that has not begun', async (t) => {
  const { pool, calls } = stage();
  const stop = new AbortController();
  const answer = calls.start({ ...request, signal: stop.signal });
  t.same(pool.spawned[0]?.heard, []);
  stop.abort();
  t.same(pool.spawned[0]?.heard, [{ type: 'call.cancel' }]);
  calls.settled(pool.spawned[0]?.key ?? '', output({ fault: { code: 'cancelled', message: 'x' } }));
  t.match(await answer, { kind: 'fault', fault: { code: 'cancelled' } });

  void calls.start({ ...request, signal: AbortSignal.abort() });
  t.same(pool.spawned[1]?.heard, [{ type: 'call.cancel' }]);
});

t.test('INS-2 · what a run has under way is known by its key, until it has settled', (t) => {
  const { pool, calls } = stage();
  void calls.start({ ...request, run: 'r1' });
  void calls.start(request);
  const [mine] = pool.spawned;
  t.match(calls.ofRun('r1'), [{ id: mine?.key, tool: 'mcp__s__t' }]);
  const row = calls.get(mine?.key ?? '');
  if (row !== undefined) row.approval = 'a1';
  t.match(calls.ofRun('r1'), [{ approval: 'a1' }]);
  calls.settled(mine?.key ?? '', output());
  t.same([calls.ofRun('r1'), calls.ofRun('r2')], [[], []]);
  t.end();
});

t.test('TRU-3 · SRV-1 · an entry that went names the calls that it found and that no session has', (t) => {
  const { pool, calls } = stage();
  for (let each = 0; each < 3; each += 1) void calls.start(request);
  const [waiting, sent, unfound] = pool.spawned;
  for (const child of [waiting, sent]) {
    const row = calls.get(child?.key ?? '');
    if (row !== undefined) row.tool = { name: 'mcp__s__t', server: 's', tool: 't', kind: 'native', definition: {} };
  }
  const row = calls.get(sent?.key ?? '');
  if (row !== undefined) row.sentTo = 's';
  calls.retire('s@work', 'removed');
  calls.retire('s', 'removed');
  t.same(
    [waiting, sent, unfound].map((child) => child?.heard),
    [[{ type: 'server.retired', how: 'removed' }], [], []],
  );
  t.end();
});

t.test('LIF-9 · LIF-11 · a stop ends what no session has, what waits for its turn too', async (t) => {
  const { pool, calls } = stage();
  const answers = [calls.start(request), calls.start(request)] as const;
  const [sent, queued] = pool.spawned;
  for (const { key } of pool.spawned) pool.move(key, 'calling');
  const row = calls.get(sent?.key ?? '');
  if (row !== undefined) row.sentTo = 's';
  calls.stop();
  t.match(await answers[1], { kind: 'fault', fault: { code: 'cancelled', message: /the gateway stops/ } });
  t.same([sent?.heard, queued?.heard], [[], [{ type: 'call.cancel' }]]);
  calls.settled(sent?.key ?? '', output({ fault: { code: 'timed_out', message: 'slow' } }));
  t.match(await answers[0], { fault: { code: 'timed_out' } });
});

t.test('TRU-1 · LIF-9 · a call of a gateway that stops is refused at once: no person is asked for it', async (t) => {
  const { pool, calls } = stage();
  calls.stop();
  const fault = { code: 'server_unavailable', message: /not run: the gateway is starting or stopping/ };
  for (const more of [{}, { signal: new AbortController().signal }])
    t.match(await calls.start({ ...request, ...more }), { kind: 'fault', fault });
  t.same(pool.spawned, []);
});

t.test(
  'CON-2 · CON-4 · a call before its pool lives, or after, is refused; to give it up then harms nothing',
  async (t) => {
    const pool = fakePool<CallInput>();
    let lives = false;
    const calls = createCalls(() => (lives ? pool.handle() : absentPool('calls')));
    t.match(await calls.start(request), { kind: 'fault', fault: { code: 'server_unavailable' } });
    lives = true;
    const stop = new AbortController();
    void calls.start({ ...request, signal: stop.signal });
    lives = false;
    stop.abort();
    t.same(pool.spawned[0]?.heard, []);
    t.match(await calls.start({ ...request, signal: stop.signal }), { fault: { code: 'server_unavailable' } });
    const { signal } = new AbortController();
    t.match(await calls.start({ ...request, signal }), { fault: { code: 'server_unavailable' } });
    t.same(getEventListeners(signal, 'abort'), [], 'nobody listens any more');
  },
);

t.test('TRU-3 · TRU-5 · who waits for a person hears of it at once and every ten seconds, while it waits', (t) => {
  const time = lentTime(t);
  const { pool, calls } = stage();
  const heard: string[] = [];
  void calls.start({ ...request, onWaiting: (question) => void heard.push(question) });
  const key = pool.spawned[0]?.key ?? '';
  let isOpen = false;
  calls.waits(key, 'a1', () => isOpen);
  t.same(heard, [], 'it was answered at once');
  isOpen = true;
  calls.waits(key, 'a2', () => isOpen);
  t.same(heard, ['a2']);
  for (const passed of [9_999, 1, 10_000]) time.pass(passed);
  t.same(heard, ['a2', 'a2', 'a2']);
  isOpen = false;
  time.pass(10_000);
  isOpen = true;
  time.pass(60_000);
  t.equal(heard.length, 3, 'it is over');

  calls.waits(key, 'a3', () => true);
  calls.settled(key, output());
  time.pass(60_000);
  t.equal(heard.length, 4, 'so is the call');
  void calls.start(request);
  calls.waits(pool.spawned[1]?.key ?? '', 'a4', () => true);
  calls.waits('no such call', 'a5', () => true);
  t.equal(heard.length, 4);
  t.end();
});

t.test('TRU-3 · the questions of a run are counted together, and those of each program outside of one', (t) => {
  const program = 'serve-1';
  t.same(askerOf({ ...request, program, run: 'r' }), { run: 'r' });
  t.same(askerOf({ ...request, program }), { caller: 'cli/serve-1' });
  t.same(askerOf(request), { caller: 'cli' });
  t.end();
});

t.test('LIF-11 · two calls have two ids and two answers', async (t) => {
  const { pool, calls } = stage();
  const answers = [calls.start(request), calls.start(request)];
  const keys = pool.spawned.map(({ key }) => key);
  t.equal(new Set(keys).size, 2);
  for (const [index, key] of [...keys].reverse().entries())
    calls.settled(key, output({ fault: { code: 'rpc_error', message: String(index) } }));
  t.same(
    (await Promise.all(answers)).map((answer) => answer.kind === 'fault' && answer.fault.message),
    ['1', '0'],
  );
});

t.test('LIF-11 · many calls of one run are no leak to Node', async (t) => {
  const { pool, calls } = stage();
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', hear);
  const { signal } = new AbortController();
  const answers = Array.from({ length: 15 }, () => calls.start({ ...request, signal }));
  for (const { key } of pool.spawned) calls.settled(key, output());
  await Promise.all(answers);
  await new Promise(setImmediate);
  process.off('warning', hear);
  t.same(warnings, []);
});
