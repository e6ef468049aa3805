import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { createStartSlots } from '../../../runtime/mcp/start-slots.ts';

/** Slots with what has started, in its order, and how each gives its slot back. */
function slots(max: number, awaited: ReadonlySet<string> = new Set()) {
  const started: string[] = [];
  const leave = new Map<string, () => void>();
  const inner = createStartSlots(max, (key) => awaited.has(key));
  const enter = (key: string, signal = new AbortController().signal): Promise<void> =>
    inner.enter(key, signal).then((left) => {
      started.push(key);
      leave.set(key, left);
    });
  const left = async (key: string): Promise<void> => {
    leave.get(key)?.();
    await setImmediate();
  };
  return { started, enter, left };
}

t.test('LIF-15 · no more start at once than there are slots, in the order in which they came', async (t) => {
  const { started, enter, left } = slots(2);
  for (const key of ['a', 'b', 'c', 'd']) void enter(key);
  await setImmediate();
  t.same(started, ['a', 'b']);
  await left('b');
  t.same(started, ['a', 'b', 'c']);
  await left('a');
  t.same(started, ['a', 'b', 'c', 'd']);
});

t.test('LIF-15 · a server that a call waits for goes first, also where the call came later', async (t) => {
  const awaited = new Set<string>();
  const { started, enter, left } = slots(1, awaited);
  for (const key of ['a', 'b', 'c']) void enter(key);
  await setImmediate();
  awaited.add('c');
  await left('a');
  await left('c');
  t.same(started, ['a', 'c', 'b']);
});

t.test('LIF-15 · one that is stopped while it waits never starts, and takes no slot', async (t) => {
  const { started, enter, left } = slots(1);
  const stop = new AbortController();
  void enter('a');
  const stopped = enter('b', stop.signal);
  void enter('c');
  stop.abort(new Error('stopped'));
  await t.rejects(stopped, { message: 'stopped' });
  await t.rejects(enter('d', stop.signal), { message: 'stopped' });
  await left('a');
  t.same(started, ['a', 'c']);
});
