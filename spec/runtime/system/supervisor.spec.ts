import t, { type Test } from 'tap';
import { type AnyActorLogic, type AnyActorRef, createActor, createMachine, fromCallback } from 'xstate';
import type { LogLevel } from '../../../actors/ports.ts';
import { createKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { done, failed } from '../../../machines/base/fault.ts';
import { wireJournal, wireSupervisor } from '../../../runtime/system/supervisor.ts';
import { turn } from '../../support/turns.ts';

function part(saids: Map<string, (event: object) => void>, name: string): AnyActorLogic {
  return fromCallback(({ sendBack }) => {
    saids.set(name, sendBack as (event: object) => void);
  }) as unknown as AnyActorLogic;
}

async function stage(t: Test) {
  const says = new Map<string, (event: object) => void>();
  const steps: unknown[] = [];
  const root = createActor(
    wireSupervisor({
      journal: part(says, 'journal'),
      servers: part(says, 'servers'),
      gateway: part(says, 'gateway'),
      resumeWork: async () => {},
      reload: part(says, 'reload'),
      reloadEnded: (outcome) => void steps.push(['ended', outcome]),
      refuseReloads: (why) => void steps.push(['refused', why]),
      abandonWork: () => void steps.push('abandoned'),
      steadyMs: () => 5,
      random: () => 0,
      log: { log: (level, message) => void steps.push([level, message]), warnOnce: () => {} },
    }),
    { input: { listens: true, blocked: null } },
  );
  t.teardown(() => root.stop());
  root.start();
  says.get('journal')?.({ type: 'journal.ready' });
  await turn();
  says.get('gateway')?.({ type: 'gateway.opened', url: 'http://a:1' });
  t.same(root.getSnapshot().value, { up: 'running' });
  const gateway: AnyActorRef = root.system.get('gateway');
  return { root, gateway, says, steps };
}

t.test('CFG-2 · who asked for a reload is answered with its outcome', async (t) => {
  const one = await stage(t);
  one.root.send({ type: 'config.reload' });
  const outcome = { inForce: false, hasFindings: false, fault: 'cannot bind' };
  one.root.send({ type: `xstate.done.actor.reload`, output: outcome } as never);
  t.same(one.steps, [['ended', outcome]]);
  one.root.send({ type: 'config.reload' });
  one.root.send({ type: `xstate.error.actor.reload`, error: new Error('boom') } as never);
  t.match(one.steps[1], ['ended', { inForce: false, fault: 'the reload crashed: boom' }]);
});

t.test('INS-1 · CFG-2 · a gateway that crashes leaves nothing behind, and a reload under way is refused', async (t) => {
  const one = await stage(t);
  one.root.send({ type: 'config.reload' });
  one.root.send({ type: `xstate.error.actor.${one.gateway.id}`, error: new Error('boom') } as never);
  await turn();
  t.same(one.steps, [['error', 'gateway crashed: boom'], 'abandoned', ['refused', 'gateway crashed: boom']]);
  t.match(one.root.getSnapshot(), { value: 'restarting', context: { budget: { spentAtMs: [5] } } });
});

t.test('DUR-1 · the journal’s chart opens the real keeper, and says why it cannot', async (t) => {
  const lines: [LogLevel, string, unknown][] = [];
  let broken = true;
  const keeper = createKeeper({
    open: async () => (broken ? failed('journal-full', 'journal: no room') : done(openMemoryJournal())),
    owner: 'o',
    sessionTtlMs: 60_000,
    refused: () => {},
  });
  const logic = wireJournal({
    keeper,
    log: { log: (level, message, fields) => void lines.push([level, message, fields]), warnOnce: () => {} },
    history: () => ({ keepAfterKey: '', maxBytes: 1 }),
  });
  const start = async () => {
    const parent = createActor(createMachine({ invoke: { src: logic, systemId: 'journal' } })).start();
    t.teardown(() => parent.stop());
    for (let turns = 0; turns < 5; turns += 1) await turn();
    return parent.system.get('journal')?.getSnapshot().value;
  };
  t.equal(await start(), 'unavailable');
  t.same(lines, [
    [
      'error',
      'journal unavailable; requests are answered 503 until it can write: journal: no room [journal-full]',
      { tries: 1 },
    ],
  ]);
  t.equal(await start(), 'unavailable');
  t.equal(lines.length, 1, 'the same reason is not repeated at each try');
  broken = false;
  t.equal(await start(), 'ready');
  t.ok(keeper.session());
  t.equal(lines.length, 1, 'a journal that opens at once says nothing');
});
