import t from 'tap';
import { assign, setup } from 'xstate';
import { createSettled } from '../../../runtime/mcp/settled.ts';
import { startPool } from '../../support/pools.ts';

const never = new AbortController().signal;

/** Only what is looked at: whose it is, where it stands, how many tools it has. */
const connection = setup({
  types: {
    input: {} as { readonly profile: string; readonly tools: number },
    context: {} as { readonly profile: string; readonly tools: number },
    events: {} as { readonly type: 'be.connected' } | { readonly type: 'be.failed' } | { readonly type: 'be.stirred' },
  },
}).createMachine({
  context: ({ input }) => input,
  initial: 'connecting',
  states: {
    connecting: {
      on: {
        'be.connected': 'connected',
        'be.failed': 'failed',
        'be.stirred': { actions: assign({ profile: 'default' }) },
      },
    },
    connected: {},
    failed: { type: 'final' },
  },
});

t.test('DIS-3 · a server on its first way is waited for, however that ends', async (t) => {
  const pool = startPool(t, connection);
  const settled = createSettled(pool as never);
  const one = pool().spawn('one', { profile: 'default', tools: 0 });
  const two = pool().spawn('two', { profile: 'default', tools: 0 });
  pool().spawn('other', { profile: 'work', tools: 0 });
  pool().spawn('known', { profile: 'default', tools: 3 });
  let isOver = false;
  const waiting = settled('default', 60_000, never).then(() => {
    isOver = true;
  });
  one?.send({ type: 'be.stirred' });
  one?.send({ type: 'be.connected' });
  await Promise.resolve();
  t.equal(isOver, false);
  two?.send({ type: 'be.failed' });
  await waiting;
  await settled('default', 60_000, never);
});

t.test('DIS-3 · the wait is bounded, and ends with the run', async (t) => {
  const pool = startPool(t, connection);
  const settled = createSettled(pool as never);
  pool().spawn('one', { profile: 'default', tools: 0 });
  await settled('default', 10, never);
  const stop = new AbortController();
  const waiting = settled('default', 60_000, stop.signal);
  stop.abort();
  await waiting;
  await settled('default', 60_000, stop.signal);
});
