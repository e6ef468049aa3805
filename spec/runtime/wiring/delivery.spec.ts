import t, { type Test } from 'tap';
import { createActor } from 'xstate';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import type { SendingResult } from '../../../machines/webhook/delivery.machine.ts';
import { claimName, type DeliveryRecord } from '../../../machines/webhook/record.ts';
import { releaseOf, wireDelivery } from '../../../runtime/wiring/delivery.ts';
import type { Wards } from '../../../runtime/wiring/wards.ts';
import { gate, openKeeper, turn } from '../../support/keeper.ts';

const record: DeliveryRecord = {
  eventKey: 'k',
  deliveryId: 'd1',
  profile: 'default',
  route: 'r',
  event: 'push',
  target: 'log',
  status: 'queued',
  text: 'x',
  extra: {},
  queuedAtMs: 1,
};
const name = claimName('default', 'r', 'd1');

async function deliver(t: Test, result: SendingResult, { refused = false } = {}) {
  const stage = gate();
  const { keeper } = await openKeeper(stage.journal);
  const steps: unknown[] = [];
  const stored = () => {
    const found = stage.journal.get('deliveries', 'k');
    return found && [found.value.status, found.dueAtMs];
  };
  const logic = wireDelivery({
    writer: createRecordWriter(keeper),
    sendText: (sent) => {
      steps.push(['sent', sent.status, stored()]);
      return Promise.resolve(result);
    },
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    nowMs: () => 9,
    wards: () =>
      ({
        deliverySettled: (_: string, settled: DeliveryRecord) => steps.push(['told', settled.status, stored()]),
      }) as unknown as Wards,
  });
  const claimed = keeper.commit([{ kind: 'claim', name, value: {}, nowMs: 1, expiresAtMs: 99_000 }]);
  await stage.settle();
  await claimed;
  const actor = createActor(logic, { input: { key: 'k', record } }).start();
  t.teardown(() => actor.stop());
  await stage.land();
  await turn();
  if (refused) await stage.refuse();
  else await stage.settle();
  return { steps, actor, journal: stage.journal };
}

t.test('DUR-1 · a delivery is marked on disk before it is sent, and its outcome before it is told', async (t) => {
  const { steps, actor, journal } = await deliver(t, { kind: 'delivered', messageId: 'm1' });
  t.same(steps, [['sent', 'sending', ['sending', 9]]], 'the ward tells the rest, once the chart has ended');
  t.same(journal.get('deliveries', 'k')?.value, { ...record, status: 'delivered', messageId: 'm1', endedAtMs: 9 });
  t.equal(journal.get('deliveries', 'k')?.dueAtMs, undefined);
  t.match(actor.getSnapshot().output, { status: 'delivered' });
  t.ok(journal.claimed(name, 9), 'its id stays taken');
});

t.test('DUR-2 · where the outcome cannot be written, whoever waits is told all the same', async (t) => {
  const { steps, actor } = await deliver(t, { kind: 'delivered' }, { refused: true });
  t.same(steps, [
    ['sent', 'sending', ['sending', 9]],
    ['told', 'delivered', ['sending', 9]],
  ]);
  t.equal(actor.getSnapshot().value, 'unrecorded', 'and it is offered to the journal again');
});

t.test(
  'IDM-2 · OBS-1 · a failed direct delivery frees its id in the same commit, and its reason holds no secret',
  async (t) => {
    for (const kind of ['failed', 'unknown'] as const) {
      const { journal } = await deliver(t, { kind, reason: 'bad token hunter2' });
      t.match(journal.get('deliveries', 'k')?.value, { status: kind, reason: 'bad token [redacted]' });
      t.equal(journal.claimed(name, 9), undefined, kind);
    }
  },
);

t.test('DUR-1 · a delivery of a run frees nothing: its event was accepted', (t) => {
  const failed = { ...record, status: 'failed' } as const;
  t.same(releaseOf(failed), [{ kind: 'release', name }]);
  t.same(releaseOf({ ...failed, runKey: 'k' }), []);
  for (const status of ['queued', 'sending', 'delivered'] as const)
    t.same(releaseOf({ ...record, status }), [], status);
  t.end();
});

t.test('DUR-1 · a record that another gateway has taken over is neither sent nor written', async (t) => {
  const stage = gate();
  const { keeper } = await openKeeper(stage.journal);
  const writer = createRecordWriter(keeper);
  writer.adopt('deliveries', 'k', 3);
  let sent = 0;
  const actor = createActor(
    wireDelivery({
      writer,
      sendText: () => {
        sent += 1;
        return Promise.resolve({ kind: 'delivered' });
      },
      redact: (text) => text,
      nowMs: () => 9,
      wards: () => ({ deliverySettled: () => {} }) as unknown as Wards,
    }),
    { input: { key: 'k', record } },
  ).start();
  await stage.settle();
  t.match(actor.getSnapshot(), { status: 'done', value: 'lost' });
  t.same([sent, stage.journal.get('deliveries', 'k')], [0, undefined]);
});
