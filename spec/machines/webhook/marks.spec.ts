import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { deliveryStatuses, eventStatuses, historyStatuses, runStatuses } from '../../../machines/base/status.ts';
import {
  claimOfEvent,
  claimsOfMark,
  idMark,
  isPassing,
  jobMark,
  marksOfEvent,
  marksOfStatus,
  marksOfWork,
  routeMark,
  shownOfWork,
  statusMark,
  targetMark,
  workMark,
} from '../../../machines/webhook/marks.ts';
import {
  type DeliveryRecord,
  type EventRecord,
  eventSummary,
  type RunRecord,
} from '../../../machines/webhook/record.ts';
import { fc, runs } from '../../support/property.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

const event: EventRecord = {
  ...plainEvent,
  status: 'ignored',
  receivedAtMs: 1,
};
const marksOf = (key: string, change: object): object => {
  const { ofWork, ...others } = marksOfEvent(key, { ...event, ...change } as unknown as JsonObject);
  return ofWork === undefined ? others : { ...others, ofWork };
};

t.test('DUR-2 · CON-4 · an event bears its route, its job and its id, and its status where no work shows it', (t) => {
  const status = [statusMark('ignored'), statusMark('ignored', 'r')];
  t.same(marksOf('k', {}), { shared: [routeMark('r'), ...status], own: idMark('d') });
  t.same(marksOf('k', { cronJob: 'j' }), { shared: [routeMark('r'), ...status, jobMark('j')], own: idMark('d') });
  t.same(marksOf('k', { status: 'accepted', work: 'k' }), { shared: [routeMark('r')], own: idMark('d') });
  t.match(
    marksOf('k', { status: 'cron' }),
    { shared: [routeMark('r'), ...status] },
    'one that fired no job is ignored',
  );
  t.same(
    marksOf('k', { status: 'coalesced', work: 'first' }),
    { shared: [routeMark('r')], own: idMark('d'), ofWork: workMark('first') },
    'one that joined the work of another is found by it',
  );
  t.same(
    marksOf('k', { status: 'duplicate' }),
    { shared: [routeMark('r'), statusMark('duplicate'), statusMark('duplicate', 'r')], own: undefined },
    'an id leads to the event, not to its duplicate',
  );
  t.match(marksOf('k', { status: 'duplicate', reason: 'same signature as delivery e' }), { own: idMark('d') });
  t.same(
    marksOf('k', { route: 5, status: undefined, deliveryId: 7 }),
    { shared: [], own: undefined },
    'what is damaged',
  );
  t.end();
});

t.test('DUR-2 · DLV-5 · work under way bears no status that passes, and a target is one by any of its names', (t) => {
  const marks = (work: object, isDue: boolean): readonly string[] => marksOfWork(work as JsonObject, isDue).shared;
  t.same(marks({ ...plainRun, status: 'running' }, true), [routeMark('r')]);
  t.same(
    marks({ ...plainRun, status: 'running' }, false),
    [routeMark('r'), statusMark('running'), statusMark('running', 'r')],
    'nobody finds it by being due',
  );
  t.same(marks({ ...plainRun, status: 'failed' }, true), [routeMark('r'), ...marksOfStatus('failed', 'r')]);
  t.same(marks({ ...plainDelivery, target: 'slack' }, true), marks({ ...plainDelivery, target: 'team_chat_a' }, true));
  t.equal(targetMark('of nobody'), 'tof nobody');
  t.same([marksOfStatus(undefined, 'r'), marksOfStatus('failed', undefined)], [[], [statusMark('failed')]]);
  t.end();
});

t.test('DUR-2 · a status passes exactly where it may stand on work that is due', (t) => {
  const over = [
    'delivered',
    'partial',
    'failed',
    'interrupted',
    'cancelled',
    'unknown',
    'deadLettered',
    'dropped',
    'ignored',
  ];
  for (const status of new Set<string>([...eventStatuses, ...runStatuses, ...deliveryStatuses]))
    t.equal(isPassing(status), ![...over, 'duplicate', 'refused'].includes(status), status);
  t.notOk(isPassing(undefined));
  t.end();
});

t.test('DUR-2 · CON-4 · what work shows of its events is what their rows show', async () => {
  const run = fc.constantFrom(...runStatuses).map((status): RunRecord => ({ ...plainRun, status }));
  const delivery = fc.constantFrom(...deliveryStatuses).map((status): DeliveryRecord => ({ ...plainDelivery, status }));
  const work = fc.record({
    run: fc.option(run, { nil: undefined }),
    delivery: fc.option(delivery, { nil: undefined }),
  });
  fc.assert(
    fc.property(work, fc.constantFrom(...eventStatuses), ({ run, delivery }, status) => {
      const row = eventSummary({ ...event, status, work: 'k' }, run ?? delivery);
      const shown = shownOfWork(
        run as unknown as JsonObject | undefined,
        delivery as unknown as JsonObject | undefined,
      );
      return (shown ?? status) === row.status && historyStatuses.includes(row.status);
    }),
  );
});

t.test('DUR-2 · no two questions share a mark', async () => {
  const name = fc.string({ maxLength: 6, unit: fc.constantFrom('a', 'b', '/', 's', 'p', 'r') });
  fc.assert(
    fc.property(name, name, (one, other) => {
      const marks = [routeMark(one), statusMark(one), targetMark(one), jobMark(one), idMark(one), workMark(one)];
      return new Set(marks).size === marks.length && (one === other || routeMark(one) !== routeMark(other));
    }),
  );
});

t.test(
  'IDM-1 · DUR-2 · the mark of an id leads to its claims on every route, and to those of no other id',
  async () => {
    const part = fc.string({ maxLength: 4, unit: fc.constantFrom('a', '/', '%', '2', 'F', 'é') });
    fc.assert(
      fc.property(part, part, part, part, (profile, route, deliveryId, other) => {
        const begin = claimsOfMark(idMark(other)) ?? '';
        return claimOfEvent({ profile, route, deliveryId })?.startsWith(begin) === (deliveryId === other);
      }),
      { numRuns: runs(2_000) },
    );
  },
);

t.test('DUR-2 · no claim leads to an event without an id, and none by another mark', (t) => {
  t.equal(claimOfEvent({ profile: 'p', route: 'r' }), undefined);
  t.equal(claimOfEvent({ profile: 'p', route: 'r', deliveryId: 5 }), undefined);
  for (const mark of [routeMark('i'), statusMark('ignored'), workMark('id'), jobMark('id')]) {
    t.equal(claimsOfMark(mark), undefined, mark);
  }
  t.end();
});
