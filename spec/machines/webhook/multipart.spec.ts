import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { maxFields, parseBody, readablePayload } from '../../../machines/webhook/body.ts';
import { fc, runs } from '../../support/property.ts';

const typed = (parameters: string) => ({ 'content-type': `multipart/form-data${parameters}` });
/** A form of one part, with the bytes of its text as Latin-1. */
const formOf = (head: string, content: string): string => `--x\r\n${head}\r\n\r\n${content}\r\n--x--\r\n`;
const field = (name: string, content: string, more = ''): string =>
  `--x\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;

function read(body: string, parameters = '; boundary=x'): unknown {
  const parsed = parseBody(Buffer.from(body, 'latin1'), typed(parameters));
  return parsed.ok ? parsed.value : parsed.why;
}

t.test('LIM-3 · a form with parts is read as its senders write it', (t) => {
  const image = { name: 'a.png', type: 'image/png', size: 2 };
  const named = 'Content-Disposition: form-data; name="a"';
  const csv = `${named}; filename="a.csv"\r\nContent-Type: text/csv`;
  const rows: readonly (readonly [what: string, body: string, expected: unknown, parameters?: string])[] = [
    ['fields', `${field('a', '1')}${field('b', '2')}${field('b', '3')}--x--`, { a: '1', b: ['2', '3'] }],
    ['a quoted boundary', formOf(named, '1'), { a: '1' }, '; charset=utf-8; Boundary="x"'],
    ['text before and after it', `To read it,\r\n${formOf(named, '1')}--x\r\nafter`, { a: '1' }],
    ['space behind a boundary', `--x \t\r\n${named}\r\n\r\n1\r\n--x--`, { a: '1' }],
    [
      'lines that are almost a boundary',
      formOf(named, 'one\r\n--xy\r\n -\r\nx--\n--x\r\r\n'),
      {
        a: 'one\r\n--xy\r\n -\r\nx--\n--x\r\r\n',
      },
    ],
    ['an empty value, also without its line', `${field('a', '')}--x\r\n${named}\r\n\r\n--x--`, { a: ['', ''] }],
    ['a file', formOf(`${named}; filename="a.png"\r\nContent-Type: image/png`, '\xff\x00'), { a: image }],
    [
      'the same as .NET writes it',
      formOf(
        `Content-Type: image/png\r\nContent-Disposition: form-data; name=a; filename=x.png; filename*=utf-8''a.png`,
        '\xff\x00',
      ),
      { a: image },
    ],
    [
      'a folded head',
      formOf(`content-disposition: form-data;\r\n\tname="a";\r\n filename="a"`, ''),
      {
        a: { name: 'a', type: 'application/octet-stream', size: 0 },
      },
    ],
    ['a text file', formOf(csv, '1,\xc3\xbc'), { a: { name: 'a.csv', type: 'text/csv', size: 4, text: '1,ü' } }],
    [
      'another charset',
      formOf(`${csv};charset=windows-1251`, '\xcf'),
      {
        a: { name: 'a.csv', type: 'text/csv', size: 1, text: 'П' },
      },
    ],
    [
      'a habitual charset',
      formOf(`${named}\r\nContent-Type: text/plain; charset=ISO-8859-1`, 'M\xfc\x80'),
      { a: 'Mü€' },
    ],
    ['UTF-8 called so', formOf(`${named}\r\nContent-Type: text/plain; charset=US-ASCII`, 'M\xc3\xbc'), { a: 'Mü' }],
    [
      'what is not UTF-8, called so',
      formOf(`${named}\r\nContent-Type: text/plain; charset=utf-8`, 'M\xfc'),
      { a: 'Mü' },
    ],
    ['an unknown charset', formOf(`${named}\r\nContent-Type: text/plain; charset=none`, 'M\xfc'), { a: 'Mü' }],
    [
      'the charsets of SendGrid',
      `${field('a', '\x1b$B%F\x1b(B')}${field('charsets', '{"a":"iso-2022-jp"}')}--x--`,
      {
        a: 'テ',
        charsets: '{"a":"iso-2022-jp"}',
      },
    ],
    ['a common charset', `${field('_charset_', 'koi8-r')}${field('a', '\xf0')}--x--`, { _charset_: 'koi8-r', a: 'П' }],
    ['a name in UTF-8', formOf('Content-Disposition: form-data; name="\xc3\xbc"', '1'), { ü: '1' }],
    ['encoded quotes', formOf('Content-Disposition: form-data; name="%22a%0D%0A%25"', '1'), { '"a\r\n%25': '1' }],
    [
      'escaped quotes',
      formOf(`${named}; filename="\\"a\\".bin"`, ''),
      {
        a: { name: '"a".bin', type: 'application/octet-stream', size: 0 },
      },
    ],
    [
      'a path of Windows',
      formOf('Content-Disposition: form-data; filename="C:\\"; name="a"', ''),
      {
        a: { name: 'C:\\', type: 'application/octet-stream', size: 0 },
      },
    ],
    [
      'a binary field',
      formOf(`${named}\r\nContent-Type: image/png`, '\xff\x00'),
      { a: { type: 'image/png', size: 2 } },
    ],
    ['text of another type', formOf(`${named}\r\nContent-Type: application/octet-stream`, 'a'), { a: 'a' }],
    ['Base64', formOf(`${named}\r\nContent-Transfer-Encoding: BASE64`, 'w7w='), { a: 'ü' }],
    ['8bit', formOf(`${named}\r\nContent-Transfer-Encoding: 8bit`, 'w7w='), { a: 'w7w=' }],
    ['a nested form', formOf(named, '--y\r\n\r\n1\r\n--y--'), { a: '--y\r\n\r\n1\r\n--y--' }],
    ['a payload', `${field('payload', '{"a":1}')}${field('thumb', '\xff', '; filename="t.jpg"')}--x--`, { a: 1 }],
    [
      'a payload as a file',
      formOf(
        'Content-Disposition: form-data; name="payload"; filename="p.json"\r\nContent-Type: application/json',
        '{"a":1}',
      ),
      { a: 1 },
    ],
    [
      'a payload that is an image',
      `${field('payload', '\xff', '; filename="t.jpg"')}--x--`,
      {
        payload: { name: 't.jpg', type: 'application/octet-stream', size: 1 },
      },
    ],
    ['JSON under that name', '{"a":1}', { a: 1 }, ''],
  ];
  for (const [what, body, expected, parameters] of rows) t.strictSame(read(body, parameters), expected, what);
  const polluted = parseBody(
    Buffer.from(`${field('__proto__', '1')}${field('__proto__', '2')}--x--`),
    typed('; boundary=x'),
  );
  t.ok(polluted.ok && Object.hasOwn(polluted.value, '__proto__'));
  t.equal(({} as { 0?: unknown })[0], undefined, 'no prototype is touched');
  t.end();
});

t.test('LIM-3 · a form with parts that cannot be read is refused with what is wrong with it', (t) => {
  const many = (count: number): string => `${field('a', '').repeat(count)}--x--`;
  for (const [body, why, parameters] of [
    [formOf('', ''), /names no boundary; let the client that builds the form set that header$/, ''],
    [formOf('', ''), /names no boundary/, '; boundary=""'],
    [formOf('', ''), /longer than 70 characters$/, `; boundary=${'x'.repeat(71)}`],
    ['', /is not in the body, or its lines do not end in CRLF$/],
    [field('a', '1').replaceAll('\r', ''), /lines do not end in CRLF$/],
    [` ${formOf('', '')}`.replace('\r\n--x--', ''), /is not in the body/],
    [field('a', '1'), 'the form is cut off in part 1: its last boundary is missing'],
    [`${field('a', '1')}${field('b', '2').slice(0, -4)}`, /cut off in part 2/],
    ['--x--', 'the form is empty'],
    [`${field('a', '1')}--x\r\n\r\n2\r\n--x--`, 'part 2 of the form has no name'],
    [formOf('Content-Disposition: form-data; filename="a"', ''), 'part 1 of the form has no name'],
    [formOf(`Content-Disposition: form-data; name="${'a'.repeat(8_192)}"`, ''), /^the head of part 1 .* too long$/],
    [many(maxFields + 1), 'the form has more than 1000 fields'],
    [field('payload', 'nope').concat('--x--'), 'the payload field of the form is not JSON'],
    [field('payload', '[1]').concat('--x--'), /^the body is an array/],
  ] as const)
    t.match(read(body, parameters), why);
  t.match(read(many(maxFields)), { a: { length: maxFields } });
  const entire = `${field('a', '1\r\n-')}${field('b', '\xff\r\n', '; filename="c"')}--x--`;
  t.type(read(entire), 'object');
  for (let end = 0; end < entire.length; end += 1) t.type(read(entire.slice(0, end)), 'string', `cut at ${end}`);
  const zipped = { ...typed('; boundary=x'), 'content-encoding': 'gzip' };
  t.match(parseBody(Buffer.from([0x1f, 0x8b]), zipped), { ok: false, why: /compressed \(content-encoding: gzip\)/ });
  t.end();
});

t.test('LIM-3 · what FormData writes is read as it was, and other bytes have a verdict', async (t) => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 }).map((one) => one.toWellFormed());
  // The encoding of a name loses what looks encoded already, and the decoder the mark of UTF-8.
  const name = text.filter((one) => one !== 'payload' && !/%(?:22|0[ad])|^\uFEFF/i.test(one));
  const value = fc.oneof(
    text.filter((one) => !one.startsWith('\uFEFF')),
    fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), filename: name.filter((one) => one !== '') }),
  );
  const lines = (one: string): string => one.replace(/\r\n?|\n/g, '\r\n');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 6 }), async (entries) => {
      const form = new FormData();
      const expected: [string, Json][] = [];
      for (const [key, held] of entries) {
        if (typeof held === 'string') form.append(key, held);
        else form.append(key, new Blob([held.bytes], { type: 'image/png' }), held.filename);
        const file = typeof held === 'string' ? undefined : { type: 'image/png', size: held.bytes.length };
        expected.push([lines(key), typeof held === 'string' ? lines(held) : { name: lines(held.filename), ...file }]);
      }
      const response = new Response(form);
      const headers = { 'content-type': response.headers.get('content-type') ?? '' };
      const parsed = parseBody(Buffer.from(await response.arrayBuffer()), headers);
      const names = [...new Set(expected.map(([key]) => key))];
      t.ok(parsed.ok);
      if (!parsed.ok) return;
      t.strictSame(Object.keys(parsed.value).sort(), names.sort());
      for (const one of names) {
        const values = expected.filter(([key]) => key === one).map(([, held]) => held);
        const found = Object.getOwnPropertyDescriptor(parsed.value, one)?.value;
        t.strictSame(found, values.length === 1 ? values[0] : values);
      }
      // What the journal keeps of it, a replay reads again.
      const kept = JSON.stringify(parsed.value);
      t.equal(readablePayload(kept, headers), kept);
      t.strictSame(parseBody(Buffer.from(kept), headers), { ok: true, value: parsed.value });
    }),
    { numRuns: runs(200) },
  );
  fc.assert(fc.property(fc.uint8Array(), (bytes) => typeof parseBody(bytes, typed('; boundary=x')).ok === 'boolean'));
});
