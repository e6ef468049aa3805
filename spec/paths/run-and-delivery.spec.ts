import t from 'tap';
import { type AnyStateMachine, type EventObject, fromPromise } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { type Attempt, defaultRetries } from '../../machines/dispatch/next-try.ts';
import { refused, type SendOutcome, transient, unknownOutcome } from '../../machines/dispatch/send-outcome.ts';
import { agentRunMachine } from '../../machines/webhook/agent-run.machine.ts';
import { deliveryMachine } from '../../machines/webhook/delivery.machine.ts';
import { type DeliveryRecord, isOver, type RunRecord } from '../../machines/webhook/record.ts';
import { plainDelivery, plainRun } from '../support/records.ts';

const idle = fromPromise<never, never>(() => new Promise<never>(() => {})) as never;
const run = plainRun;
const delivery: DeliveryRecord = { ...plainDelivery, target: 'log', answerByMs: 60_000 };

const shared: readonly EventObject[] = [
  { type: 'journal.written' },
  { type: 'journal.refused', reason: 'full' } as EventObject,
  { type: 'work.lost' },
];

function pathsOf(machine: AnyStateMachine, input: object, events: readonly EventObject[]) {
  return getShortestPaths(machine, {
    input,
    events: [...shared, ...events],
    limit: 5_000,
    // How often a run could not begin only sets the length of its pause.
    serializeState: (state: { value: unknown; context: object }) =>
      JSON.stringify([state.value, { ...state.context, unbegun: 0 }]),
  } as never);
}

t.test('DUR-1 · DIS-3 · a run is on disk before the agent runs, and its response before it is delivered', (t) => {
  const machine = agentRunMachine.provide({
    actors: { runAgent: idle, awaitStopped: idle },
    actions: {
      awaitPlace: () => {},
      leavePlace: () => {},
      writeRun: () => {},
      openDelivery: () => {},
      closeRun: () => {},
      openNotice: () => {},
    },
  });
  const paths = pathsOf(machine as unknown as AnyStateMachine, { key: 'k', record: run }, [
    { type: 'place.granted', atMs: 1 } as EventObject,
    { type: 'xstate.done.actor.runAgent', output: { kind: 'responded', response: '' } } as EventObject,
    { type: 'xstate.done.actor.runAgent', output: { kind: 'failed', reason: 'x' } } as EventObject,
    { type: 'xstate.done.actor.runAgent', output: { kind: 'notBegun', reason: 'EMFILE' } } as EventObject,
    { type: 'xstate.after.pause.agentRun.unbegun' },
    { type: 'xstate.done.actor.awaitStopped', output: { kind: 'failed', reason: 'stopped' } } as EventObject,
    { type: 'xstate.after.stopPatience.agentRun.cancelling' },
    { type: 'xstate.after.stopPatience.agentRun.stopping' },
    { type: 'run.cancel', by: 'cli' } as EventObject,
    { type: 'delivery.settled', status: 'delivered' } as EventObject,
    { type: 'delivery.settled', status: 'unknown' } as EventObject,
    { type: 'delivery.settled', status: 'delivering' } as EventObject,
    ...['postponed', 'unrecorded', 'unclosed'].map((state) => ({
      type: `xstate.after.retryJournal.agentRun.${state}`,
    })),
  ]);
  const reached = new Set(paths.map(({ state }) => String(state.value)));
  for (const state of Object.keys(agentRunMachine.config.states ?? {}))
    if (state !== 'resuming') t.ok(reached.has(state), `${state} is reached`);
  for (const { state, steps } of paths) {
    const told = steps.map(({ event }) => event.type);
    const record = (state as unknown as { context: { record: RunRecord } }).context.record;
    if (state.value === 'running') t.equal(told.at(-1), 'journal.written', told.join());
    if (state.value === 'delivering')
      t.equal(told.filter((type) => type === 'journal.written').length >= 2, true, told.join());
    if (state.value === 'delivered') t.equal(record.status, 'delivered');
    // A run that is told to end before it has answered ends so, whatever comes meanwhile, and delivers nothing.
    const answered = told.indexOf('xstate.done.actor.runAgent');
    const cancelledAt = told.indexOf('run.cancel');
    const isEnded = ['delivering', 'delivered', 'failed', 'cancelled'].includes(String(state.value));
    const isBefore = cancelledAt >= 0 && (answered < 0 || cancelledAt < answered);
    if (isBefore && isEnded) t.equal(state.value, 'cancelled', told.join());
    if (state.value === 'cancelled') {
      t.match(record, { status: 'cancelled', reason: 'cancelled by cli' });
      t.equal(told.at(-1), 'journal.written', 'it is on disk before it is told');
    }
    t.ok(record.attempt <= 1, 'one attempt in one life');
  }
  t.end();
});

t.test(
  'DUR-1 · DIS-2 · DLV-4 · a delivery is marked on disk before it is sent, and reported only once its outcome is',
  (t) => {
    const machine = deliveryMachine.provide({
      actors: { sendText: idle },
      actions: { awaitPlace: () => {}, leavePlace: () => {}, writeDelivery: () => {}, reportResult: () => {} },
    });
    const attempt = (outcome: SendOutcome, more: Partial<Attempt> = {}) =>
      ({
        type: 'xstate.done.actor.sendText',
        output: {
          outcome,
          startedAtMs: 0,
          endedAtMs: 0,
          jitter: 0,
          deduplicatesForMs: 0,
          policy: defaultRetries,
          ...more,
        },
      }) as EventObject;
    const paths = pathsOf(machine as unknown as AnyStateMachine, { key: 'k', record: delivery, atMs: 0 }, [
      { type: 'place.granted', atMs: 1 } as EventObject,
      { type: 'place.awaited' },
      { type: 'place.missed', reason: 'late' } as EventObject,
      { type: 'sender.left' },
      { type: 'delivery.retry' },
      { type: 'delivery.drop' },
      { type: 'delivery.shelved' },
      attempt({ kind: 'delivered', messageId: 'm' }),
      attempt(refused('auth', 'no')),
      attempt(unknownOutcome('lost')),
      attempt(transient('away'), { policy: { ...defaultRetries, attempts: 2 } }),
      ...['postponed', 'unrecorded'].map((state) => ({ type: `xstate.after.retryJournal.delivery.${state}` })),
      { type: 'xstate.after.retryDelay.delivery.waitingToRetry' },
    ]);
    const reached = new Set(paths.map(({ state }) => String(state.value)));
    for (const state of Object.keys(deliveryMachine.config.states ?? {}))
      if (state !== 'resuming') t.ok(reached.has(state), `${state} is reached`);
    const told = new Set(['sending', 'waitingToRetry', 'delivered', 'failed', 'deadLettered', 'dropped', 'unknown']);
    for (const { state, steps } of paths) {
      const events = steps.map(({ event }) => event.type);
      const { record } = (state as unknown as { context: { record: DeliveryRecord } }).context;
      const last = events.findLast((type) => type !== 'sender.left');
      if (told.has(String(state.value))) t.equal(last, 'journal.written', events.join());
      if (events[0] === 'sender.left') t.not(state.value, 'failed', events.join());
      if (!events.includes('sender.left')) t.not(state.value, 'deadLettered', events.join());
      const granted = events.filter((type) => type === 'place.granted').length;
      t.equal(record.attempts ?? 0, granted, 'every attempt is counted, and on disk before it');
      if (state.value === 'shelved') t.equal(events.at(-1), 'delivery.shelved', events.join());
      if (isOver(record) && state.value === record.status) t.notOk(record.dueAtMs, 'nothing is due any more');
    }
    t.end();
  },
);
