import t, { type Test } from 'tap';
import { type AnyActorLogic, type AnyActorRef, createActor, createMachine, fromCallback } from 'xstate';
import type { LogLevel } from '../../../actors/ports.ts';
import { createKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { done, failed } from '../../../machines/base/fault.ts';
import type { ReloadVerdict } from '../../../machines/supervisor.machine.ts';
import { Refusal } from '../../../runtime/control/refusal.ts';
import { wireJournal, wireSupervisor } from '../../../runtime/system/supervisor.ts';
import { turn } from '../../support/turns.ts';

function part(saids: Map<string, (event: object) => void>, name: string): AnyActorLogic {
  return fromCallback(({ sendBack }) => {
    saids.set(name, sendBack as (event: object) => void);
  }) as unknown as AnyActorLogic;
}

async function stage(t: Test, applyConfig: () => Promise<ReloadVerdict>) {
  const says = new Map<string, (event: object) => void>();
  const steps: unknown[] = [];
  const root = createActor(
    wireSupervisor({
      journal: part(says, 'journal'),
      servers: part(says, 'servers'),
      gateway: part(says, 'gateway'),
      resumeWork: async () => {},
      applyConfig,
      reloadEnded: (error) => void steps.push(['ended', error]),
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

const moves: ReloadVerdict = { listens: true, listenerChanged: true, blocked: null };

t.test('CFG-2 · whoever asked for a reload hears how it ended', async (t) => {
  const good = await stage(t, () => Promise.resolve({ ...moves, listenerChanged: false }));
  good.root.send({ type: 'config.reload' });
  await turn();
  t.same(good.steps, [['ended', undefined]]);

  const refusal = new Refusal('reload-refused', 'it has findings');
  const bad = await stage(t, () => Promise.reject(refusal));
  bad.root.send({ type: 'config.reload' });
  await turn();
  t.same(bad.steps, [
    ['error', 'reload: it has findings'],
    ['ended', refusal],
  ]);

  const stayed = await stage(t, () => Promise.resolve(moves));
  stayed.root.send({ type: 'config.reload' });
  await turn();
  stayed.says.get('gateway')?.({ type: 'gateway.refused', fault: 'cannot bind' });
  await turn();
  t.match(stayed.steps, [
    ['error', 'reload: cannot bind'],
    ['ended', { code: 'reload-refused', message: 'cannot bind' }],
  ]);
  t.equal(stayed.steps.length, 2);
});

t.test(
  'INS-1 · CFG-2 · a gateway that crashes leaves nothing behind, and a reload that waits on it hears of it',
  async (t) => {
    const one = await stage(t, () => Promise.resolve(moves));
    one.root.send({ type: 'config.reload' });
    await turn();
    one.root.send({ type: `xstate.error.actor.${one.gateway.id}`, error: new Error('boom') } as never);
    await turn();
    t.match(one.steps, [
      ['error', 'gateway crashed: boom'],
      'abandoned',
      ['ended', { code: 'internal-error', message: 'gateway crashed: boom' }],
    ]);
    t.equal(one.steps.length, 3);
    t.match(one.root.getSnapshot(), { value: 'restarting', context: { budget: { spentAtMs: [5] } } });
  },
);

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
  broken = false;
  t.equal(await start(), 'ready');
  t.ok(keeper.session());
  t.equal(lines.length, 1, 'a journal that opens at once says nothing');
});
