import t from 'tap';
import { deliveredAs, partly, refused, transient, unknownOutcome } from '../../../machines/dispatch/send-outcome.ts';

t.test('DLV-4 · a failure says how many pieces went before it, and stays what it was', (t) => {
  for (const outcome of [refused('tooLong', 'no'), transient('no'), unknownOutcome('no')]) {
    t.same(partly(outcome, { pieces: 1, of: 3, messageId: 'm1' }), {
      ...outcome,
      reason: 'no (piece 2 of 3; those before were delivered, the first as m1)',
      partly: { pieces: 1, of: 3, messageId: 'm1' },
    });
    t.match(partly(outcome, { pieces: 2, of: 3 }), { reason: 'no (piece 3 of 3; those before were delivered)' });
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
