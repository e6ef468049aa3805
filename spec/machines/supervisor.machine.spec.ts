import t, { type Test } from 'tap';
import { type AnyActorRef, createActor, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import type { logicPlaceholder } from '../../machines/base/declare.ts';
import { crashRestarts } from '../../machines/base/restart.ts';
import {
  type ListenerPlan,
  type ReadVerdict,
  type ReloadInput,
  type ReloadOutcome,
  reloadMachine,
} from '../../machines/reload.machine.ts';
import { type SupervisorInput, supervisorMachine } from '../../machines/supervisor.machine.ts';
import { turn } from '../support/turns.ts';

type Logic = ReturnType<typeof logicPlaceholder>;

/** A part that writes down when it starts, what it hears and when it is stopped; what it says is said by the spec. */
function part(name: string, steps: string[], refs: Map<string, (event: { type: string }) => void>): Logic {
  return fromCallback<{ type: string }>(({ sendBack, receive }) => {
    steps.push(`${name} starts`);
    refs.set(name, sendBack as (event: { type: string }) => void);
    receive(({ type }) => steps.push(`${name} hears ${type}`));
    return () => steps.push(`${name} stops`);
  }) as unknown as Logic;
}

type Staged = ReturnType<typeof stage>;

function stage(t: Test, input: Partial<SupervisorInput> = {}, plan?: ListenerPlan) {
  const steps: string[] = [];
  const refs = new Map<string, (event: { type: string }) => void>();
  const clock = new SimulatedClock();
  let atMs = 0;
  let crashes = 0;
  const root = createActor(
    supervisorMachine.provide({
      actors: {
        journal: part('journal', steps, refs),
        servers: part('servers', steps, refs),
        gateway: part('gateway', steps, refs),
        resumeWork: fromPromise<undefined, undefined>(async () => void steps.push('work resumed')),
        reload: reloadMachine.provide({
          actors: {
            readHome: fromPromise<ReadVerdict, ReloadInput>(async () => {
              steps.push('home read');
              return plan === undefined ? { plan: null, fault: 'findings' } : { plan, fault: null };
            }),
            adoptHome: fromPromise<undefined, undefined>(async () => void steps.push('home adopted')),
          },
        }) as unknown as ReturnType<typeof logicPlaceholder<ReloadOutcome, ReloadInput>>,
      },
      actions: {
        reportCrash: ({ self }) => {
          crashes += 1;
          self.send({ type: 'crash.reported', fault: `crash ${crashes}`, atMs, jitter: 0 });
        },
        reportReload: (_, { inForce, fault }) => steps.push(`${inForce ? 'in force' : 'refused'}: ${fault}`),
        refuseReloads: () => steps.push('reloads refused'),
      },
    }),
    { clock, input: { listens: true, blocked: null, ...input } },
  );
  root.subscribe({ error: () => {} });
  t.teardown(() => root.stop());
  root.start();
  return {
    root,
    clock,
    /** What happened since the last look. */
    steps: () => steps.splice(0),
    says: async (name: string, event: { type: string; [field: string]: unknown }): Promise<void> => {
      refs.get(name)?.(event);
      await turn();
    },
    ends: async (name: string): Promise<void> => {
      const ref: AnyActorRef | undefined = root.system.get(name);
      root.send({ type: `xstate.done.actor.${ref?.id}`, output: undefined, actorId: ref?.id } as never);
      await turn();
    },
    crashes: async (name: string, atTime = 0): Promise<void> => {
      atMs = atTime;
      const ref: AnyActorRef | undefined = root.system.get(name);
      root.send({ type: `xstate.error.actor.${ref?.id}`, error: new Error('boom'), actorId: ref?.id } as never);
      await turn();
    },
    value: () => root.getSnapshot().value,
    context: () => root.getSnapshot().context,
  };
}

/** Up and running, with nothing of the way there left to look at. */
async function running(t: Test, input: Partial<SupervisorInput> = {}, plan?: ListenerPlan) {
  const one = stage(t, input, plan);
  await one.says('journal', { type: 'journal.ready' });
  await one.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
  t.same(one.value(), { up: 'running' });
  one.steps();
  return one;
}

t.test(
  'DUR-1 · CON-2 · start goes down: journal and servers, the work that is remembered, then the HTTP server',
  async (t) => {
    const one = stage(t);
    t.same(one.steps(), ['journal starts', 'servers starts']);
    t.same(one.value(), 'booting', 'nothing is resumed or opened before the journal is known');
    await one.says('journal', { type: 'journal.ready' });
    t.same(one.steps(), ['gateway starts', 'work resumed', 'gateway hears gateway.open']);
    t.same(one.value(), { up: 'opening' });
    await one.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
    t.same(one.value(), { up: 'running' });
  },
);

t.test('CON-2 · LIF-9 · stop goes up: the HTTP server and its work, then the servers, last the journal', async (t) => {
  const one = await running(t);
  one.root.send({ type: 'daemon.stop' });
  t.same(one.steps(), ['reloads refused', 'gateway hears gateway.drain']);
  t.same(one.value(), { up: 'draining' });
  await one.ends('gateway');
  t.same(one.steps(), ['gateway stops', 'servers hears servers.stop']);
  t.same(one.value(), 'closing');
  await one.ends('servers');
  t.match(one.root.getSnapshot(), { status: 'done', value: 'stopped', output: { fault: null } });
  t.same(one.steps(), ['journal stops', 'servers stops']);
});

t.test('LIF-9 · OAU-8 · servers that do not end are waited for thirty seconds and no longer', async (t) => {
  const one = await running(t);
  one.root.send({ type: 'daemon.stop' });
  await one.ends('gateway');
  one.clock.increment(29_999);
  t.equal(one.value(), 'closing');
  one.clock.increment(1);
  t.match(one.root.getSnapshot(), { status: 'done', value: 'stopped' });
});

t.test('CON-2 · a stop is obeyed in every state, and opens nothing on its way', async (t) => {
  const rows: readonly (readonly [string, () => Staged | Promise<Staged>, (one: Staged) => void])[] = [
    ['booting', () => stage(t), () => {}],
    ['resuming', () => stage(t), (one) => void one.says('journal', { type: 'journal.unavailable', fault: 'x' })],
    ['running', () => running(t), () => {}],
    ['reloading', () => running(t), (one) => one.root.send({ type: 'config.reload' })],
    ['recovering', () => running(t), (one) => void one.says('journal', { type: 'journal.ready' })],
    ['restarting', () => running(t), (one) => void one.crashes('gateway')],
  ];
  for (const [title, reach, act] of rows) {
    const one = await reach();
    act(one);
    t.match(JSON.stringify(one.value()), title);
    one.steps();
    one.root.send({ type: 'daemon.stop' });
    await turn();
    const told = one.steps();
    t.ok(
      told.includes('gateway hears gateway.drain') || told.includes('servers hears servers.stop'),
      `${title}: ${told.join()}`,
    );
    t.notOk(told.includes('gateway hears gateway.open'), title);
    one.clock.increment(60_000);
    if (told.includes('gateway hears gateway.drain')) await one.ends('gateway');
    one.clock.increment(60_000);
    t.match(one.root.getSnapshot(), { status: 'done', value: 'stopped' }, title);
  }
});

t.test('CON-2 · INS-1 · a gateway that crashes while it drains is not started again', async (t) => {
  const one = await running(t);
  one.root.send({ type: 'daemon.stop' });
  one.steps();
  await one.crashes('gateway');
  t.same([one.steps(), one.value()], [['gateway stops', 'servers hears servers.stop'], 'closing']);
  await one.ends('servers');
  t.match(one.root.getSnapshot(), { status: 'done', value: 'stopped', output: { fault: null } });
});

t.test('INS-1 · a gateway that crashes is started again, later each time, and takes its work up', async (t) => {
  const one = await running(t);
  const waits = [200, 400, 800, 1_600, 3_200];
  for (const [n, waitMs] of waits.entries()) {
    await one.crashes('gateway', n);
    t.same(one.value(), 'restarting');
    t.same(one.steps(), ['gateway stops'], 'journal and servers live on');
    one.clock.increment(waitMs - 1);
    t.same(one.value(), 'restarting', `${waitMs}`);
    one.clock.increment(1);
    await turn();
    t.same(one.steps(), ['gateway starts', 'work resumed', 'gateway hears gateway.open']);
    await one.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
    t.same(one.value(), { up: 'running' });
  }
  t.equal(waits.length, crashRestarts.intensity);
  await one.crashes('gateway', 59_999);
  t.match(one.root.getSnapshot(), { status: 'done', value: 'failed', output: { fault: 'crash 6' } }, 'and no loop');
});

t.test('INS-1 · crashes that are a minute old count no more', async (t) => {
  const one = await running(t);
  for (let n = 0; n < 20; n += 1) {
    await one.crashes('gateway', n * 15_000);
    t.same(one.value(), 'restarting');
    one.clock.increment(5_000);
    await turn();
    await one.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
  }
  t.same(one.value(), { up: 'running' });
});

t.test('CON-2 · an address that cannot be bound at start ends the daemon with the reason', async (t) => {
  const one = stage(t);
  await one.says('journal', { type: 'journal.ready' });
  await one.says('gateway', { type: 'gateway.refused', fault: 'cannot bind 127.0.0.1:1' });
  t.match(one.root.getSnapshot(), { status: 'done', output: { fault: 'cannot bind 127.0.0.1:1' } });
});

t.test('INS-1 · the servers’ half ends the daemon where it crashes, with the reason', async (t) => {
  const one = await running(t);
  await one.crashes('servers');
  t.match(one.root.getSnapshot(), { status: 'done', output: { fault: /servers' half crashed: boom/ } });
});

const stays: ListenerPlan = { listens: true, listenerChanged: false, blocked: null };
const moves: ListenerPlan = { ...stays, listenerChanged: true };

t.test(
  'CFG-2 · LIF-12 · a reload is in force once the servers are reconciled; one with findings does nothing',
  async (t) => {
    const good = await running(t, {}, stays);
    good.root.send({ type: 'config.reload' });
    await turn();
    t.same(good.steps(), ['home read', 'home adopted', 'servers hears servers.reconcile']);
    t.same(good.value(), { up: 'reloading' }, 'the servers go by the old configuration until they report');
    await good.says('servers', { type: 'servers.reconciled', fault: null });
    t.same([good.steps(), good.value()], [['in force: null'], { up: 'running' }]);

    const bad = await running(t);
    bad.root.send({ type: 'config.reload' });
    await turn();
    t.same(bad.steps(), ['home read', 'refused: findings']);
    t.match([bad.value(), bad.context()], [{ up: 'running' }, { refusal: 'findings' }]);
  },
);

t.test('ADP-1 · CFG-2 · a reload that moves the listener adopts nothing before the move has succeeded', async (t) => {
  const moved = await running(t, {}, moves);
  moved.root.send({ type: 'config.reload' });
  await turn();
  t.same(moved.steps(), ['home read', 'gateway hears gateway.reopen']);
  await moved.says('gateway', { type: 'gateway.opened', url: null });
  t.same(moved.steps(), ['home adopted', 'servers hears servers.reconcile']);
  await moved.says('servers', { type: 'servers.reconciled', fault: null });
  t.same(moved.steps(), ['in force: null']);
  t.match(moved.context(), { listens: false }, 'an HTTP server that was switched off is not opened by a restart');

  const stayed = await running(t, {}, moves);
  stayed.root.send({ type: 'config.reload' });
  await turn();
  await stayed.says('gateway', { type: 'gateway.refused', fault: 'taken' });
  t.same(stayed.steps(), ['home read', 'gateway hears gateway.reopen', 'refused: taken']);
  t.match([stayed.value(), stayed.context()], [{ up: 'running' }, { listens: true, fault: null, refusal: 'taken' }]);
});

t.test(
  'CFG-2 · a reload that is asked for while another is under way, or before the HTTP server stands, has its turn',
  async (t) => {
    const early = stage(t, {}, stays);
    await early.says('journal', { type: 'journal.ready' });
    early.root.send({ type: 'config.reload' });
    early.steps();
    await early.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
    t.same([early.steps()[0], early.value()], ['home read', { up: 'reloading' }]);
    early.root.send({ type: 'config.reload' });
    await early.says('servers', { type: 'servers.reconciled', fault: null });
    t.same(early.steps(), ['in force: null', 'home read', 'home adopted', 'servers hears servers.reconcile']);
    early.root.send({ type: 'daemon.stop' });
    t.notOk(early.root.getSnapshot().can({ type: 'config.reload' }), 'a gateway that stops takes none');
  },
);

t.test('CFG-2 · INS-1 · a crash of the gateway ends the reload under way, which is not forgotten', async (t) => {
  const one = await running(t, {}, moves);
  one.root.send({ type: 'config.reload' });
  await turn();
  await one.crashes('gateway');
  t.match(
    [one.value(), one.context()],
    ['restarting', { reloads: false, reloading: false, refusal: /crashed during a/ }],
  );
  one.clock.increment(200);
  await turn();
  await one.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
  one.root.send({ type: 'config.reload' });
  await turn();
  await one.says('gateway', { type: 'gateway.opened', url: 'http://a:2' });
  await one.says('servers', { type: 'servers.reconciled', fault: null });
  t.match(one.context(), { refusal: null });
});

t.test('DUR-1 · a journal that heals has its work taken up, whatever was under way when it did', async (t) => {
  const idle = await running(t);
  await idle.says('journal', { type: 'journal.ready' });
  t.same([idle.steps(), idle.value()], [['work resumed'], { up: 'running' }]);

  const late = stage(t);
  await late.says('journal', { type: 'journal.unavailable', fault: 'full' });
  t.same(late.value(), { up: 'opening' }, 'the HTTP server opens all the same, to answer 503');
  await late.says('journal', { type: 'journal.ready' });
  late.steps();
  await late.says('gateway', { type: 'gateway.opened', url: 'http://a:1' });
  t.same([late.steps(), late.value()], [['work resumed'], { up: 'running' }], 'while the HTTP server was opening');

  const moving = await running(t, {}, moves);
  moving.root.send({ type: 'config.reload' });
  await turn();
  await moving.says('journal', { type: 'journal.ready' });
  moving.steps();
  await moving.says('gateway', { type: 'gateway.opened', url: 'http://a:2' });
  await moving.says('servers', { type: 'servers.reconciled', fault: null });
  t.same(
    moving.steps(),
    ['home adopted', 'servers hears servers.reconcile', 'in force: null', 'work resumed'],
    'while the HTTP server moved',
  );
  t.match([moving.value(), moving.context()], [{ up: 'running' }, { recovers: false }], 'once');
});
