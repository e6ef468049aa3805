import fc from 'fast-check';
import t from 'tap';
import { decodeBody, parseBody } from '../../../machines/webhook/body.ts';

t.test('LIM-3 · only a UTF-8 JSON object is a payload', (t) => {
  const rows: readonly (readonly [string | Buffer, string | undefined, unknown])[] = [
    ['{"a":1}', undefined, { a: 1 }],
    ['\uFEFF{"a":1}', 'application/json', { a: 1 }],
    ['[1]', undefined, undefined],
    ['"x"', undefined, undefined],
    ['null', undefined, undefined],
    ['{', undefined, undefined],
    ['', undefined, undefined],
    [Buffer.from([0x7b, 0xff, 0x7d]), undefined, undefined],
    [Buffer.from('{"a":"\xff"}', 'latin1'), undefined, undefined],
    ['payload=%7B%22a%22%3A1%7D', 'application/x-www-form-urlencoded', { a: 1 }],
    ['payload=nope', 'application/x-www-form-urlencoded', undefined],
    ['a=1&b=2&b=3', 'Application/X-WWW-Form-Urlencoded; charset=utf-8', { a: '1', b: ['2', '3'] }],
    ['', 'application/x-www-form-urlencoded', undefined],
  ];
  for (const [body, type, expected] of rows) {
    const parsed = parseBody(decodeBody(Buffer.from(body as string)), type);
    t.same(parsed.ok ? parsed.value : undefined, expected, `${String(body)} as ${type}`);
  }
  for (const [text, type, why] of [
    [undefined, undefined, 'the body is not UTF-8'],
    ['', 'application/x-www-form-urlencoded', 'the form is empty'],
    ['[1]', undefined, 'the body is JSON but not an object'],
    ['{', undefined, 'the body is not JSON'],
  ] as const) {
    t.same(parseBody(text, type), { ok: false, why });
  }
  const polluted = parseBody('{"__proto__":{"x":1}}', undefined);
  t.equal(({} as { x?: unknown }).x, undefined, 'no prototype is touched');
  t.ok(polluted.ok);
  fc.assert(fc.property(fc.uint8Array(), (bytes) => typeof parseBody(decodeBody(bytes), undefined).ok === 'boolean'));
  t.end();
});
