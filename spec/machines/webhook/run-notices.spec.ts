import t from 'tap';
import type { EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import { failureNotices, noticeKey } from '../../../machines/webhook/run-notices.ts';
import { plainEvent, plainRun } from '../../support/records.ts';

const event: EventRecord = {
  ...plainEvent,
  deliveryId: 'd1',
  onFailure: { target: 'slack', extra: { chat_id: 'C1' } },
};
const failed: RunRecord = { ...plainRun, eventKey: 'k1', status: 'failed', reason: 'exit code 1' };

const noticesOf = (run: Partial<RunRecord>, of: Partial<EventRecord> = {}) =>
  failureNotices('run1', { ...failed, ...run }, { event: { ...event, ...of }, nowMs: 9 });
const noticeOf = (...given: Parameters<typeof noticesOf>) => noticesOf(...given)[0];

t.test('DIS-4 · the notice of a failed run is a delivery of its own, to the place that its event holds', (t) => {
  t.same(noticeOf({}), {
    eventKey: 'k1',
    failedRun: 'run1',
    deliveryId: 'd1',
    profile: 'default',
    route: 'r',
    event: 'push',
    target: 'slack',
    status: 'queued',
    text: 'Run failed: route "r", event push, delivery d1\nReason: exit code 1\nTimeline and remedy: agent inspect why k1',
    extra: { chat_id: 'C1' },
    queuedAtMs: 9,
  });
  t.equal(noticeKey('run1'), 'run1.failed');
  t.match(noticeOf({ status: 'interrupted', reason: 'cut off' }), { text: /^Run interrupted: .*\nReason: cut off\n/ });
  t.end();
});

t.test('DIS-4 · only a run that failed for good without a response has a notice', (t) => {
  for (const status of ['queued', 'running', 'delivering', 'delivered', 'unknown', 'cancelled'] as const) {
    t.equal(noticeOf({ status }), undefined, status);
  }
  t.equal(noticeOf({ response: '' }), undefined, 'its response could not be delivered, which is a dead letter');
  t.equal(noticeOf({}, { onFailure: undefined }), undefined);
  t.same(failureNotices('run1', failed, { event: undefined, nowMs: 9 }), [], 'its event is forgotten');
  t.end();
});

t.test('DIS-4 · DLV-6 · a failure that is reported to http too has a second notice', (t) => {
  const both = noticesOf({}, { reports: ['accepted', 'failed'] });
  t.match(both, [{ target: 'slack' }, { target: 'http', extra: {}, failedRun: 'run1', nth: 2 }]);
  t.equal(both[1]?.text, both[0]?.text);
  t.match(noticesOf({}, { reports: ['failed'], onFailure: undefined }), [{ target: 'http', nth: undefined }]);
  t.equal(noticesOf({}, { reports: ['accepted'] }).length, 1);
  t.end();
});

t.test('DIS-4 · the words of a sender are one short line without invisible characters, and in no command', (t) => {
  const long = 'x'.repeat(2_000);
  const notice = noticeOf({ reason: `a\nb\u202ec ${long}` }, { event: 'p\u200b\tq', deliveryId: `$(id)\n${long}` });
  const lines = notice?.text.split('\n') ?? [];
  t.equal(lines.length, 3);
  t.match(lines[0], /^Run failed: route "r", event p q, delivery \$\(id\) x{114}…$/);
  t.match(lines[1], /^Reason: a b c x{594}…$/);
  t.equal(lines[2], 'Timeline and remedy: agent inspect why k1');
  t.end();
});

t.test('DIS-4 · CRN-1 · PRF-1 · the notice names the job or the route, and a profile beside the default', (t) => {
  const rows: readonly (readonly [Partial<RunRecord>, RegExp, Partial<EventRecord>?])[] = [
    [{ kind: 'cron', route: 'cron/nightly' }, /^Run failed: cron job "nightly", /],
    [{ kind: 'cron', route: 'cron/x' }, /^Run failed: route "cron\/x", /, { scheme: 'github' }],
    [{ kind: 'cron', route: 'cron/x' }, /^Run failed: route "cron\/x", /, { replayOf: 'k0' }],
    [{ kind: 'cron', route: 'deploys' }, /^Run failed: route "deploys", /],
    [{ kind: 'agent', route: 'cron/x' }, /^Run failed: route "cron\/x", /],
    [{ profile: 'work' }, /^Run failed: route "r" of profile "work", /],
  ];
  for (const [run, text, of] of rows) t.match(noticeOf(run, { route: run.route ?? 'r', ...of })?.text, text);
  t.end();
});
