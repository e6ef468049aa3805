import t from 'tap';
import { BodyReader, leastBytes } from '../../../runtime/http/body-reader.ts';
import type { BodyOutcome } from '../../../runtime/http/http-server.ts';
import { heldBytes } from '../../support/collect-garbage.ts';
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

t.test('RTE-4 · a span begins anew with every 16 KiB, however they come', (t) => {
  const reader = new BodyReader(1_000_000, () => {});
  t.equal(leastBytes, 16_384);
  const began = Array.from({ length: 8 }, () => reader.add(Buffer.alloc(leastBytes / 4)));
  t.same(began, [false, false, false, true, false, false, false, true]);
  t.end();
});

t.test('SEC-3 · a body costs no more memory than is asked for, in chunks of one byte as well', (t) => {
  let asked = 0;
  const count = 200_000;
  const outcomes: BodyOutcome[] = [];
  const reader = new BodyReader(
    2 * count,
    (outcome) => outcomes.push(outcome),
    (bytes) => {
      asked += bytes;
      return true;
    },
  );
  const before = heldBytes();
  for (let at = 0; at < count; at += 1) reader.add(Buffer.from([at]));
  const used = heldBytes() - before;
  reader.end();

  t.ok(asked >= count && asked <= 2 * count, `asked for ${asked}`);
  t.ok(used < asked + 1_000_000, `asked for ${asked}, used ${used}`);
  const [outcome] = outcomes;
  t.equal(outcome?.kind === 'read' && outcome.bytes.length, count);
  t.end();
});

t.test('SEC-3 · memory that is refused ends the reading, the first time', (t) => {
  const outcomes: BodyOutcome[] = [];
  const asked: number[] = [];
  const reader = new BodyReader(
    100,
    (outcome) => outcomes.push(outcome),
    (bytes) => asked.push(bytes) < 4,
  );
  for (let at = 0; at < 80; at += 1) reader.add(Buffer.from([at]));
  t.same([outcomes, asked], [[{ kind: 'crowded' }], [1, 3, 6, 12]], 'twice what has come, less what is there');
  t.end();
});
