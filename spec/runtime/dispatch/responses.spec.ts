import t from 'tap';
import { createRecordWriter } from '../../../actors/store/record-writer.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { DeliveryRecord } from '../../../machines/webhook/record.ts';
import { createSettleRun } from '../../../runtime/dispatch/responses.ts';
import { openKeeper, openTwoKeepers } from '../../support/keeper.ts';
import { fakePools } from '../../support/pools.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

t.test('SCA-1 · DLV-7 · of deliveries that end at two gateways at once, the last one closes the run', async (t) => {
  const { pools } = fakePools();
  const keepers = await openTwoKeepers();
  const [one] = keepers;
  const of = (order: number, status: DeliveryRecord['status']): DeliveryRecord => ({
    ...{ ...plainDelivery, runKey: 'k', of: 2 },
    ...{ order, status },
  });
  const keys = ['k', 'k~2'];
  const put = (collection: 'runs' | 'deliveries', key: string, value: object) =>
    ({ kind: 'put', collection, key, value: value as JsonObject }) as const;
  await one.commit([
    put('runs', 'k', { ...plainRun, status: 'delivering' }),
    ...keys.map((key, index) => put('deliveries', key, of(index + 1, 'sending'))),
  ]);
  await Promise.all(
    keepers.map((keeper, index) =>
      createSettleRun({ keeper, pools: () => pools })(of(index + 1, 'delivered'), (also) =>
        createRecordWriter(keeper).write(
          [{ collection: 'deliveries', key: keys[index] ?? '', value: of(index + 1, 'delivered'), dueAtMs: null }],
          also,
        ),
      ),
    ),
  );
  t.match(await one.journal()?.get('runs', 'k'), { version: 3, value: { status: 'delivered' } });
});

t.test('DLV-7 · of deliveries that end or begin anew at the same time, the run has the last word', async (t) => {
  const { keeper } = await openKeeper();
  const { pools } = fakePools();
  const settleRun = createSettleRun({ keeper, pools: () => pools });
  const put = (collection: 'runs' | 'deliveries', key: string, value: object) =>
    ({ kind: 'put', collection, key, value: value as JsonObject }) as const;
  const of = (order: number, status: DeliveryRecord['status']): DeliveryRecord => ({
    ...plainDelivery,
    runKey: 'k',
    of: 2,
    order,
    status,
  });
  await keeper.commit([
    put('runs', 'k', { ...plainRun, status: 'delivering' }),
    put('deliveries', 'k', of(1, 'sending')),
    put('deliveries', 'k~2', of(2, 'sending')),
  ]);
  const settle = (key: string, record: DeliveryRecord) =>
    settleRun(record, (also) => keeper.commit([put('deliveries', key, record), ...also]));
  const status = () => keeper.journal()?.local?.get('runs', 'k')?.value.status;

  await Promise.all([settle('k', of(1, 'delivered')), settle('k~2', of(2, 'delivered'))]);
  t.equal(status(), 'delivered');

  await settle('k', of(1, 'deadLettered'));
  t.equal(status(), 'partial');

  await Promise.all([settle('k', of(1, 'queued')), settle('k~2', of(2, 'dropped'))]);
  t.equal(status(), 'delivering', 'one is on its way again');
});
