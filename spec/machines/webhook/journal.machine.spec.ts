import t, { type Test } from 'tap';
import { createActor, createMachine, fromPromise, SimulatedClock } from 'xstate';
import { heartbeatMs, journalMachine } from '../../../machines/webhook/journal.machine.ts';
import { turn } from '../../support/turns.ts';

/** The journal's health under a parent that hears its facts; what opening and keeping come to is said by the spec. */
async function stage(t: Test) {
  const facts: { readonly type: string; readonly fault?: string }[] = [];
  const asked: string[] = [];
  const reported: (readonly [string | null, number])[] = [];
  let mended = 0;
  const clock = new SimulatedClock();
  let fault: string | undefined;
  const effect = (name: string) =>
    fromPromise<undefined, undefined>(async () => {
      asked.push(name);
      if (fault !== undefined) throw new Error(fault);
      return undefined;
    });
  const journal = journalMachine.provide({
    actors: { openJournal: effect('open'), keepJournal: effect('keep') },
    actions: {
      reportFault: ({ context }) => void reported.push([context.fault, context.tries]),
      reportRestored: () => {
        mended += 1;
      },
    },
  });
  const parent = createActor(
    createMachine({
      invoke: { src: journal, systemId: 'journal' },
      on: { '*': { actions: ({ event }) => void facts.push(event as never) } },
    }),
    { clock },
  );
  t.teardown(() => parent.stop());
  return {
    facts,
    asked,
    reported,
    mended: () => mended,
    clock,
    breaks: (why: string) => {
      fault = why;
    },
    heals: () => {
      fault = undefined;
    },
    start: async () => {
      parent.start();
      await turn();
    },
    passes: async (ms: number) => {
      clock.increment(ms);
      await turn();
    },
    refuse: (why: string) => parent.system.get('journal')?.send({ type: 'journal.refused', fault: why }),
    cut: () => parent.system.get('journal')?.send({ type: 'journal.cut' }),
    state: () => parent.system.get('journal')?.getSnapshot().value,
    context: () => parent.system.get('journal')?.getSnapshot().context,
  };
}

t.test(
  'DUR-1 · a journal that opens is kept: its session renewed, its history pruned, three times a minute',
  async (t) => {
    const one = await stage(t);
    await one.start();
    t.same([one.state(), one.facts], ['ready', [{ type: 'journal.ready' }]]);
    await one.passes(heartbeatMs - 1);
    t.same(one.asked, ['open']);
    await one.passes(1);
    await one.passes(heartbeatMs);
    t.same(one.asked, ['open', 'keep', 'keep']);
    t.same([one.state(), one.facts.length, heartbeatMs], ['ready', 1, 20_000]);
    t.equal(one.mended(), 0, 'nothing was broken, so nothing is said to be mended');
  },
);

t.test(
  'DUR-1 · SCA-2 · one that does not open is reported at each try, and tried again within two seconds',
  async (t) => {
    const one = await stage(t);
    one.breaks('disk full');
    await one.start();
    t.same([one.state(), one.facts], ['unavailable', [{ type: 'journal.unavailable', fault: 'disk full' }]]);
    const waits = [1_000, 2_000, 2_000, 2_000, 2_000, 2_000];
    for (const [n, waitMs] of waits.entries()) {
      await one.passes(waitMs - 1);
      t.equal(one.asked.length, n + 1, `not before ${waitMs}`);
      await one.passes(1);
      t.equal(one.asked.length, n + 2);
    }
    t.same(
      one.reported,
      [1, 2, 3, 4, 5, 6, 7].map((tries) => ['disk full', tries]),
    );
    t.equal(one.mended(), 0);
    one.heals();
    await one.passes(2_000);
    t.equal(one.mended(), 1, 'who was told that it broke is told that it writes again');
    t.same(
      [one.state(), one.context(), one.facts.at(-1)],
      ['ready', { fault: null, tries: 0 }, { type: 'journal.ready' }],
    );
  },
);

t.test('DUR-1 · a refused commit makes it unavailable at once, also while it is being kept', async (t) => {
  const one = await stage(t);
  await one.start();
  one.refuse('read-only');
  t.same([one.state(), one.context()], ['unavailable', { fault: 'read-only', tries: 1 }]);
  await one.passes(1_000);
  t.equal(one.state(), 'ready');

  one.clock.increment(heartbeatMs);
  t.equal(one.state(), 'keeping');
  one.refuse('read-only');
  t.equal(one.state(), 'unavailable');
});

t.test('SCA-2 · a connection that has ended is replaced at once; until then the journal is not ready', async (t) => {
  const one = await stage(t);
  await one.start();
  one.cut();
  t.equal(one.state(), 'opening');
  await turn();
  t.same([one.state(), one.asked, one.reported], ['ready', ['open', 'open'], []]);
  one.clock.increment(heartbeatMs);
  one.breaks('away');
  one.cut();
  await turn();
  t.same([one.state(), one.reported], ['unavailable', [['away', 1]]]);
  one.cut();
  t.equal(one.state(), 'unavailable', 'it waits for its next try');
});

t.test('DUR-1 · a session that cannot be renewed is begun anew', async (t) => {
  const one = await stage(t);
  await one.start();
  one.breaks('session ended');
  await one.passes(heartbeatMs);
  t.same([one.state(), one.context()], ['unavailable', { fault: 'session ended', tries: 1 }]);
  one.heals();
  await one.passes(1_000);
  t.same(one.asked, ['open', 'keep', 'open']);
  t.equal(one.state(), 'ready');
});
