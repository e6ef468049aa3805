import t, { type Test } from 'tap';
import { type AnyStateNode, createActor, fromPromise, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import {
  agentRunMachine,
  type RunContext,
  type RunEvent,
  type RunResult,
} from '../../../machines/webhook/agent-run.machine.ts';
import type { RunRecord } from '../../../machines/webhook/record.ts';
import { plainRun } from '../../support/records.ts';
import { deferred, turn } from '../../support/turns.ts';

const granted: RunEvent = { type: 'place.granted', atMs: 7 };
const grantedAgain: RunEvent = { type: 'place.granted', atMs: 70_007 };
const written: RunEvent = { type: 'journal.written' };
const full: RunEvent = { type: 'journal.refused', reason: 'full' };
const cancel: RunEvent = { type: 'run.cancel', by: 'me' };
const spending = { steps: 2, inputTokens: 20, outputTokens: 10 };

/** A run by the spec's clock; what it asks for is written down, and its agent ends when the spec says so. */
function run(t: Test, change: Partial<RunRecord> = {}) {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const agent = deferred<RunResult>();
  const stopped = deferred<RunResult>();
  const machine = agentRunMachine.provide({
    actors: {
      runAgent: fromPromise<RunResult, RunContext>(({ input, signal }) => {
        told.push(`prompt ${input.record.attempt}`);
        signal.addEventListener('abort', () => told.push('stop'));
        return agent.promise;
      }),
      awaitStopped: fromPromise<RunResult, RunContext>(() => stopped.promise),
    },
    actions: {
      awaitPlace: () => void told.push('ask'),
      leavePlace: () => void told.push('leave'),
      writeRun: ({ context }) => void told.push(`write ${context.record.status}`),
      openDelivery: () => void told.push('deliver'),
      openResponses: () => void told.push('responses'),
      openNotice: () => void told.push('notice'),
      closeRun: ({ context }) => void told.push(`close ${context.record.status}`),
    },
  });
  const record = { ...plainRun, ...change };
  const actor = createActor(compile(machine), { input: { key: 'k', record }, clock }).start();
  t.teardown(() => actor.stop());
  const seen = () => actor.getSnapshot() as unknown as { value: string; context: RunContext };
  return {
    clock,
    async send(...events: readonly RunEvent[]): Promise<void> {
      for (const event of events) actor.send(event);
      await turn();
    },
    async answer(result: RunResult): Promise<void> {
      agent.resolve(result);
      await turn();
    },
    async crash(): Promise<void> {
      agent.reject(new Error('crashed'));
      await turn();
    },
    async end(result: RunResult): Promise<void> {
      stopped.resolve(result);
      await turn();
    },
    /** Since it was asked before. */
    told: () => told.splice(0),
    state: () => seen().value,
    record: () => seen().context.record,
  };
}

t.test('DUR-1 · DIS-3 · DIS-4 · each step is on disk before the next, from the place to the delivery', async (t) => {
  const one = run(t);
  t.same([one.state(), one.told()], ['queued', ['ask']]);
  await one.send(granted);
  t.same([one.state(), one.told()], ['starting', ['write running']], 'the agent has seen nothing');
  t.match(one.record(), { attempt: 1, startedAtMs: 7 });
  await one.send(written);
  t.same([one.state(), one.told()], ['running', ['prompt 1']]);
  await one.answer({ kind: 'responded', response: '', spending });
  t.same([one.state(), one.told()], ['recording', ['leave', 'write delivering']], 'its place is free, nothing is sent');
  t.match(one.record(), { response: '', ...spending });
  await one.send(written);
  t.same([one.state(), one.told()], ['delivering', ['deliver']]);
  await one.send({ type: 'delivery.settled', status: 'delivered' });
  t.same([one.state(), one.told()], ['closing', ['close delivered']]);
  await one.send(written);
  t.equal(one.state(), 'delivered');
});

t.test('DIS-3 · DLV-4 · a run ends as its agent or its delivery did', async (t) => {
  const failed = run(t);
  await failed.send(granted, written);
  await failed.answer({ kind: 'failed', reason: 'exit 3', spending });
  await failed.send(written);
  t.match([failed.state(), failed.record()], ['failed', { status: 'failed', reason: 'exit 3', ...spending }]);
  const done = failed.told();
  t.notOk(done.includes('deliver'));
  t.equal(done.at(-1), 'notice', 'once its end is on disk');

  const crashed = run(t);
  await crashed.send(granted, written);
  await crashed.crash();
  t.match(crashed.record(), { status: 'failed', reason: 'the runner crashed' });

  for (const [status, reason, state] of [
    ['failed', 'no such chat', 'failed'],
    ['unknown', undefined, 'failed'],
    ['delivering', undefined, 'handedOver'],
  ] as const) {
    const one = run(t, { status: 'delivering', response: 'said' });
    t.same(one.told(), ['deliver'], 'one whose response is known only delivers it');
    await one.send({ type: 'delivery.settled', status, ...(reason === undefined ? {} : { reason }) }, written);
    t.match([one.state(), one.record()], [state, { status, reason }]);
  }
  const interrupted = run(t, { status: 'interrupted', attempt: 2 });
  t.same(interrupted.told(), ['close interrupted'], 'one that is interrupted for good is closed, and runs nothing');
  await interrupted.send(written);
  t.equal(interrupted.told().at(-1), 'notice');
});

t.test('DIS-3 · a cancel ends a run wherever it has not answered, and nothing is delivered', async (t) => {
  const queued = run(t);
  await queued.send(cancel);
  t.same(queued.told(), ['ask', 'leave', 'write cancelled']);
  await queued.send(written);
  t.match([queued.state(), queued.record()], ['cancelled', { reason: 'cancelled by me', attempt: 0 }]);

  const starting = run(t);
  await starting.send(granted, cancel);
  t.equal(starting.state(), 'starting', 'what is being written is awaited');
  await starting.send(written, written);
  t.match([starting.state(), starting.record()], ['cancelled', { attempt: 0 }]);
  t.notOk(
    starting.told().some((step) => step.startsWith('prompt')),
    'the agent never saw it',
  );

  const running = run(t);
  await running.send(granted, written, cancel);
  t.equal(running.state(), 'cancelling');
  t.ok(running.told().includes('stop'));
  t.notOk(running.told().includes('leave'), 'what it began has not ended');
  await running.end({ kind: 'failed', reason: 'stopped', spending });
  t.same([running.state(), running.told()], ['recording', ['leave', 'write cancelled']]);
  t.match(running.record(), { status: 'cancelled', ...spending }, 'what it took is kept');

  const deaf = run(t);
  await deaf.send(granted, written, cancel);
  deaf.clock.increment(14_999);
  t.equal(deaf.state(), 'cancelling');
  deaf.clock.increment(1);
  t.match([deaf.state(), deaf.record()], ['recording', { status: 'cancelled', reason: 'cancelled by me' }]);

  const answered = run(t);
  await answered.send(granted, written);
  await answered.answer({ kind: 'responded', response: 'said' });
  await answered.send(cancel, written, cancel);
  t.match([answered.state(), answered.record().status], ['delivering', 'delivering'], 'it is not called back');
});

t.test('SCA-2 · a run that another gateway took over is stopped, and nothing is written of it', async (t) => {
  const lost = { type: 'work.lost' } as const;
  const running = run(t);
  await running.send(granted, written, lost, cancel);
  t.equal(running.state(), 'stopping');
  t.ok(running.told().includes('stop'));
  await running.end({ kind: 'failed', reason: 'stopped', spending });
  t.same([running.state(), running.told()], ['lost', ['leave']]);

  const deaf = run(t);
  await deaf.send(granted, written, lost);
  deaf.clock.increment(15_000);
  t.equal(deaf.state(), 'lost');

  // It was noticed at the hand-over, which stopped the agent.
  const late = run(t);
  await late.send(granted, written);
  await late.answer({ kind: 'failed', reason: 'the agent command was stopped' });
  await late.send(lost);
  t.match([late.state(), late.record()], ['lost', { status: 'running', reason: undefined }], 'it has not failed');
});

t.test('DUR-1 · DUR-2 · while the journal cannot write, no agent is started and no outcome is lost', async (t) => {
  const one = run(t);
  await one.send(granted, full);
  t.same([one.state(), one.told()], ['postponed', ['ask', 'write running']], 'it keeps its place');
  t.match(one.record(), { status: 'queued', attempt: 0, startedAtMs: undefined });
  one.clock.increment(1_000);
  t.same([one.state(), one.told()], ['queued', ['ask']], 'a drain may have begun');
  await one.send(grantedAgain);
  t.same([one.state(), one.told()], ['starting', ['write running']]);
  t.match(one.record(), { attempt: 1, startedAtMs: 70_007 }, 'still the first attempt');
  await one.send(written);
  await one.answer({ kind: 'responded', response: 'said' });
  for (const [waits, again] of [
    ['unrecorded', 'recording'],
    ['unclosed', 'closing'],
  ] as const) {
    await one.send(full);
    t.equal(one.state(), waits);
    one.clock.increment(1_000);
    t.equal(one.state(), again);
    await one.send(written);
    if (again === 'recording') await one.send({ type: 'delivery.settled', status: 'delivered' });
  }
  t.match([one.state(), one.record().response], ['delivered', 'said']);
  t.equal(one.told().filter((step) => step === 'deliver').length, 1);

  const given = run(t);
  await given.send(granted, full, cancel);
  t.match([given.state(), given.record()], ['recording', { status: 'cancelled', attempt: 0 }]);
  await given.send(written);
  t.equal(given.state(), 'cancelled', 'a cancel that came meanwhile holds');

  const noted = run(t);
  await noted.send(granted, cancel, full);
  t.same([noted.state(), noted.told().at(-1)], ['recording', 'write cancelled']);
});

t.test('DUR-2 · a response that arrives before the run is closed closes it as delivered', async (t) => {
  const again: RunEvent = { type: 'delivery.settled', status: 'delivering', reason: 'HTTP 500' };
  const arrived: RunEvent = { type: 'delivery.settled', status: 'delivered' };
  const handedOver = async () => {
    const one = run(t, { status: 'delivering', response: 'said' });
    await one.send(again);
    t.same([one.state(), one.told()], ['closing', ['deliver', 'close delivering']]);
    t.match(one.record(), { reason: 'HTTP 500' });
    return one;
  };
  const refused = await handedOver();
  await refused.send(full, again, arrived);
  t.equal(refused.state(), 'unclosed');
  refused.clock.increment(1_000);
  t.same([refused.state(), refused.told()], ['closing', ['close delivered']]);
  await refused.send(arrived, written);
  t.same([refused.state(), refused.told()], ['delivered', []]);
  t.notOk('reason' in refused.record(), 'why an earlier try failed is over');

  const underWay = await handedOver();
  await underWay.send(arrived);
  t.same([underWay.state(), underWay.told()], ['closing', []]);
  await underWay.send(written);
  t.same([underWay.state(), underWay.told()], ['closing', ['close delivered']], 'what was written was not that');
  await underWay.send(written);
  t.equal(underWay.state(), 'delivered');
});

t.test('DUR-1 · what another gateway has taken over is let go of, and gives its place back', async (t) => {
  const lost: RunEvent = { type: 'work.lost' };
  const starting = run(t);
  await starting.send(granted, lost);
  t.same([starting.state(), starting.told().at(-1)], ['lost', 'leave']);
  const recording = run(t);
  await recording.send(granted, written);
  await recording.answer({ kind: 'responded', response: 'said' });
  await recording.send(lost);
  t.equal(recording.state(), 'lost');
  t.notOk(recording.told().includes('deliver'), 'the other one delivers it');
  const closing = run(t, { status: 'interrupted' });
  await closing.send(lost);
  t.equal(closing.state(), 'lost');
});

t.test('LIM-5 · a run that could not be started keeps its place and begins later, after growing pauses', async (t) => {
  const unbegun = { kind: 'notBegun', reason: 'EMFILE' } as const;
  const one = run(t);
  await one.send(granted, written);
  one.told();
  await one.answer(unbegun);
  t.same([one.state(), one.told()], ['settingBack', ['write queued']], 'it keeps its place');
  t.match(one.record(), { status: 'queued', attempt: 0, reason: 'EMFILE', startedAtMs: undefined });
  for (let pauseMs = 1_000, tries = 1; tries <= 35; pauseMs = Math.min(60_000, 2 * pauseMs), tries += 1) {
    await one.send(written);
    t.equal(one.state(), 'unbegun');
    one.clock.increment(pauseMs - 1);
    t.equal(one.state(), 'unbegun');
    one.clock.increment(1);
    t.equal(one.state(), 'queued', 'a drain may have begun');
    await one.send(grantedAgain);
    const begun = { status: 'running', attempt: 1, reason: undefined, startedAtMs: 70_007 };
    t.match([one.state(), one.record()], ['starting', begun], 'the pauses are not part of what it took');
    await one.send(written);
  }
  t.equal(one.state(), 'recording');
  t.match(one.record(), { status: 'failed', reason: 'EMFILE', attempt: 0 }, 'no attempt counts');
  t.notOk('startedAtMs' in one.record(), 'it never began');
});

t.test('LIM-5 · a run that waits to be started is cancelled at once, and written by no other gateway', async (t) => {
  const unbegun = { kind: 'notBegun', reason: 'EMFILE' } as const;
  for (const [events, state] of [
    [[written, cancel], 'recording'],
    [[cancel, written], 'recording'],
    [[cancel, full], 'recording'],
    [[full], 'unbegun'],
    [[{ type: 'work.lost' }], 'lost'],
  ] as const) {
    const one = run(t);
    await one.send(granted, written);
    await one.answer(unbegun);
    await one.send(...events);
    t.equal(one.state(), state);
    if (state === 'recording') t.equal(one.record().status, 'cancelled');
  }
});

t.test('DIS-3 · INS-4 · exactly the states from the grant of a place until it is left are counted as running', (t) => {
  const leavesPlace = (actions: readonly unknown[] = []): boolean =>
    actions.some((one) => one === 'leavePlace' || (one as { readonly type?: string }).type === 'leavePlace');
  const held = new Set<string>();
  const look = (node: AnyStateNode): void => {
    if (held.has(node.key) || node.key === 'queued' || leavesPlace(node.entry)) return;
    held.add(node.key);
    for (const { actions, target = [] } of [...node.transitions.values()].flat())
      if (!leavesPlace(actions)) for (const next of target) look(next);
  };
  for (const { target = [] } of agentRunMachine.root.states.queued?.transitions.get('place.granted') ?? [])
    for (const next of target) look(next);
  const tagged = Object.values(agentRunMachine.states).filter(({ tags }) => tags.includes('holdsSlot'));
  t.ok(held.has('running'));
  t.same(tagged.map(({ key }) => key).sort(), [...held].sort());
  t.end();
});
