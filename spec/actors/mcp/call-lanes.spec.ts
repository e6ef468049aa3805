import t from 'tap';
import { createCallLanes } from '../../../actors/mcp/call-lanes.ts';
import { deferred, turn } from '../../support/turns.ts';

const never = (): AbortSignal => new AbortController().signal;

/** Work that waits to be released, and writes down when it began. */
function work(began: string[], name: string) {
  const gate = deferred<string>();
  return {
    run: () => {
      began.push(name);
      return gate.promise;
    },
    release: () => gate.resolve(name),
    fail: () => gate.reject(new Error(name)),
  };
}

t.test('LIF-11 · calls of one server run one after another, in their order', async (t) => {
  const lanes = createCallLanes();
  const began: string[] = [];
  const [one, two, other] = [work(began, 'one'), work(began, 'two'), work(began, 'other')];
  const calls = [
    lanes.run('s', false, one.run, never()),
    lanes.run('s', false, two.run, never()),
    lanes.run('t', false, other.run, never()),
  ];
  await turn();
  t.same([began, lanes.waiting('s')], [['one', 'other'], 1], 'another server does not wait');
  one.release();
  await calls[0];
  await turn();
  t.same([began, lanes.waiting('s')], [['one', 'other', 'two'], 0]);
  two.release();
  other.release();
  t.same(await Promise.all(calls), ['one', 'two', 'other']);
});

t.test('LIF-11 · a server that takes parallel calls gets them at once', async (t) => {
  const lanes = createCallLanes();
  const began: string[] = [];
  const [one, two] = [work(began, 'one'), work(began, 'two')];
  const calls = [lanes.run('s', true, one.run, never()), lanes.run('s', true, two.run, never())];
  t.same(began, ['one', 'two']);
  two.release();
  one.release();
  await Promise.all(calls);
});

t.test(
  'LIF-11 · a call that fails gives its turn on, and one that is cancelled while it waits never begins',
  async (t) => {
    const lanes = createCallLanes();
    const began: string[] = [];
    const [one, two, three] = [work(began, 'one'), work(began, 'two'), work(began, 'three')];
    const stop = new AbortController();
    const first = lanes.run('s', false, one.run, never());
    const second = lanes.run('s', false, two.run, stop.signal);
    const third = lanes.run('s', false, three.run, never());
    second.catch(() => {});
    stop.abort(new Error('given up'));
    await t.rejects(second, { message: 'given up' });
    one.fail();
    await t.rejects(first, { message: 'one' });
    three.release();
    t.equal(await third, 'three');
    t.same(began, ['one', 'three']);
  },
);
