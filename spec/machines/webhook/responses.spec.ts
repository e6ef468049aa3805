import t from 'tap';
import type { FollowedStep } from '../../../machines/config/route.ts';
import type { DeliveryRecord, RunRecord } from '../../../machines/webhook/record.ts';
import {
  followedAt,
  placesOf,
  responseKeys,
  runKeyOf,
  textFor,
  withResponses,
} from '../../../machines/webhook/responses.ts';
import { plainDelivery, plainEvent, plainRun } from '../../support/records.ts';

t.test('DLV-7 · a response goes to each entry that fits, and to the log where none does', (t) => {
  const place = { target: 'slack', extra: { chat_id: 'C1' } };
  t.same(placesOf({ ...plainEvent, deliver: 'slack', deliverExtra: place.extra }), [place]);
  t.same(placesOf({ ...plainEvent, deliverTo: [place, place] }), [place, place]);
  t.same(placesOf({ ...plainEvent, deliverTo: [] }), [{ target: 'log', extra: {} }]);
  t.same(placesOf(undefined), [{ target: 'log', extra: {} }]);
  t.end();
});

t.test('DLV-6 · DLV-7 · of the entries that fit, some get the response, and others report what else they list', (t) => {
  const place = { target: 'http', extra: {} };
  const steps = (on: readonly FollowedStep[]) => ({ ...place, on });
  const rows: readonly (readonly [Parameters<typeof followedAt>[0], ReturnType<typeof followedAt>])[] = [
    [[place], { deliverTo: [place] }],
    [[steps(['finished'])], { deliverTo: [place] }],
    [[place, steps(['accepted', 'failed'])], { deliverTo: [place], reports: ['accepted', 'failed'] }],
    [[steps(['failed', 'finished']), steps(['failed'])], { deliverTo: [place], reports: ['failed'] }],
    [[steps(['approval'])], { deliverTo: [], reports: ['approval'] }],
  ];
  for (const [places, expected] of rows) t.same(followedAt(places), expected, JSON.stringify(places));
  t.end();
});

t.test('DLV-7 · TPL-1 · a text takes the response in, and does not read it again', (t) => {
  const place = { target: 'log', extra: {} };
  t.equal(textFor(place, 'Fine.'), 'Fine.');
  t.equal(
    textFor({ ...place, text: ['{response} by ', ', ', ''] }, '{response}'),
    '{response} by {response}, {response}',
  );
  t.end();
});

t.test('DLV-7 · the deliveries of a run have its key, and lead back to it', (t) => {
  const keys = responseKeys('0mi3', 3);
  t.same(keys, ['0mi3', '0mi3~2', '0mi3~3']);
  t.same(keys.map(runKeyOf), ['0mi3', '0mi3', '0mi3']);
  t.same(responseKeys('0mi3'), ['0mi3']);
  t.end();
});

t.test('DLV-7 · DUR-3 · a run is what its deliveries have come to together', (t) => {
  const run: RunRecord = { ...plainRun, reason: 'of before', dropped: true };
  type Status = DeliveryRecord['status'];
  const rows: readonly (readonly [readonly Status[], object])[] = [
    [['delivered'], { status: 'delivered', reason: undefined }],
    [['deadLettered'], { status: 'failed', reason: 'why' }],
    [['delivered', 'waitingToRetry'], { status: 'delivering', reason: undefined, dropped: undefined }],
    [['delivered', 'delivered'], { status: 'delivered', reason: undefined }],
    [['delivered', 'unknown'], { status: 'partial', reason: '1 of 2 delivered; slack: why' }],
    [['deadLettered', 'unknown'], { status: 'unknown', reason: '0 of 2 delivered; slack: why; slack: why' }],
    [['dropped', 'deadLettered'], { status: 'failed', dropped: undefined }],
    [['dropped', 'dropped'], { status: 'failed', dropped: true }],
  ];
  for (const [statuses, expected] of rows) {
    const deliveries = statuses.map((status) => ({
      ...plainDelivery,
      status,
      target: 'slack',
      ...(status === 'delivered' ? {} : { reason: status === 'unknown' ? 'slack: why' : 'why' }),
    }));
    t.match(withResponses(run, deliveries), expected, statuses.join(', '));
  }
  t.end();
});
