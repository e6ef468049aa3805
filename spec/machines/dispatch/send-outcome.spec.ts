import t from 'tap';
import {
  deliveredAs,
  mayTryAgain,
  outcomeOf,
  partly,
  refused,
  type SendOutcome,
  transient,
  unknownOutcome,
} from '../../../machines/dispatch/send-outcome.ts';

const limited = { kind: 'rateLimited', retryAfterMs: 1_500, reason: 'too fast' } as const;
const sent = { pieces: 1, of: 3, messageId: 'm1' };

t.test('DLV-4 · an outcome reads in the record’s three words, and only nothing delivered is `failed`', (t) => {
  const rows: readonly (readonly [SendOutcome, ReturnType<typeof outcomeOf>, boolean])[] = [
    [{ kind: 'delivered', messageId: 'm1' }, { kind: 'delivered', messageId: 'm1' }, false],
    [{ kind: 'delivered' }, { kind: 'delivered' }, false],
    [refused('auth', 'no'), { kind: 'failed', reason: 'no' }, false],
    [transient('away'), { kind: 'failed', reason: 'away' }, true],
    [limited, { kind: 'failed', reason: 'too fast; it may be tried again in 2 s' }, true],
    [unknownOutcome('lost'), { kind: 'unknown', reason: 'lost' }, false],
    [
      partly(transient('away'), sent),
      { kind: 'unknown', reason: 'away (piece 2 of 3; those before were delivered, the first as m1)' },
      false,
    ],
    [
      partly(limited, { pieces: 2, of: 3 }),
      {
        kind: 'unknown',
        reason: 'too fast (piece 3 of 3; those before were delivered); it may be tried again in 2 s',
      },
      false,
    ],
    [
      partly(refused('tooLong', 'no'), sent),
      { kind: 'unknown', reason: 'no (piece 2 of 3; those before were delivered, the first as m1)' },
      false,
    ],
  ];
  for (const [outcome, settled, again] of rows) {
    t.same(outcomeOf(outcome), settled);
    t.equal(mayTryAgain(outcome), again, JSON.stringify(outcome));
  }
  t.end();
});

t.test('DLV-4 · a message’s id is what a platform gives as one', (t) => {
  t.same(
    ['m1', 7, '', null, {}].map((id) => deliveredAs(id)),
    [
      { kind: 'delivered', messageId: 'm1' },
      { kind: 'delivered', messageId: '7' },
      { kind: 'delivered' },
      { kind: 'delivered' },
      { kind: 'delivered' },
    ],
  );
  t.end();
});
