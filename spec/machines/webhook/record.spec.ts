import t from 'tap';
import {
  asSeen,
  claimName,
  type DeliveryRecord,
  eventSummary,
  groupName,
  runRow,
} from '../../../machines/webhook/record.ts';
import { fc } from '../../support/property.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

t.test('IDM-1 · claims and groups of different routes never share a name', (t) => {
  const part = fc.string({ maxLength: 6 });
  fc.assert(
    fc.property(part, part, part, part, part, part, (a, b, c, d, e, f) => {
      const same = a === d && b === e && c === f;
      return (
        (claimName(a, b, c) === claimName(d, e, f)) === same && (groupName(a, b, c) === groupName(d, e, f)) === same
      );
    }),
  );
  t.equal(claimName('a/b', 'c', 'd') === claimName('a', 'b/c', 'd'), false);
  for (const odd of ['k'.repeat(121), 'a\0b', 'lone \ud800'])
    t.match(groupName('a', 'b', odd), /^a\/b\/sha256:[0-9a-f]{64}$/, 'what no store keeps as it is');
  t.end();
});

t.test('DIS-2 · DLV-4 · a direct text that is marked on disk but waits for its turn is seen as queued', (t) => {
  const record = { status: 'sending', target: 'slack' } as DeliveryRecord;
  t.same(asSeen(record, 'queued'), { ...record, status: 'queued' });
  for (const living of ['sending', 'marking', undefined]) t.equal(asSeen(record, living), record);
  const over = { ...record, status: 'delivered' } as DeliveryRecord;
  t.equal(asSeen(over, 'queued'), over);
  t.end();
});

t.test('DLV-4 · CON-4 · the row of what a person dropped says so, and counts as failed', (t) => {
  const dropped = { status: 'failed', dropped: true } as const;
  t.match(eventSummary(plainEvent, { ...plainDelivery, status: 'dropped' }), dropped);
  t.match(eventSummary(plainEvent, { ...plainRun, ...dropped }), dropped);
  t.match(runRow('r', { ...plainRun, ...dropped }, undefined), dropped);
  t.notOk('dropped' in eventSummary(plainEvent, { ...plainDelivery, status: 'deadLettered' }));
  t.end();
});
