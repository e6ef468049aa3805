import t from 'tap';
import { type CallMemo, createCallMemory } from '../../../runtime/mcp/call-memory.ts';

const memo = (run: string, startedAtMs: number): CallMemo => ({
  id: `${run}-${startedAtMs}`,
  run,
  caller: 'run',
  profile: 'default',
  tool: 'mcp__s__t',
  server: 's',
  outcome: 'result',
  isError: false,
  startedAtMs,
  endedAtMs: startedAtMs + 1,
  tries: 1,
  args: '{}',
});

t.test('INS-2 · the calls of a run are listed in the order in which they began, and no other’s', (t) => {
  const memory = createCallMemory();
  for (const each of [memo('a', 2), memo('b', 1), memo('a', 1)]) memory.keep(each);
  t.same(
    memory.ofRun('a').map(({ startedAtMs }) => startedAtMs),
    [1, 2],
  );
  t.same(memory.ofRun('c'), []);
  t.end();
});

t.test('INS-4 · LIF-12 · the calls of a removed server are dropped; those of runs stay in their timelines', (t) => {
  const memory = createCallMemory();
  for (const server of ['s', 'other']) memory.keep({ ...memo('a', 1), server });
  memory.forget('work', 's');
  t.equal(memory.ofServer('default', 's').length, 1, 'of another profile');
  memory.forget('default', 's');
  t.same([memory.ofServer('default', 's'), memory.ofServer('default', 'other').length], [[], 1]);
  t.equal(memory.ofRun('a').length, 2);
  t.end();
});

t.test('INS-2 · the memory is bounded: the oldest goes first', (t) => {
  const memory = createCallMemory();
  for (let at = 0; at < 2_100; at += 1) memory.keep(memo('a', at));
  const kept = memory.ofRun('a');
  t.same([kept.length, kept[0]?.startedAtMs, kept.at(-1)?.startedAtMs], [2_000, 100, 2_099]);
  t.end();
});
