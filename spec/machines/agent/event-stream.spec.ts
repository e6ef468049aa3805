import t from 'tap';
import { createEventReader } from '../../../machines/agent/event-stream.ts';
import { fc, runs } from '../../support/property.ts';

function readAll(chunks: readonly string[]): string[] {
  const reader = createEventReader();
  return chunks.flatMap((chunk) => reader.read(chunk));
}

t.test('DIS-3 · the data of events is cut out of a stream: names, comments, joined lines, each line ending', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['data: a\n\n', ['a']],
    ['\uFEFFdata:a\n\n', ['a']],
    [': hello\n\nevent: x\ndata: a\ndata:  b\nid: 7\nretry: 1\n\n', ['a\n b']],
    ['event: nothing\n\ndata\n\n', ['']],
    ['data: a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    ['data: unfinished\n', []],
    ['', []],
  ];
  for (const [text, events] of rows) t.same(readAll([text]), events, JSON.stringify(text));
  t.end();
});

t.test('FLT-4 · the last id is that of an event with data', (t) => {
  const reader = createEventReader();
  for (const [chunk, id] of [
    ['id: 1\n', ''],
    ['data: a\n\n', '1'],
    ['data: b\n\nid:\ndata: c\n\n', '1'],
    ['id: 2\n\n', '1'],
    ['data\nid:3\r', '1'],
    ['\r', '3'],
  ] as const) {
    reader.read(chunk);
    t.equal(reader.lastId(), id, JSON.stringify(chunk));
  }
  t.end();
});

t.test('DIS-3 · where the chunks end changes nothing', (t) => {
  const piece = fc.constantFrom('data: ', 'event: e', 'x', '\n', '\r\n', '\r', ':', ' ', 'ü');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(80), { maxLength: 8 }), (pieces, cuts) => {
      const text = pieces.join('');
      const ends = [...new Set([0, ...cuts.map((at) => Math.min(at, text.length)), text.length])].sort((a, b) => a - b);
      const chunks = ends.slice(1).map((end, index) => text.slice(ends[index], end));
      t.same(readAll(chunks), readAll([text]), JSON.stringify(chunks));
    }),
    { numRuns: runs(300) },
  );
  t.end();
});
