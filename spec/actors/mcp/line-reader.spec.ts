import { mock } from 'node:test';
import t from 'tap';
import { createLineReader, type LineReader, type LineSink } from '../../../actors/mcp/line-reader.ts';
import { fc } from '../../support/property.ts';

/** Takes every line as a text, rubbish too; after so many lines the turn is over. */
function texts(lines: string[], maxInTurn = Number.POSITIVE_INFINITY): LineSink {
  let taken = 0;
  const take = (count: number): boolean => {
    taken += count;
    const mayGoOn = taken < maxInTurn;
    if (!mayGoOn) taken = 0;
    return mayGoOn;
  };
  return {
    line(line) {
      lines.push(line.toString());
      return take(1);
    },
    rubbish(piece, count) {
      lines.push(...piece.toString().split('\n').slice(0, -1));
      return take(count);
    },
  };
}

/** Pushes a chunk and reads all of it, turn after turn; counts the turns. */
function pushAll(reader: LineReader, chunk: Buffer): number {
  let turns = 1;
  for (let state = reader.push(chunk); state === 'waiting'; state = reader.resume()) turns += 1;
  return turns;
}

t.test('ERA-3 · LIF-14 · lines are the same however a stream is cut and shared out to turns', (t) => {
  const line = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom('', ' ', '\t\r', '{}', ' {"a":1}', 'a', '\r', '\ufeff{}', '\ufeff'),
  );
  const property = fc.property(
    fc.array(line),
    fc.array(fc.nat(7)),
    fc.integer({ min: 1, max: 5 }),
    (parts, cuts, max) => {
      const bytes = Buffer.from(parts.join('\n'));
      const lines: string[] = [];
      const reader = createLineReader(1_000, texts(lines, max));
      let from = 0;
      for (const cut of cuts) {
        pushAll(reader, bytes.subarray(from, from + cut));
        from += cut;
      }
      pushAll(reader, bytes.subarray(from));
      const written = bytes.toString().split('\n').slice(0, -1);
      t.same(
        lines,
        written.filter((text) => !/^[ \t\r]*$/.test(text)),
        'all but the blank ones',
      );
    },
  );
  fc.assert(property, { numRuns: 50 });
  t.end();
});

t.test('LIF-9 · a line over the cap is refused, and all that follows', (t) => {
  const lines: string[] = [];
  const reader = createLineReader(4, texts(lines));
  for (const chunk of ['abcd\nab', 'cd', '\n']) t.equal(reader.push(Buffer.from(chunk)), 'drained');
  for (const chunk of ['x\nabcde', '\nx\n']) t.equal(reader.push(Buffer.from(chunk)), 'overflowed');
  t.same(lines, ['abcd', 'abcd', 'x']);
  t.end();
});

t.test('LIF-9 · a long line costs no more than its bytes', (t) => {
  const chunk = Buffer.alloc(1_024, '{');
  let length = 0;
  const reader = createLineReader(200_000_000, {
    line(line) {
      length = line.length;
      return true;
    },
    rubbish: () => true,
  });
  const joining = mock.method(Buffer, 'concat');
  t.teardown(() => joining.mock.restore());
  for (let count = 0; count < 100_000; count += 1) reader.push(chunk);
  reader.push(Buffer.from('\n'));
  t.equal(length, 102_400_000);
  t.equal(joining.mock.callCount(), 1, 'joined once: at each chunk it would copy five terabytes');
  t.end();
});

t.test('LIF-14 · a chunk of messages, rubbish or blank lines is handed on in pieces', (t) => {
  for (const [text, max, expected] of [
    ['{}\n', 10, 100],
    ['words\n', 16, 63],
    ['\n', 10, 1],
  ] as const) {
    const reader = createLineReader(1_000, texts([], max));
    // One turn more may find that nothing is left.
    t.ok(pushAll(reader, Buffer.from(text.repeat(1_000))) - expected <= 1, JSON.stringify(text));
  }
  t.end();
});
