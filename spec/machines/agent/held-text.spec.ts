import t from 'tap';
import { createHeldText } from '../../../machines/agent/held-text.ts';
import { isLinear } from '../../support/linear.ts';
import { fc, runs } from '../../support/property.ts';

const secret = 'hunter22';
const redact = (text: string): string => text.replaceAll(secret, '[redacted]').replace(/(Bearer )\S+/g, '$1[redacted]');

function shown(pieces: readonly string[]): string {
  const held = createHeldText(redact);
  return pieces.map((piece) => held.push(piece)).join('') + held.flush();
}

t.test('CLI-4 · OBS-1 · words come as they are whole, the last one at the end', (t) => {
  const held = createHeldText(redact);
  t.same(
    ['Hel', 'lo wo', 'rld, ', 'the pass is hun', 'ter22', ' and\nmore'].map((piece) => held.push(piece)),
    ['', 'Hello ', 'world, ', 'the pass is ', '', '[redacted] and\n'],
  );
  t.equal(held.flush(), 'more');
  t.equal(held.flush(), '');
  t.end();
});

t.test('CLI-4 · a text without spaces comes by its punctuation', (t) => {
  const held = createHeldText(redact);
  t.same(
    ['今日', 'は、良', 'い天気です。明', '日は？「は'].map((piece) => held.push(piece)),
    ['', '今日は、', '良い天気です。', '明日は？「'],
  );
  t.equal(held.flush(), 'は');
  t.end();
});

t.test('OBS-1 · what a later word betrays is not shown, and nothing is shown twice', (t) => {
  t.equal(shown(['Bearer', ' ', 'abc', 'def', ' end']), 'Bearer [redacted] end');
  t.end();
});

t.test('OBS-1 · however a text is cut, it comes whole and clean', (t) => {
  const word = fc.oneof(fc.constant(secret), fc.constant('Bearer token-of-it'), fc.constantFrom('a', 'bc', 'ü', '😀'));
  const gap = fc.constantFrom(' ', '\n', '  ', '\t');
  const text = fc.array(fc.tuple(word, gap)).map((parts) => parts.flat().join(''));
  fc.assert(
    fc.property(text, fc.array(fc.nat(200)), (whole, cuts) => {
      const ends = [...new Set([0, ...cuts.map((at) => Math.min(at, whole.length)), whole.length])].sort(
        (a, b) => a - b,
      );
      const pieces = ends.slice(1).map((end, index) => whole.slice(ends[index], end));
      t.equal(shown(pieces), redact(whole), JSON.stringify(pieces));
    }),
    { numRuns: runs(300) },
  );
  t.end();
});

t.test('CLI-4 · a line without an end is let out', (t) => {
  const held = createHeldText(redact);
  t.equal(held.push('x'.repeat(5_000)), 'x'.repeat(5_000));
  t.end();
});

t.test('CLI-4 · the last word of a line is found in time in proportion to the line', (t) => {
  const showing = (size: number) => {
    const word = 'x'.repeat(size);
    return () => createHeldText((text) => text).push(`${word} y`);
  };
  t.ok(isLinear(showing, 250));
  t.end();
});
