import t from 'tap';
import { BodyReader } from '../../../runtime/http/body-reader.ts';
import type { BodyOutcome } from '../../../runtime/http/front.ts';
import { fc } from '../../support/property.ts';

t.test('LIM-1 · a body in any chunks is whole up to the cap, and cut off one byte beyond it', (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 9 }), fc.nat(40), (chunks, cap) => {
      const outcomes: BodyOutcome[] = [];
      const reader = new BodyReader(cap, (outcome) => outcomes.push(outcome));
      for (const chunk of chunks) reader.add(Buffer.from(chunk));
      reader.end();
      reader.end();
      reader.abort();
      const whole = Buffer.concat(chunks);
      const [outcome] = outcomes;
      if (outcomes.length !== 1 || !reader.settled) return false;
      return whole.length > cap
        ? outcome?.kind === 'tooLarge'
        : outcome?.kind === 'read' && outcome.bytes.equals(whole);
    }),
  );
  t.end();
});

t.test('LIM-1 · a client that leaves settles the body once', (t) => {
  const outcomes: BodyOutcome[] = [];
  const reader = new BodyReader(10, (outcome) => outcomes.push(outcome));
  reader.add(Buffer.from('half'));
  reader.abort();
  reader.add(Buffer.from('x'.repeat(20)));
  reader.end();
  t.same(outcomes, [{ kind: 'aborted' }]);
  t.end();
});
