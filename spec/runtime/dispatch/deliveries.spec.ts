import t, { type Test } from 'tap';
import { createActor } from 'xstate';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import { ChurnMap } from '../../../machines/base/churn-map.ts';
import { defaultRetries } from '../../../machines/dispatch/next-try.ts';
import { nothingToSend, type SendOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { DeliveryEvent } from '../../../machines/webhook/delivery.machine.ts';
import { claimName, type DeliveryRecord, type RunRecord, signatureClaim } from '../../../machines/webhook/record.ts';
import { wireDelivery } from '../../../runtime/dispatch/deliveries.ts';
import { createSettleRun, type RunEnds, releaseOf } from '../../../runtime/dispatch/responses.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { gate, openKeeper, turn } from '../../support/keeper.ts';
import { eventually } from '../../support/mcp/gateway.ts';
import { fakePool } from '../../support/pools.ts';
import { plainDelivery } from '../../support/records.ts';

const record: DeliveryRecord = {
  ...plainDelivery,
  ...{ eventKey: 'k', deliveryId: 'd1', target: 'log', queuedAtMs: 1 },
};
/** One whose sender waits for the outcome. */
const direct: DeliveryRecord = { ...record, answerByMs: 60_000 };
const name = claimName('default', 'r', 'd1');

const attempt = { startedAtMs: 9, endedAtMs: 10, jitter: 0, deduplicatesForMs: 0, policy: defaultRetries };

interface Stage {
  readonly from?: DeliveryRecord;
  readonly outcome?: SendOutcome;
  /** What happens while it is sent. */
  readonly whileSent?: (signal: AbortSignal, send: (event: DeliveryEvent) => void) => Promise<void>;
  readonly crowded?: boolean;
  /** False while no place is free. */
  readonly hasPlace?: boolean;
  /** The version of the record that this gateway believes to stand. */
  readonly version?: number;
  /** Whether its target delivers within the gateway. */
  readonly within?: boolean;
  /** The run that waits for it. */
  readonly run?: { readonly value: string; readonly record: RunRecord };
}

async function stage(
  t: Test,
  { from = record, outcome, whileSent, crowded = false, hasPlace = true, version, within = false, run }: Stage = {},
) {
  const disk = gate();
  const { keeper } = await openKeeper(disk.journal);
  const writer = createRecordWriter(keeper);
  if (version !== undefined) writer.adopt('deliveries', 'k', version);
  const claimed = keeper.commit([{ kind: 'claim', name, value: {}, forMs: 99_000 }]);
  await disk.settle();
  await claimed;
  const steps: unknown[] = [];
  const places: string[] = [];
  const wakes: { readonly callback: () => void; readonly waitMs: number }[] = [];
  const runs = fakePool<unknown>(() => ({ value: run?.value ?? '', context: { record: run?.record } }));
  if (run !== undefined) runs.handle().spawn('k', {} as never);
  const runEnds: RunEnds = new ChurnMap();
  const stored = () => {
    const found = disk.journal.local?.get('deliveries', 'k');
    return found && [found.value.status, found.dueAtMs];
  };
  const pools = {
    runs: runs.handle(),
    deliverySettled: (_: string, settled: DeliveryRecord) => steps.push(['told', settled.status, stored()]),
  } as unknown as WorkPools;
  const { logic } = wireDelivery({
    keeper,
    writer,
    platforms: {
      placeOf: () => 'C0',
      hold: ({ sent }) => void places.push(`kept for piece ${(sent?.pieces ?? 0) + 1}`),
      ask: (_, granted) => {
        places.push('asked');
        if (hasPlace) granted();
        return () => void places.push('left');
      },
      sendWithin(sent) {
        if (!within) return undefined;
        steps.push(['delivered', sent.status, stored()]);
        return { ...attempt, outcome: { kind: 'delivered' } };
      },
      send: async (sent, signal) => {
        steps.push(['sent', sent.status, stored()]);
        await whileSent?.(signal, (event) => actor.send(event));
        return { ...attempt, outcome: outcome ?? { kind: 'delivered', messageId: 'm1' }, chat: 'C1' };
      },
    },
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    nowMs: () => 9,
    wake: (callback, waitMs) => {
      const wake = { callback, waitMs };
      wakes.push(wake);
      return () => void wakes.splice(0, wakes.length, ...wakes.filter((one) => one !== wake));
    },
    pools: () => pools,
    settleRun: createSettleRun({ keeper, pools: () => pools }),
    runEnds,
    retried: (_, { status }) => void steps.push(['retried', status]),
    crowded: () => crowded,
  });
  const actor = createActor(logic, { input: { key: 'k', record: from, atMs: 9 } });
  actor.start();
  t.teardown(() => actor.stop());
  return { disk, steps, places, wakes, actor, journal: disk.journal, keeper, writer, runEnds };
}

/** To its end, whatever is written on the way. */
async function deliver(t: Test, more: Stage = {}) {
  const one = await stage(t, more);
  for (let n = 0; n < 4; n += 1) {
    await one.disk.settle();
    await turn();
  }
  return one;
}

t.test(
  'DUR-1 · DLV-4 · a delivery has its place, is marked on disk before it is sent, and its outcome before it ends',
  async (t) => {
    const one = await stage(t);
    t.same(
      [one.places, one.steps, one.disk.waiting()],
      [['asked'], [], 1],
      'nothing is sent before the mark is on disk',
    );
    await one.disk.land();
    await turn();
    t.same(one.steps, [['sent', 'sending', ['sending', 1]]]);
    t.same(one.places, ['asked', 'left'], 'the place is given back when the platform has answered');
    t.equal(one.actor.getSnapshot().status, 'active', 'its outcome is not on disk yet');
    await one.disk.settle();
    t.match(one.actor.getSnapshot(), { status: 'done', output: { status: 'delivered', messageId: 'm1' } });
    t.match(one.journal.local?.get('deliveries', 'k'), {
      value: { status: 'delivered', chat: 'C1', endedAtMs: 9 },
      dueAtMs: undefined,
    });
    t.ok(one.journal.local?.claimed(name), 'its id stays taken');
  },
);

t.test('DUR-2 · where the outcome cannot be written, a waiting sender is answered all the same', async (t) => {
  const one = await stage(t, { from: direct });
  await one.disk.land();
  await turn();
  await one.disk.refuse();
  t.same(one.steps, [
    ['sent', 'sending', ['sending', 1]],
    ['told', 'delivered', ['sending', 1]],
  ]);
  t.equal(one.actor.getSnapshot().value, 'unrecorded', 'and it is offered to the journal again');
});

t.test(
  'IDM-2 · OBS-1 · a failed direct delivery frees its id in the same commit, and its reason holds no secret',
  async (t) => {
    for (const [outcome, status] of [
      [{ kind: 'refused', class: 'auth', reason: 'bad token hunter2' }, 'failed'],
      [{ kind: 'unknown', reason: 'no answer of hunter2' }, 'unknown'],
    ] as const) {
      const { journal } = await deliver(t, { from: direct, outcome });
      t.match(journal.local?.get('deliveries', 'k')?.value, { status, reason: /\[redacted\]/ });
      t.equal(journal.local?.claimed(name), undefined, status);
    }
  },
);

t.test('DIS-2 · a sender is not kept waiting for a place longer than it waits', async (t) => {
  const one = await stage(t, { from: direct, hasPlace: false });
  t.same(
    one.wakes.map(({ waitMs }) => waitMs),
    [59_991],
  );
  one.wakes[0]?.callback();
  for (let n = 0; n < 3; n += 1) await one.disk.settle();
  t.same([one.steps, one.places], [[], ['asked', 'left']]);
  t.match(one.journal.local?.get('deliveries', 'k')?.value, {
    status: 'failed',
    attempts: 0,
    reason: /left no turn while its sender waited/,
  });
  const left = await stage(t, { from: direct, hasPlace: false });
  left.actor.send({ type: 'sender.left' });
  left.wakes[0]?.callback();
  await left.disk.settle();
  t.same([left.steps, left.places], [[], ['asked']], 'one whose sender has hung up keeps its turn');
  const patient = await stage(t, { hasPlace: false });
  t.same(patient.wakes, [], 'one that nobody waits for waits as long as it takes');
});

t.test('DIS-2 · a sending ends with the wait of its sender, unless that one hangs up before', async (t) => {
  for (const [leaves, expected] of [
    [true, false],
    [false, true],
  ] as const) {
    let isEnded: boolean | undefined;
    await stage(t, {
      from: { ...direct, status: 'sending', attempts: 1, answerByMs: 10 },
      whileSent: async (signal, send) => {
        if (leaves) send({ type: 'sender.left' });
        // Its time is over sooner.
        await new Promise((resolve) => setTimeout(resolve, 20));
        isEnded = signal.aborted;
      },
    });
    await eventually(() => isEnded !== undefined || undefined);
    t.equal(isEnded, expected);
  }
});

t.test('IDM-2 · DLV-4 · a direct delivery that a person drops informs its sender so, and frees its id', async (t) => {
  const one = await stage(t, { from: direct, hasPlace: false });
  one.actor.send({ type: 'delivery.drop' });
  for (let n = 0; n < 3; n += 1) await one.disk.settle();
  t.match(one.journal.local?.get('deliveries', 'k')?.value, { status: 'dropped' });
  t.equal(one.journal.local?.claimed(name), undefined, 'the sender’s next try is a new delivery, not a duplicate');
  t.same(one.wakes, [], 'the end of its wait takes no place from one that is tried again under its key');
});

t.test('DLV-4 · what is tried again waits in memory, or on disk alone where many wait already', async (t) => {
  const outcome: SendOutcome = { kind: 'transient', reason: 'busy' };
  const waiting = await deliver(t, { outcome });
  t.match(waiting.actor.getSnapshot(), { status: 'active', value: 'waitingToRetry' });
  t.match(waiting.steps.at(-1), ['told', 'waitingToRetry']);
  t.ok(waiting.steps.some((step) => (step as string[])[0] === 'retried'));
  t.match(
    waiting.journal.local?.get('deliveries', 'k'),
    { heldBy: waiting.keeper.session(), dueAtMs: record.queuedAtMs },
    'a restart takes it up by its age',
  );

  const shelved = await deliver(t, { outcome, crowded: true });
  t.match(shelved.actor.getSnapshot(), { status: 'done', value: 'shelved' });
  t.equal(
    shelved.journal.local?.get('deliveries', 'k')?.heldBy,
    undefined,
    'held by nobody, so that it can be taken up',
  );
  t.ok((shelved.journal.local?.get('deliveries', 'k')?.dueAtMs ?? 0) > 10);
});

t.test('IDM-2 · SEC-6 · only a direct delivery that did not succeed releases its id and its signature', async (t) => {
  const { keeper } = await openKeeper();
  const event = { deliveryId: 'd1', profile: 'default', route: 'r', signatureDigest: 's1' };
  await keeper.commit([{ kind: 'put', collection: 'events', key: 'k', value: event }]);
  const names = [name, signatureClaim('s1')];
  for (const [given, frees] of [
    [{ ...direct, status: 'failed' }, true],
    [{ ...direct, status: 'unknown' }, true],
    [{ ...direct, status: 'dropped' }, true],
    [{ ...direct, status: 'delivered' }, false],
    [{ ...direct, status: 'sending' }, false],
    [{ ...record, runKey: 'k', status: 'failed' }, false],
    [{ ...record, runKey: 'k', status: 'dropped' }, false],
  ] as const) {
    const releases = names.map((released) => ({ kind: 'release', name: released }));
    t.same(await releaseOf(given, { keeper }), frees ? releases : [], given.status);
  }
});

t.test('DUR-1 · a record that another gateway has taken over is neither sent nor written', async (t) => {
  const one = await deliver(t, { version: 3 });
  t.match(one.actor.getSnapshot(), { status: 'done', value: 'lost' });
  t.same([one.steps, one.journal.local?.get('deliveries', 'k'), one.places], [[], undefined, ['asked', 'left']]);
});

t.test('DIS-4 · a text of which there is nothing to send has been delivered, and its record says why', async (t) => {
  const { journal, actor } = await deliver(t, { outcome: nothingToSend });

  t.match(actor.getSnapshot(), { status: 'done', value: 'delivered' });
  t.match(journal.local?.get('deliveries', 'k')?.value, { status: 'delivered', reason: 'nothing to send' });
});

t.test('DUR-1 · a text that stays within the gateway needs no mark on disk before it is delivered', async (t) => {
  const one = await stage(t, { within: true });
  t.same([one.steps, one.places], [[['delivered', 'sending', undefined]], ['asked', 'left']]);
  t.equal(one.actor.getSnapshot().status, 'active', 'its outcome is not on disk yet');
  await one.disk.settle();
  t.match(one.journal.local?.get('deliveries', 'k'), { version: 1, value: { status: 'delivered', attempts: 1 } });
  t.match(one.actor.getSnapshot(), { status: 'done', output: { status: 'delivered' } });
});

t.test('DUR-1 · DUR-2 · one commit writes the end of a delivery and of the run that waits for it alone', async (t) => {
  const waiting = { eventKey: 'k', status: 'delivering', response: 'x', reason: 'earlier' } as unknown as RunRecord;
  const from = { ...record, runKey: 'k' };
  const run = { value: 'delivering', record: waiting };
  const one = await stage(t, { within: true, from, run });
  await one.disk.refuse();
  t.same([one.actor.getSnapshot().value, one.runEnds.size], ['unrecorded', 0], 'nothing of it was written');

  const other = await stage(t, { from, run });
  await other.disk.land();
  await turn();
  t.equal(other.disk.waiting(), 1);
  await other.disk.land();
  t.match(other.journal.local?.get('deliveries', 'k')?.value, { status: 'delivered', endedAtMs: 9 });
  t.same(other.journal.local?.get('runs', 'k'), {
    key: 'k',
    version: 1,
    value: { eventKey: 'k', status: 'delivered', response: 'x', endedAtMs: 9 },
  });
  t.same(other.runEnds.get('k'), { kind: 'written' });

  const failed = await deliver(t, { from, run, outcome: { kind: 'refused', class: 'permanent', reason: 'gone' } });
  t.match(failed.journal.local?.get('deliveries', 'k')?.value, { status: 'deadLettered' });
  t.equal(failed.journal.local?.get('runs', 'k'), undefined, 'a run that fails writes its end with its notice');
  const closed = await deliver(t, { from, run: { ...run, value: 'closing' } });
  t.same([closed.journal.local?.get('runs', 'k'), closed.runEnds.size], [undefined, 0]);
});

t.test('DUR-1 · a run whose delivery was kept back with it hears of the delivery once both are on disk', async (t) => {
  const one = await stage(t, { within: true });
  one.writer.hold('deliveries', 'k', [{ collection: 'deliveries', key: 'k', value: record, dueAtMs: 1 }]);
  await one.disk.refuse();
  t.same([one.actor.getSnapshot().value, one.steps], ['unrecorded', [['delivered', 'sending', undefined]]]);
});
