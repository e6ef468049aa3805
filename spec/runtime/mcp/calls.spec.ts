import t from 'tap';
import type { CallInput, CallOutput } from '../../../machines/mcp/tool-call.machine.ts';
import { createCalls } from '../../../runtime/mcp/calls.ts';
import { fakeWard } from '../../support/wards.ts';

const request = { profile: 'default', name: 'mcp__s__t', args: { a: 1 }, caller: 'cli' };
const output = (more: Partial<CallOutput> = {}): CallOutput => ({ fault: null, ...more }) as CallOutput;

function stage() {
  const ward = fakeWard<CallInput>();
  return { ward, calls: createCalls(ward.handle as never) };
}

t.test('CON-4 · a call is answered with its result once its chart has settled', async (t) => {
  const { ward, calls } = stage();
  const answer = calls.start(request);
  const [{ key, input } = { key: '', input: {} }] = ward.spawned;
  t.same(input, { id: key, profile: 'default', name: 'mcp__s__t', caller: 'cli' }, 'arguments lie in no context');
  const row = calls.get(key);
  t.same(row?.request.args, { a: 1 });
  if (row !== undefined) row.result = { content: [], isError: false };
  calls.settled(key, output());
  t.same(await answer, { kind: 'result', result: { content: [], isError: false } });
  t.equal(calls.get(key), undefined, 'and nothing of it is kept');
});

t.test('CON-4 · a fault is the answer, even where a result was there; a crash is an uncertain outcome', async (t) => {
  const { ward, calls } = stage();
  const fault = { code: 'timed_out', message: 'slow' } as const;
  const first = calls.start(request);
  calls.settled(ward.spawned[0]?.key ?? '', output({ fault }));
  t.same(await first, { kind: 'fault', fault });
  const second = calls.start(request);
  calls.crashed(ward.spawned[1]?.key ?? '');
  t.match(await second, { kind: 'fault', fault: { code: 'outcome_uncertain' } });
  calls.crashed('no such call');
});

t.test('LIF-3 · who gives a call up cancels it; one given up before it began is cancelled too', async (t) => {
  const { ward, calls } = stage();
  const stop = new AbortController();
  const answer = calls.start({ ...request, signal: stop.signal });
  t.same(ward.spawned[0]?.heard, []);
  stop.abort();
  t.same(ward.spawned[0]?.heard, [{ type: 'call.cancel' }]);
  calls.settled(ward.spawned[0]?.key ?? '', output({ fault: { code: 'cancelled', message: 'x' } }));
  t.match(await answer, { kind: 'fault', fault: { code: 'cancelled' } });

  void calls.start({ ...request, signal: AbortSignal.abort() });
  t.same(ward.spawned[1]?.heard, [{ type: 'call.cancel' }]);
});

t.test('INS-2 · what a run has under way is known by its key, until it has settled', (t) => {
  const { ward, calls } = stage();
  void calls.start({ ...request, run: 'r1' });
  void calls.start(request);
  const [mine] = ward.spawned;
  t.match(calls.ofRun('r1'), [{ id: mine?.key, tool: 'mcp__s__t' }]);
  const row = calls.get(mine?.key ?? '');
  if (row !== undefined) row.approval = 'a1';
  t.match(calls.ofRun('r1'), [{ approval: 'a1' }]);
  calls.settled(mine?.key ?? '', output());
  t.same([calls.ofRun('r1'), calls.ofRun('r2')], [[], []]);
  t.end();
});

t.test('SRV-1 · what a server asks belongs to the run whose call it works on, where it works on one alone', (t) => {
  const { ward, calls } = stage();
  for (const run of ['r1', 'r2']) void calls.start({ ...request, run });
  const [first, second] = ward.spawned.map(({ key }) => calls.get(key));
  t.equal(calls.runAt('default/s'), undefined, 'nothing was sent yet');
  if (first !== undefined) first.sentTo = 'default/s';
  t.equal(calls.runAt('default/s'), 'r1');
  t.equal(calls.runAt('default/other'), undefined);
  if (second !== undefined) second.sentTo = 'default/s';
  t.equal(calls.runAt('default/s'), undefined, 'either may be meant');
  t.end();
});

t.test('LIF-11 · two calls have two ids and two answers', async (t) => {
  const { ward, calls } = stage();
  const answers = [calls.start(request), calls.start(request)];
  const keys = ward.spawned.map(({ key }) => key);
  t.equal(new Set(keys).size, 2);
  for (const [index, key] of [...keys].reverse().entries())
    calls.settled(key, output({ fault: { code: 'rpc_error', message: String(index) } }));
  t.same(
    (await Promise.all(answers)).map((answer) => answer.kind === 'fault' && answer.fault.message),
    ['1', '0'],
  );
});
