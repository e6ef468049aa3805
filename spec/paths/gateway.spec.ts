import t from 'tap';
import { createActor, fromPromise, fromTransition, setup } from 'xstate';
import type { logicPlaceholder } from '../../machines/base/declare.ts';
import {
  type GatewayContext,
  type GatewayEvent,
  type GatewayFact,
  gatewayMachine,
} from '../../machines/webhook/gateway.machine.ts';

const pool = fromTransition((state: undefined) => state, undefined) as unknown as ReturnType<typeof logicPlaceholder>;

/** The gateway under a parent that writes down what it is told; promises are settled by hand. */
function makeGateway(move: GatewayContext = { url: 'http://a:2', fault: null }) {
  const steps: string[] = [];
  let closed = (): void => {};
  const gateway = gatewayMachine.provide({
    actors: {
      requests: pool,
      groups: pool,
      runs: pool,
      deliveries: pool,
      platforms: pool,
      cronJobs: pool,
      openHttpServer: fromPromise<GatewayContext, undefined>(() => Promise.resolve({ url: 'http://a:1', fault: null })),
      moveHttpServer: fromPromise<GatewayContext, undefined>(() => Promise.resolve(move)),
      closeHttpServer: fromPromise<undefined, undefined>(() => {
        steps.push('close');
        return new Promise((resolve) => {
          closed = () => resolve(undefined);
        });
      }),
      finishWork: fromPromise<undefined, undefined>(() => {
        steps.push('finish');
        return Promise.resolve(undefined);
      }),
    },
    actions: {
      flushGroups: () => steps.push('flush'),
      settleGroups: () => steps.push('settle'),
      retireHttpServer: () => steps.push('retire'),
      startSchedule: () => steps.push('start'),
      stopSchedule: () => steps.push('stop'),
    },
  });
  const facts: GatewayFact[] = [];
  const parent = createActor(
    setup({ types: { events: {} as GatewayFact }, actors: { gateway } }).createMachine({
      invoke: { id: 'gateway', src: 'gateway', systemId: 'gateway' },
      on: { '*': { actions: ({ event }) => void facts.push(event) } },
    }),
  );
  parent.start();
  const child = parent.system.get('gateway');
  return {
    steps,
    facts,
    report: (event: GatewayEvent): void => child.send(event),
    settled: async (): Promise<unknown> => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return child.getSnapshot().value;
    },
    context: () => child.getSnapshot().context,
    close: () => closed(),
  };
}

t.test('COA-1 · CON-2 · a drain flushes batches at once, and again once the HTTP server has closed', async (t) => {
  const { steps, report, settled, close } = makeGateway();
  report({ type: 'gateway.open', enabled: true, fault: null });
  t.equal(await settled(), 'listening');
  report({ type: 'gateway.drain' });
  t.equal(await settled(), 'draining');
  t.same(steps, ['start', 'stop', 'flush', 'close'], 'before the last answer has left');
  close();
  t.equal(await settled(), 'drained');
  t.same(steps.slice(-2), ['flush', 'finish']);
});

t.test(
  'CRN-1 · cron jobs are fired once the gateway stands, with or without its HTTP server, and not in a drain',
  async (t) => {
    for (const enabled of [true, false]) {
      const { steps, report, settled } = makeGateway();
      await settled();
      t.same(steps, [], 'not while the work of the journal is taken up');
      report({ type: 'gateway.open', enabled, fault: null });
      await settled();
      t.same(steps, ['start']);
    }
    const { steps, report, settled } = makeGateway();
    report({ type: 'gateway.drain' });
    await settled();
    t.same(steps, ['stop', 'flush', 'close']);
  },
);

t.test('CFG-2 · a reload is answered by what came of the move', async (t) => {
  const rows: readonly (readonly [GatewayContext, string, GatewayFact, readonly string[]])[] = [
    [{ url: 'http://a:2', fault: null }, 'listening', { type: 'gateway.opened', url: 'http://a:2' }, ['settle']],
    [{ url: 'http://a:1', fault: 'taken' }, 'listening', { type: 'gateway.refused', fault: 'taken' }, []],
    [{ url: null, fault: 'gone' }, 'closed', { type: 'gateway.refused', fault: 'gone' }, ['settle']],
  ];
  for (const [move, state, fact, steps] of rows) {
    const gateway = makeGateway(move);
    gateway.report({ type: 'gateway.open', enabled: true, fault: null });
    await gateway.settled();
    gateway.report({ type: 'gateway.reopen', enabled: true, fault: null });
    t.equal(await gateway.settled(), state);
    t.same([gateway.facts.at(-1), gateway.context()], [fact, move]);
    t.same(gateway.steps.slice(1), steps, 'COA-1: batches end with their HTTP server');
  }
});

t.test('CFG-3 · a gateway whose routes are broken stays closed and says why', async (t) => {
  const { facts, report, settled, context, steps } = makeGateway();
  report({ type: 'gateway.open', enabled: true, fault: 'a finding' });
  t.equal(await settled(), 'closed');
  t.same(steps.splice(0), ['start'], 'jobs are fired all the same');
  t.same(facts, [{ type: 'gateway.opened', url: null }]);
  t.same(context(), { url: null, fault: 'a finding' });
  report({ type: 'gateway.reopen', enabled: true, fault: 'still' });
  await settled();
  t.same(facts.at(-1), { type: 'gateway.refused', fault: 'still' });
  report({ type: 'gateway.reopen', enabled: true, fault: null });
  t.equal(await settled(), 'listening');
  report({ type: 'gateway.reopen', enabled: false, fault: null });
  t.equal(await settled(), 'closed');
  t.same(
    [steps, context()],
    [['start', 'retire', 'settle'], { url: null, fault: null }],
    'COA-1: batches end with their HTTP server',
  );
});
