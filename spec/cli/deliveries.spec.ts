import t from 'tap';
import { dropDelivery, retryDelivery, showDelivery } from '../../cli/commands/deliveries.ts';
import { stageCommand } from '../support/command-stage.ts';

t.test('DLV-4 · CLI-2 · who retries a delivery behind a pause reads until when it waits, and why', async (t) => {
  const until = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const row = { id: 'k1', target: 'dingtalk' };
  for (const [pause, words] of [
    [{}, 'Trying k1 again at dingtalk as soon as it has its turn.\n'],
    [
      { paused_until: until, pause_reason: 'dingtalk asks for fewer messages' },
      'k1 waits at dingtalk for a pause that ends in 3d: dingtalk asks for fewer messages\n',
    ],
  ] as const) {
    const { context, seen } = stageCommand({ answer: { ...row, ...pause }, args: ['k1'] });
    t.equal(await retryDelivery(context), 0);
    t.equal(seen.printed, words);
  }
});

t.test('DLV-4 · CLI-2 · a delivery is dropped with the reason that a person gives, one or all of them', async (t) => {
  const row = { id: 'k1', target: 'slack', route: 'ci', profile: 'default' };
  const one = stageCommand({ answer: row, args: ['k1'], flags: { reason: 'sent by hand' } });
  await dropDelivery(one.context);
  t.match(one.seen.asked, [{ method: 'deliveries.drop', id: 'k1', reason: 'sent by hand' }]);
  const answer = { dropped: 2, left: 0, refusals: [] };
  const all = stageCommand({ answer, flags: { all: true, target: 'slack', reason: 'its channel is gone' } });
  t.equal(await dropDelivery(all.context), 0);
  t.match(all.seen.asked, [{ all: true, target: 'slack', reason: 'its channel is gone' }]);
  const forced = stageCommand({ answer: { retried: 2, left: 0, refusals: [] }, flags: { all: true, force: true } });
  t.equal(await retryDelivery(forced.context), 0);
  t.match(forced.seen.asked, [{ method: 'deliveries.retry', all: true, force: true }]);
  const since = '2026-01-01T00:00:00.000Z';
  const late = stageCommand({ answer: { ...answer, dropped: 1 }, flags: { all: true, since } });
  t.equal(await dropDelivery(late.context), 0);
  t.match(late.seen.asked, [{ method: 'deliveries.drop', since, all: undefined }], 'an older gateway refuses it');
  const shown = stageCommand({
    answer: {
      ...{ ...row, status: 'dropped', attempts: 1, event: 'push', delivery_id: 'd1' },
      queued_at: '2026-01-01T00:00:00.000Z',
      record: { text: 'x', note: 'sent by hand' },
    },
    args: ['k1'],
  });
  t.equal(await showDelivery(shown.context), 0);
  t.match(shown.seen.printed, /Note +sent by hand/);
});
