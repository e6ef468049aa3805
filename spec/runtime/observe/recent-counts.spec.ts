import t from 'tap';
import { createRecentCounts } from '../../../runtime/observe/recent-counts.ts';

t.test('INS-4 · what ended lately is counted by name and minute, and forgotten after seven days', (t) => {
  let nowMs = 0;
  const counts = createRecentCounts(() => nowMs);
  counts.add('default/a', { tookMs: 100, failed: false });
  nowMs = 120_000;
  counts.add('default/a', { tookMs: 300, failed: false });
  counts.add('default/a', { tookMs: 9_000, failed: true });
  counts.add('default/b', { tookMs: 1, failed: false });

  t.match(counts.read('default/a', 0), { count: 3, failed: 1 });
  const { median_ms = 0, p95_ms } = counts.read('default/a', 60_000);
  t.equal(p95_ms, median_ms);
  t.ok(Math.abs(median_ms - 300) < 6, 'the durations of what failed do not count');
  t.same(counts.read('default/a', 60_000), { count: 2, failed: 1, median_ms, p95_ms: median_ms });
  t.same(counts.read('nothing', 0), { count: 0, failed: 0 });

  t.same(counts.lastHour('default/a').slice(-3), [1, 0, 2], 'the running minute is the last');
  nowMs = 59 * 60_000;
  t.same([...counts.lastHour('default/a').slice(0, 3), counts.lastHour('nothing').length], [1, 0, 2, 60]);

  nowMs = 8 * 86_400_000;
  counts.add('default/a', { tookMs: 1, failed: false });
  t.equal(counts.read('default/a', 0).count, 1);
  t.end();
});

t.test('INS-4 · minutes become hours once no read of the last hour needs them', (t) => {
  const minuteMs = 60_000;
  let nowMs = 0;
  const counts = createRecentCounts(() => nowMs);
  const ofLastHour: number[] = [];
  for (let minute = 0; minute < 180; minute += 1) {
    nowMs = minute * minuteMs;
    counts.add('default/a', { tookMs: minute < 60 ? 100 : 300, failed: minute % 2 === 0 });
    ofLastHour.push(counts.read('default/a', nowMs - 59 * minuteMs).count);
  }
  t.same(
    ofLastHour,
    ofLastHour.map((_, minute) => Math.min(minute + 1, 60)),
  );
  t.equal(
    counts.read('default/a', 90 * minuteMs).count,
    90,
    'an hour that ended less than an hour ago, by its minutes',
  );
  nowMs = 180 * minuteMs;
  counts.add('default/a', { tookMs: 100, failed: false });
  t.equal(counts.read('default/a', 90 * minuteMs).count, 121, 'an older one as a whole');
  t.equal(counts.read('default/a', 120 * minuteMs).count, 61);
  const { count, failed, median_ms = 0 } = counts.read('default/a', 0);
  t.same([count, failed], [181, 90], 'nothing is lost');
  t.ok(Math.abs(median_ms - 300) < 6, 'nor are the durations');
  t.end();
});
