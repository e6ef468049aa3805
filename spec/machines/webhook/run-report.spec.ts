import t from 'tap';
import type { DeliveryRecord, RunRecord } from '../../../machines/webhook/record.ts';
import { progressReport } from '../../../machines/webhook/run-notices.ts';
import { runReport } from '../../../machines/webhook/run-report.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

const delivery: DeliveryRecord = {
  ...plainDelivery,
  eventKey: 'e1',
  runKey: 'r1',
  deliveryId: 'd1',
  route: 'builds',
  target: 'http',
  status: 'sending',
  text: 'Done.',
  queuedAtMs: 1_793_707_200_000,
};
const run: RunRecord = { ...plainRun, status: 'delivering', attempt: 2 };

t.test('DLV-6 · of a run that has not ended only what the route names is reported', (t) => {
  const question = { id: 'a1', kind: 'tool', server: 's', tool: 'x', expires_at: '' } as const;
  const steps = [
    { kind: 'accepted', run: 'r1' },
    { kind: 'approval', run: 'r1', question },
  ] as const;
  for (const reports of [undefined, ['failed'], ['accepted'], ['approval'], ['accepted', 'approval']] as const) {
    const place = { eventKey: 'e1', event: { ...plainEvent, reports }, nowMs: 1, order: 1 };
    const told = steps.flatMap((step) => progressReport(step, place)?.progress?.kind ?? []);
    t.same(
      told,
      (reports ?? []).filter((one) => one !== 'failed'),
      String(reports),
    );
  }
  t.end();
});

t.test('DLV-6 · the report of a response names its run, its event and what the run cost', (t) => {
  t.same(
    runReport('r1', delivery, { ...run, steps: 3, inputTokens: 10, cachedTokens: 4, outputTokens: 20, cost: 0.5 }),
    {
      id: 'r1',
      type: 'run.finished',
      timestamp: '2026-11-03T12:00:00.000Z',
      data: {
        status: 'finished',
        event_id: 'e1',
        delivery_id: 'd1',
        event: 'push',
        route: 'builds',
        profile: 'default',
        run_id: 'r1',
        attempts: 2,
        usage: { steps: 3, input_tokens: 10, cached_tokens: 4, output_tokens: 20, cost: 0.5 },
      },
    },
  );
  t.notOk('usage' in runReport('r1', delivery, run).data, 'a program says nothing of its cost');
  t.notOk('attempts' in runReport('r1', delivery, undefined).data, 'a run that the history no longer has');
  t.end();
});

t.test('DLV-6 · a notice reports the failed run with its reason, a direct delivery its event', (t) => {
  const { runKey: _, ...direct } = delivery;
  const notice = { ...direct, failedRun: 'r1' };
  t.match(runReport('r1.failed', notice, { ...run, status: 'failed', reason: 'exit code 1' }), {
    id: 'r1.failed',
    type: 'run.failed',
    data: { status: 'failed', run_id: 'r1', reason: 'exit code 1' },
  });
  t.match(runReport('r1.failed', notice, { ...run, status: 'interrupted' }).data, { status: 'interrupted' });
  const report = runReport('e1', direct, undefined);
  t.match(report, { id: 'e1', type: 'event.accepted', data: { status: 'accepted', event_id: 'e1' } });
  t.notOk('run_id' in report.data);
  t.end();
});
