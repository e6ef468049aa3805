import t, { type Test } from 'tap';
import { type AnyActorRef, createActor, fromPromise, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { type Attempt, defaultRetries } from '../../../machines/dispatch/next-try.ts';
import { refused, type SendOutcome, transient, unknownOutcome } from '../../../machines/dispatch/send-outcome.ts';
import { type DeliveryEvent, deliveryMachine } from '../../../machines/webhook/delivery.machine.ts';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { plainDelivery } from '../../support/records.ts';
import { deferred, turn } from '../../support/turns.ts';

const granted: DeliveryEvent = { type: 'place.granted', atMs: 7 };
const written: DeliveryEvent = { type: 'journal.written' };
const full: DeliveryEvent = { type: 'journal.refused', reason: 'full' };

/** A delivery by the spec's clock; what it asks for is written down, and its sendings end when the spec says so. */
function deliver(t: Test, change: Partial<DeliveryRecord> = {}) {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const answers: ReturnType<typeof deferred<Attempt>>[] = [];
  const machine = deliveryMachine.provide({
    actors: {
      sendText: fromPromise<Attempt, DeliveryRecord>(({ input }) => {
        told.push(`send ${String(input.attempts ?? 0)}`);
        const answer = deferred<Attempt>();
        answers.push(answer);
        return answer.promise;
      }),
    },
    actions: {
      awaitPlace: () => void told.push('ask'),
      leavePlace: () => void told.push('leave'),
      writeDelivery: ({ context }) => void told.push(`write ${context.record.status}`),
      writeOnTheWay: ({ context }) => void told.push(`write on the way ${context.record.status}`),
      reportResult: ({ context }) => void told.push(`report ${context.record.status}`),
    },
  });
  const record = { ...plainDelivery, ...change };
  const actor = createActor(compile(machine), { input: { key: 'k', record, atMs: 0 }, clock }).start();
  t.teardown(() => actor.stop());
  const seen = () => actor.getSnapshot() as unknown as { value: string; context: { record: DeliveryRecord } };
  return {
    clock,
    send: (...events: readonly DeliveryEvent[]) => {
      for (const event of events) actor.send(event);
    },
    async answer(outcome: SendOutcome, more: Partial<Attempt> = {}): Promise<void> {
      answers.shift()?.resolve({
        ...{ outcome, startedAtMs: 7, endedAtMs: 1_000, jitter: 0, deduplicatesForMs: 0, policy: defaultRetries },
        ...more,
      });
      await turn();
    },
    async crash(): Promise<void> {
      answers.shift()?.reject(new Error('crashed'));
      await turn();
    },
    /** Since it was asked before. */
    told: () => told.splice(0),
    state: () => seen().value,
    isUnderWay: () => (actor as AnyActorRef).getSnapshot().hasTag('underWay'),
    record: () => seen().context.record,
  };
}

t.test('DUR-1 · DLV-2 · it is marked on disk before it is sent, and delivered once that is on disk too', async (t) => {
  const one = deliver(t);
  t.same([one.state(), one.told()], ['queued', ['ask']]);
  one.send(granted);
  t.same([one.state(), one.told()], ['marking', ['write sending']]);
  t.match(one.record(), { status: 'sending', attempts: 1, startedAtMs: 7 });
  one.send(written);
  t.same([one.state(), one.told()], ['sending', ['send 1']]);
  await one.answer({ kind: 'delivered', messageId: 'm' }, { chat: '#ops' });
  t.same([one.state(), one.told()], ['recording', ['leave', 'write delivered']]);
  one.send(written);
  t.match([one.state(), one.record()], ['delivered', { status: 'delivered', messageId: 'm', chat: '#ops' }]);
});

t.test('DUR-1 · DLV-2 · the chat is on disk before anything is sent, and a later try says its own', async (t) => {
  const one = deliver(t, { chat: '#old' });
  one.send({ ...granted, chat: '#ops' });
  t.match([one.state(), one.record()], ['marking', { status: 'sending', chat: '#ops' }]);
  one.send(written);
  await one.answer(transient('HTTP 500'), { chat: '#ops' });
  one.send(written);
  one.clock.increment(60_000);
  one.send({ ...granted, chat: '#new' });
  t.match([one.state(), one.record().chat], ['marking', '#new']);
});

t.test('DIS-2 · a direct one is on disk as being sent, and is sent as soon as it has its place', async (t) => {
  const one = deliver(t, { status: 'sending', attempts: 1, startedAtMs: 1, answerByMs: 30_000 });
  one.send(granted);
  t.same([one.state(), one.told()], ['sending', ['ask', 'send 1']]);
  await one.answer(refused('auth', 'no'));
  one.send(written);
  t.match([one.state(), one.record()], ['failed', { reason: 'no' }], 'its sender is told; nobody puts it back');

  const late = deliver(t, { status: 'sending', attempts: 1, answerByMs: 30_000 });
  late.send({ type: 'place.missed', reason: 'too late' }, written);
  t.match([late.state(), late.record()], ['failed', { reason: 'too late', attempts: 0 }]);
});

t.test('DIS-2 · DLV-4 · one whose sender has hung up goes on like that of a run, wherever it is', async (t) => {
  const direct = { status: 'sending', attempts: 1, startedAtMs: 1, answerByMs: 30_000 } as const;
  const left: DeliveryEvent = { type: 'sender.left' };
  const missed: DeliveryEvent = { type: 'place.missed', reason: 'too late' };
  const queued = deliver(t, direct);
  queued.send({ type: 'place.awaited' });
  t.same(
    [queued.told(), queued.record().answerByMs],
    [['ask', 'write on the way queued'], 30_000],
    'on disk as not sent',
  );
  queued.send(left);
  t.same(
    [queued.state(), queued.told(), queued.record().answerByMs],
    ['queued', ['write on the way queued'], undefined],
    'it keeps its turn',
  );
  t.equal(queued.record().attempts, 0);
  queued.send(granted, written);
  t.match([queued.state(), queued.record()], ['sending', { attempts: 1 }]);
  queued.send(left);
  await queued.answer({ kind: 'transient', reason: 'HTTP 503', notBeforeMs: 90_000_000 });
  queued.send(written);
  t.equal(queued.state(), 'deadLettered', 'a day is the limit, as for that of a run');

  for (const leaves of ['sending', 'recording', 'waitingToRetry', 'unrecorded']) {
    const one = deliver(t, direct);
    const leave = (): void => {
      if (one.state() === leaves) one.send(left);
    };
    one.send(granted);
    leave();
    await one.answer(transient('HTTP 503'));
    leave();
    one.send(leaves === 'unrecorded' ? full : written);
    leave();
    if (leaves === 'unrecorded') {
      one.clock.increment(1_000);
      one.send(written);
    }
    t.match([one.state(), one.record().answerByMs], ['waitingToRetry', undefined], leaves);
    t.equal(one.told().filter((step) => step.startsWith('write on the way')).length, 1, leaves);
    one.clock.increment(60_000);
    one.send(granted, written);
    await one.answer(transient('HTTP 503'), { startedAtMs: 40_000, endedAtMs: 41_000 });
    one.send(written);
    t.equal(one.state(), 'waitingToRetry', `${leaves}: after the time of its sender`);
  }

  const marking = deliver(t, { answerByMs: 30_000 });
  marking.send(granted, left);
  t.same([marking.state(), marking.told()], ['marking', ['ask', 'write sending']], 'no second write beside the mark');
  marking.send(written);
  t.match([marking.state(), marking.record().answerByMs], ['sending', undefined]);

  const over = deliver(t, direct);
  over.send(missed, left, written);
  t.match([over.state(), over.record()], ['failed', { answerByMs: 30_000 }], 'one that has ended frees its id');
});

t.test(
  'DLV-4 · what may arrive later is tried again at its time, at once on request, and dropped on request',
  async (t) => {
    const one = deliver(t);
    one.send(granted, written);
    await one.answer(transient('HTTP 500'));
    one.send(written);
    t.match([one.state(), one.record()], ['waitingToRetry', { reason: 'HTTP 500', failures: 1, dueAtMs: 3_000 }]);
    t.ok(one.told().includes('report waitingToRetry'), 'whoever waits is told that it goes on');
    one.clock.increment(1_999);
    t.equal(one.state(), 'waitingToRetry', 'counted from when the attempt ended');
    one.clock.increment(1);
    t.equal(one.state(), 'queued');

    one.send(granted, written);
    t.match(one.record(), { attempts: 2, dueAtMs: undefined, reason: 'HTTP 500' });
    await one.answer(transient('HTTP 502'));
    one.send(written, { type: 'delivery.retry' });
    t.equal(one.state(), 'queued', 'a person need not wait');

    one.send({ type: 'delivery.drop' });
    t.same(one.told().slice(-2), ['leave', 'write dropped']);
    one.send(written);
    t.match([one.state(), one.record()], ['dropped', { attempts: 2, dueAtMs: undefined }]);

    const waits = deliver(t, { status: 'waitingToRetry', dueAtMs: 50 });
    t.equal(waits.state(), 'waitingToRetry', 'one that is taken up waits for its time');
    waits.clock.increment(49);
    t.equal(waits.state(), 'waitingToRetry');
    waits.clock.increment(1);
    t.equal(waits.state(), 'queued');
  },
);

t.test('DLV-4 · DUR-1 · each outcome ends where it belongs, and is reported only from disk', async (t) => {
  const rows: readonly (readonly [SendOutcome, Partial<Attempt>, string, object])[] = [
    [refused('notFound', 'no such chat'), {}, 'deadLettered', { reason: 'no such chat', failures: 1 }],
    [transient('x'), { policy: { ...defaultRetries, attempts: 1 } }, 'deadLettered', { reason: 'x' }],
    [unknownOutcome('cut off'), {}, 'unknown', { reason: 'cut off', unsureSinceMs: 7 }],
    [unknownOutcome('cut off'), { deduplicatesForMs: 60_000 }, 'waitingToRetry', { unsureSinceMs: 7 }],
    [{ kind: 'delivered' }, {}, 'delivered', { messageId: undefined, reason: undefined }],
  ];
  for (const [outcome, more, state, record] of rows) {
    const one = deliver(t, { reason: 'an earlier one' });
    one.send(granted, written);
    await one.answer(outcome, more);
    t.equal(one.state(), 'recording');
    one.send(written);
    t.match([one.state(), one.record()], [state, { status: state, ...record }], state);
  }
  const reasons = Array.from({ length: 21 }, (_, n) => `reason ${n}`);
  const kept = (reason: string) => ({ startedAtMs: 7, endedAtMs: 1_000, kind: 'transient' as const, reason });
  const often = deliver(t, { failed: reasons.slice(0, 20).map(kept) });
  often.send(granted, written);
  await often.answer(transient('reason 20'));
  t.same(often.record().failed, reasons.slice(1).map(kept), 'of the failed attempts the last 20 are kept');

  const crashed = deliver(t);
  crashed.send(granted, written);
  await crashed.crash();
  t.ok(crashed.told().includes('leave'), 'its place is free');
  crashed.send(written);
  t.match([crashed.state(), crashed.record().reason], ['unknown', 'the sending effect crashed']);
});

t.test('DUR-1 · DUR-2 · while the journal cannot write, nothing is sent and no outcome is lost', async (t) => {
  const one = deliver(t);
  one.send(granted, full);
  t.same([one.state(), one.told()], ['postponed', ['ask', 'write sending']]);
  t.notOk(one.isUnderWay(), 'CON-2: a drain does not wait for it');
  one.clock.increment(1_000);
  t.same([one.state(), one.told()], ['marking', ['write sending']]);
  t.equal(one.record().attempts, 1, 'still the first attempt');
  one.send(written);
  await one.answer({ kind: 'delivered' });
  one.send(full);
  t.equal(one.state(), 'unrecorded');
  t.equal(one.told().at(-1), 'report delivered', 'whoever waits need not wait for the disk');
  one.clock.increment(1_000);
  one.send(written);
  t.equal(one.state(), 'delivered');
});

t.test('DUR-1 · DLV-4 · what another gateway has taken, or what waits on disk alone, is let go of', async (t) => {
  const marking = deliver(t);
  marking.send(granted, { type: 'work.lost' });
  t.same([marking.state(), marking.told().at(-1)], ['lost', 'leave']);
  const recording = deliver(t);
  recording.send(granted, written);
  await recording.answer({ kind: 'delivered' });
  recording.send({ type: 'work.lost' });
  t.equal(recording.state(), 'lost');
  const shelved = deliver(t);
  shelved.send(granted, written);
  await shelved.answer(transient('x'));
  shelved.send({ type: 'delivery.shelved' });
  t.same([shelved.state(), shelved.told().at(-1)], ['shelved', 'report waitingToRetry']);
});
