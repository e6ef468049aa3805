import t from 'tap';
import { targets } from '../../../machines/config/targets.ts';
import { paceOf } from '../../../machines/dispatch/pace.ts';

t.test('DLV-4 · a platform has its own pace, and the configuration may set another', (t) => {
  t.same(paceOf('sms', {}), { concurrency: 4, gapMs: 0, chatGapMs: 0 });
  t.same(paceOf('whatsapp', {}), { concurrency: 4, gapMs: 13, chatGapMs: 6_000 });
  t.same(paceOf('weixin', {}), { concurrency: 4, gapMs: 1_500, chatGapMs: 0 });
  t.same(paceOf('dingtalk', { concurrency: 1, perMinute: 30 }), { concurrency: 1, gapMs: 2_000, chatGapMs: 0 });
  for (const target of targets.keys()) {
    const { gapMs, chatGapMs } = paceOf(target, {});
    t.ok(gapMs >= 0 && gapMs < 10_000 && chatGapMs >= 0 && chatGapMs < 10_000, target);
  }
  t.end();
});
