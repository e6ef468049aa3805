import t from 'tap';
import { createLineSplitter } from '../../../runtime/control/lines.ts';
import { fc } from '../../support/property.ts';

function cut(chunks: readonly Buffer[], maxLength = 1_000): { lines: string[]; overflows: number } {
  const lines: string[] = [];
  let overflows = 0;
  const splitter = createLineSplitter(
    maxLength,
    (line) => void lines.push(line),
    () => {
      overflows += 1;
    },
  );
  for (const chunk of chunks) splitter.add(chunk);
  return { lines, overflows };
}

t.test('CLI-3 · one message a line, wherever the chunks end', (t) => {
  const text = fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' '));
  fc.assert(
    fc.property(fc.array(text), fc.integer({ min: 1, max: 7 }), (written, size) => {
      const bytes = Buffer.from(written.map((line) => `${line}\n`).join(''));
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      );
      const expected = written.filter((line) => line.trim() !== '');
      return JSON.stringify(cut(chunks).lines) === JSON.stringify(expected);
    }),
  );
  t.same(cut([Buffer.from('a\r\n\n  \nb')]), { lines: ['a\r'], overflows: 0 }, 'a line without its end is none yet');
  t.end();
});

t.test('CLI-3 · a blank line costs no text, and a line of one chunk no copy', (t) => {
  const made = (text: string): { readonly lines: number; readonly texts: number; readonly parts: number } => {
    const chunk = Buffer.from(text);
    let texts = 0;
    let parts = 0;
    const { toString: asText, subarray } = chunk;
    chunk.toString = (...given) => {
      texts += 1;
      return asText.apply(chunk, given);
    };
    chunk.subarray = (...given) => {
      parts += 1;
      return subarray.apply(chunk, given);
    };
    return { lines: cut([chunk]).lines.length, texts, parts };
  };
  for (const blank of ['\n', '\r\n', ' \t \n']) t.same(made(blank.repeat(100_000)), { lines: 0, texts: 0, parts: 0 });
  t.same(made('\n{}\n\n{}\n'.repeat(1_000)), { lines: 2_000, texts: 2_000, parts: 0 });
  t.end();
});

t.test('CLI-3 · a line beyond the limit is reported and dropped, and takes no memory with it', (t) => {
  t.same(cut([Buffer.from('x'.repeat(10))], 10), { lines: [], overflows: 0 });
  t.same(cut([Buffer.from('x'.repeat(11))], 10), { lines: [], overflows: 1 });
  t.same(cut([Buffer.from('x'.repeat(6)), Buffer.from('x'.repeat(6)), Buffer.from('\nok\n')], 10), {
    lines: ['ok'],
    overflows: 1,
  });
  t.same(cut([Buffer.from(`${'x'.repeat(50)}\nok\n`)], 10).lines.at(-1), 'ok', 'a whole line is read at any length');
  t.end();
});
