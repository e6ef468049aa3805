import t from 'tap';
import { cellsOf, createFlow } from '../../../cli/chat/flow.ts';
import { fc } from '../../support/property.ts';

/** What a terminal shows of it: each line as it stands, cells that were taken back cleared. */
function rendered(written: string): string {
  const lines: string[][] = [[]];
  let at = 0;
  for (const character of written.replaceAll('\u001b[K', '\u0000')) {
    const line = lines.at(-1) ?? [];
    const cells = cellsOf(character);
    if (character === '\n') {
      lines.push([]);
      at = 0;
    } else if (character === '\b') at -= 1;
    else if (character === '\u0000') line.splice(at);
    else if (cells === 0) line[at - 1] += character;
    else {
      line.splice(at, cells, character, ...Array.from({ length: cells - 1 }, () => ''));
      at += cells;
    }
  }
  return lines.map((line) => line.join('').trimEnd()).join('\n');
}

const flowed = (pieces: readonly string[], columns: number): string => {
  const flow = createFlow(() => columns);
  return rendered(pieces.map((piece) => flow.push(piece)).join(''));
};

t.test('CLI-4 · a streamed text is broken between words where the terminal ends', (t) => {
  const rows: readonly (readonly [what: string, pieces: readonly string[], columns: number, shown: string])[] = [
    ['fits', ['one two'], 8, 'one two'],
    ['one cell too many', ['one two'], 7, 'one\ntwo'],
    ['a word in two pieces', ['one tw', 'o three'], 10, 'one two\nthree'],
    ['a word that grows past the edge', ['one tw', 'elve', 'th x'], 8, 'one\ntwelveth\nx'],
    ['its own lines', ['one\n\ntwo three'], 6, 'one\n\ntwo\nthree'],
    ['indented', ['  - one two'], 9, '  - one\ntwo'],
    ['a line begins anew after a break', ['aaa bbb\nccc ddd'], 8, 'aaa bbb\nccc ddd'],
    ['longer than a line', ['a https://x.exa', 'mple/123 b'], 10, 'a\nhttps://x.example/123 b'],
    ['two cells a character', ['汉字汉字'], 6, '汉字\n汉字'],
    ['a mark stays with its word', ['汉字', '。字'], 6, '汉\n字。\n字'],
    ['pictures and marks above', ['🎉🎉 e\u0301e\u0301'], 8, '🎉🎉 e\u0301e\u0301'],
    ['code keeps its lines', ['a b\n```js\nlet a = b;\n```\nc d'], 3, 'a\nb\n```js\nlet a = b;\n```\nc\nd'],
  ];
  for (const [what, pieces, columns, shown] of rows) t.equal(flowed(pieces, columns), shown, what);
  t.end();
});

t.test('CLI-4 · all of it is shown at once; a word that grows past the edge is taken back', (t) => {
  const flow = createFlow(() => 10);
  t.equal(flow.push('one tw'), 'one tw');
  t.equal(flow.push('elv'), 'elv');
  t.equal(flow.push('e'), '\b\b\b\b\b\u001b[K\ntwelve');
  t.equal(flow.push(' x'), ' x');
  flow.begin();
  t.equal(flow.push('012345678'), '012345678', 'a line of its own');
  t.equal(flow.push(' y'), '\ny');
  t.end();
});

t.test('CLI-4 · whatever the pieces: nothing is lost, nothing added but breaks, no line of words too long', (t) => {
  const character = fc.constantFrom('a', 'b', ' ', ' ', '\n', '字', '。', '🎉', 'e\u0301', '\t');
  const text = fc.array(character, { maxLength: 80 }).map((all) => all.join(''));
  const cells = (line: string): number => [...line].reduce((sum, one) => sum + cellsOf(one), 0);
  fc.assert(
    fc.property(
      text,
      fc.array(fc.nat(80), { maxLength: 6 }),
      fc.integer({ min: 4, max: 30 }),
      (said, cuts, columns) => {
        const at = [0, ...cuts.map((cut) => cut % (said.length + 1)).sort((one, other) => one - other), said.length];
        const whole = flowed([said], columns);
        const pieces = at.slice(1).map((end, index) => said.slice(at[index], end));
        // A pair of code units comes as one.
        if (pieces.every((piece) => piece.isWellFormed()) && flowed(pieces, columns) !== whole) return false;
        const isKept = whole.replace(/\s/g, '') === said.replace(/\s/g, '');
        // A first word that no line holds goes on below by itself.
        const first = (line: string): string => /^\s*\S*/.exec(line)?.[0] ?? '';
        const fits = whole.split('\n').every((line) => cells(line) < columns || cells(first(line)) >= columns);
        return isKept && fits;
      },
    ),
  );
  t.end();
});
