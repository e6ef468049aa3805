import t from 'tap';
import { type Attempt, defaultRetries, nextTry, type TryHistory } from '../../../machines/dispatch/next-try.ts';
import {
  partly,
  refused,
  type SendOutcome,
  stillUnsure,
  transient,
  unknownOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { fc } from '../../support/property.ts';

const limited = (retryAfterMs: number): SendOutcome => ({ kind: 'rateLimited', retryAfterMs, reason: 'slow' });
const failing = (notBeforeMs: number): SendOutcome => ({ kind: 'transient', notBeforeMs, reason: 'away' });
const fresh: TryHistory = { sinceMs: 0, failures: 0 };
const after = (outcome: SendOutcome, history: Partial<TryHistory> = {}, attempt: Partial<Attempt> = {}) =>
  nextTry(
    { ...fresh, ...history },
    {
      outcome,
      startedAtMs: 900,
      endedAtMs: 1_000,
      jitter: 0,
      deduplicatesForMs: 0,
      policy: defaultRetries,
      ...attempt,
    },
  );

t.test('DLV-4 · each outcome has what follows it', (t) => {
  const rows: readonly (readonly [ReturnType<typeof nextTry>, object])[] = [
    [after({ kind: 'delivered', messageId: 'm' }), { kind: 'delivered', messageId: 'm' }],
    [after(refused('auth', 'no')), { kind: 'gaveUp', reason: 'no' }],
    [after(transient('away')), { kind: 'retry', dueAtMs: 3_000, failures: 1 }],
    [after(transient('away'), { failures: 3 }), { kind: 'retry', dueAtMs: 17_000, failures: 4 }],
    [after(transient('away'), { failures: 14 }), { kind: 'gaveUp', failures: 15 }],
    [after(transient('away'), {}, { jitter: 0.5 }), { kind: 'retry', dueAtMs: 2_500 }],
    // The platform's own wait, which spends no try.
    [after(limited(7_000)), { kind: 'retry', dueAtMs: 8_000, failures: 0 }],
    [after(limited(7_000), { failures: 14 }), { kind: 'retry', dueAtMs: 8_000, failures: 14 }],
    [after(limited(7_000), {}, { jitter: 0.9 }), { kind: 'retry', dueAtMs: 8_900 }],
    // A wait of nothing is none.
    [after(limited(0)), { kind: 'retry', dueAtMs: 3_000, failures: 1 }],
    [after(limited(0), { failures: 14 }), { kind: 'gaveUp', reason: 'slow', failures: 15 }],
    [
      after(limited(90_000_000)),
      { kind: 'gaveUp', reason: 'slow; not before 90000 s, and a delivery is retried for a day' },
    ],
    // A wait that a failure asks for is the least one; the attempt is spent.
    [after(failing(7_000)), { kind: 'retry', dueAtMs: 8_000, failures: 1 }],
    [after(failing(7_000), {}, { jitter: 0.9 }), { kind: 'retry', dueAtMs: 8_900 }],
    [after(failing(7_000), { failures: 3 }), { kind: 'retry', dueAtMs: 17_000, failures: 4 }],
    [after(failing(7_000), { failures: 14 }), { kind: 'gaveUp', reason: 'away', failures: 15 }],
    [after(failing(7_000), { answerByMs: 7_999 }), { kind: 'gaveUp', reason: 'away; not before 7 s' }],
    // Waits end at an hour, and tries after a day.
    [after(transient('away'), { failures: 13 }), { kind: 'retry', dueAtMs: 3_601_000 }],
    [after(limited(86_399_000)), { kind: 'retry', dueAtMs: 86_400_000 }],
    [after(limited(86_399_001)), { kind: 'gaveUp' }],
    // Whoever waits is not kept waiting.
    [after(transient('away'), { answerByMs: 3_000 }), { kind: 'retry' }],
    [after(transient('away'), { answerByMs: 2_999 }), { kind: 'gaveUp' }],
  ];
  for (const [next, expected] of rows) t.match(next, expected, JSON.stringify(expected));
  t.end();
});

t.test('DUR-1 · what may have arrived goes again only while the platform would know it again', (t) => {
  t.match(after(unknownOutcome('lost')), { kind: 'unsure', unsureSinceMs: 900 });
  const known = { deduplicatesForMs: 10_000 };
  t.match(after(unknownOutcome('lost'), {}, known), { kind: 'retry', dueAtMs: 3_000, unsureSinceMs: 900 });
  t.match(after(unknownOutcome('lost'), {}, { deduplicatesForMs: 2_100 }), { kind: 'unsure' });
  // The first doubt counts, whatever came after it.
  t.match(after(unknownOutcome('lost'), { unsureSinceMs: 100 }, known), { kind: 'retry', unsureSinceMs: 100 });
  t.match(after(transient('away'), { unsureSinceMs: 100 }, known), { kind: 'retry', unsureSinceMs: 100 });
  t.match(after(limited(9_100), { unsureSinceMs: 100 }, known), { kind: 'unsure' });
  t.match(after(refused('permanent', 'no'), { unsureSinceMs: 100 }, known), { kind: 'unsure' });
  t.match(after({ kind: 'delivered' }, { unsureSinceMs: 100 }), { kind: 'delivered' });
  // Within one try: the last request was answered, one before it was not.
  t.match(after(stillUnsure(refused('forbidden', 'no')), {}, known), { kind: 'unsure', unsureSinceMs: 900 });
  t.match(after(stillUnsure(transient('away')), {}, known), { kind: 'retry', unsureSinceMs: 900 });
  for (const unsure of [unknownOutcome('lost'), stillUnsure(transient('away'))])
    t.equal(stillUnsure(unsure), unsure, 'said once');
  t.match(after(stillUnsure({ kind: 'rateLimited', retryAfterMs: 9_900, reason: 'slow' }), {}, known), {
    kind: 'unsure',
  });
  t.end();
});

t.test('DLV-4 · pieces that arrived are remembered, and end the doubt about those before', (t) => {
  const sent = { pieces: 2, of: 5, messageId: 'm' };
  t.match(after(partly(transient('away'), sent)), { kind: 'retry', sent });
  t.match(after(transient('away'), { sent }), { kind: 'retry', sent });
  t.match(after(partly(refused('forbidden', 'no'), sent)), { kind: 'gaveUp', sent });
  t.match(after(partly(unknownOutcome('lost'), sent)), { kind: 'unsure', sent });
  const later = { pieces: 3, of: 5 };
  const went = after(partly(transient('away'), later), { sent, unsureSinceMs: 100 });
  t.match(went, { kind: 'retry', sent: later });
  t.notOk('unsureSinceMs' in went);
  t.notOk('unsureSinceMs' in after(partly(transient('away'), { pieces: 1, of: 5 }), { unsureSinceMs: 100 }));
  t.match(after(partly(transient('away'), sent), { sent, unsureSinceMs: 100 }, { deduplicatesForMs: 10_000 }), {
    unsureSinceMs: 100,
  });
  t.end();
});

t.test('DLV-4 · DUR-1 · whatever comes, tries end, waits are bounded and doubt is never forgotten', (t) => {
  const outcome = fc.oneof(
    fc.constant(transient('away')),
    fc.constant(unknownOutcome('lost')),
    fc.integer({ min: 0, max: 100_000 }).map(limited),
    fc.integer({ min: 0, max: 100_000 }).map(failing),
  );
  fc.assert(
    fc.property(
      fc.array(outcome, { minLength: 20, maxLength: 40 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      fc.constantFrom(0, 60_000, Number.POSITIVE_INFINITY),
      (outcomes, jitter, deduplicatesForMs) => {
        let history = fresh;
        let nowMs = 0;
        for (const one of outcomes) {
          const next = nextTry(history, {
            outcome: one,
            startedAtMs: nowMs,
            endedAtMs: nowMs + 10,
            jitter,
            deduplicatesForMs,
            policy: defaultRetries,
          });
          if (next.kind !== 'retry') return next.kind === 'unsure' || !('unsureSinceMs' in next);
          if (next.dueAtMs < nowMs || next.dueAtMs > 86_400_000) return false;
          if (one.kind === 'unknown' && deduplicatesForMs === 0) return false;
          if (next.unsureSinceMs !== undefined && next.dueAtMs - next.unsureSinceMs >= deduplicatesForMs) return false;
          history = { sinceMs: 0, ...next };
          nowMs = next.dueAtMs;
        }
        return history.failures < defaultRetries.attempts;
      },
    ),
  );
  t.end();
});
