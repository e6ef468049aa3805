import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { parseDocument } from '../../../machines/config/document.ts';
import { maxFields, parseBody, readablePayload, splitItems } from '../../../machines/webhook/body.ts';
import { decodeBody } from '../../../machines/webhook/charset.ts';
import { compileCoalesceKey } from '../../../machines/webhook/coalesce.ts';
import { compileFilters } from '../../../machines/webhook/filter.ts';
import { compilePrompt } from '../../../machines/webhook/template.ts';
import { fc } from '../../support/property.ts';

const typed = (type: string | undefined): Readonly<Record<string, string>> =>
  type === undefined ? {} : { 'content-type': type };

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
    ['{"a":1}', 'application/x-www-form-urlencoded', { a: 1 }],
    [' \n{"a":"b=c&d"}', 'application/x-www-form-urlencoded', { a: 'b=c&d' }],
    ['{"a":1', 'application/x-www-form-urlencoded', { '{"a":1': '' }],
    ['{a}=1&payload=%7B%22a%22%3A1%7D', 'application/x-www-form-urlencoded', { a: 1 }],
    ['[1]', 'application/x-www-form-urlencoded', undefined],
    ['[a]=1', 'application/x-www-form-urlencoded', { '[a]': '1' }],
  ];
  for (const [body, type, expected] of rows) {
    const parsed = parseBody(decodeBody(Buffer.from(body as string)), typed(type));
    t.same(parsed.ok ? parsed.value : undefined, expected, `${String(body)} as ${type}`);
  }
  for (const [text, type, why] of [
    [undefined, undefined, 'the body is not UTF-8'],
    ['', 'application/x-www-form-urlencoded', 'the form is empty'],
    ['7', undefined, 'the body is JSON but not an object'],
    [
      '[1]',
      undefined,
      'the body is an array; set body: each on the route to take an event from each item, or body: raw',
    ],
    ['{', undefined, 'the body is not JSON'],
    ['<a/>', 'application/xml', 'the body is not JSON (application/xml)'],
    [undefined, 'text/xml', 'the body is not UTF-8 (text/xml)'],
    ['payload=nope', 'application/x-www-form-urlencoded', 'the payload field of the form is not JSON'],
  ] as const) {
    t.same(parseBody(text, typed(type)), { ok: false, why });
  }
  const form = typed('application/x-www-form-urlencoded');
  for (const array of ['[{"a":1}]', 'payload=%5B%7B%22a%22%3A1%7D%5D'])
    for (const [shape, parsed] of [
      ['each', { ok: true, items: [{ a: 1 }] }],
      ['object', { ok: false, why: /^the body is an array/ }],
    ] as const)
      t.match(parseBody(array, form, { shape }), parsed, `${array} of a form where ${shape} is expected`);
  for (const text of [undefined, '\u001f'])
    t.match(parseBody(text, { 'content-encoding': 'GZIP' }), {
      ok: false,
      why: /compressed \(content-encoding: GZIP\)/,
    });
  const polluted = parseBody('{"__proto__":{"x":1}}', {});
  t.equal(({} as { x?: unknown }).x, undefined, 'no prototype is touched');
  t.ok(polluted.ok);
  fc.assert(fc.property(fc.uint8Array(), (bytes) => typeof parseBody(decodeBody(bytes), {}).ok === 'boolean'));
  t.end();
});

t.test(
  'SRC-4 · what a header calls data is one event, whatever it is; nothing is an event where a source sends that',
  (t) => {
    const rule = { shape: 'each', dataBy: 'ce-id' } as const;
    for (const [body, payload] of [
      ['{"a":1}', { a: 1 }],
      ['[{"a":1},2]', { items: [{ a: 1 }, 2] }],
      ['"text"', { data: 'text' }],
      ['7', { data: 7 }],
      ['<a/>', { data: '<a/>' }],
      ['', {}],
    ] as const) {
      const parsed = parseBody(body, { 'ce-id': '1', 'content-type': 'application/xml' }, rule);
      t.same(parsed, { ok: true, value: payload }, body);
      t.same(parsed.ok && splitItems(parsed), undefined, 'and never split');
    }
    t.match(parseBody('[1]', {}, rule), { items: [1] }, 'without the header an array is several events');
    t.same(parseBody('', {}, { shape: 'object', mayBeEmpty: true }), { ok: true, value: {} });
    for (const body of [' ', 'null'])
      t.match(parseBody(body, {}, { shape: 'object', mayBeEmpty: true }), { ok: false }, JSON.stringify(body));
    t.end();
  },
);

t.test(
  'LIM-3 · a form that is not UTF-8 keeps its letters, in the charset that its sender names or the usual one',
  (t) => {
    const form = 'application/x-www-form-urlencoded';
    for (const [text, type, expected] of [
      ['name=M%FCller&n=%805', form, { name: 'Müller', n: '€5' }],
      ['name=M%fcller', `${form}; charset=iso-8859-1`, { name: 'Müller' }],
      ['name=M%FCller', `${form}; charset=utf-8`, { name: 'Müller' }],
      ['name=M%FCller', `${form}; charset=iso-8859-99`, { name: 'Müller' }],
      ['name=%CF%E5%F2%F0', `${form};charset="windows-1251"`, { name: 'Петр' }],
      ['name=%83%5C', `${form}; charset=Shift_JIS`, { name: 'ソ' }],
      ['%FC=1%26+%2B&%FC=2', form, { ü: ['1& +', '2'] }],
      ['name=M%C3%BCller', `${form}; charset=iso-8859-1`, { name: 'Müller' }],
      ['name=M%C3%BCller&rate=100%', form, { name: 'Müller', rate: '100%' }],
      ['name=%EF%BF%BD', form, { name: '\uFFFD' }],
      // As it is verified.
      ['payload=%7B%22a%22%3A%22%FC%22%7D', form, { a: '\uFFFD' }],
    ] as const) {
      const parsed = parseBody(text, typed(type));
      t.strictSame(parsed.ok ? parsed.value : undefined, expected, `${text} as ${type}`);
      if (parsed.ok) t.equal(readablePayload(text, typed(type)), JSON.stringify(expected));
    }
    t.end();
  },
);

t.test('DUR-2 · a form is shown as the JSON of its payload, any other body as it came', (t) => {
  const form = typed('application/x-www-form-urlencoded');
  t.equal(readablePayload('payload=%7B%22a%22%3A1%7D', form), '{"a":1}');
  t.equal(readablePayload('a=1&b=x+y', form), '{"a":"1","b":"x y"}');
  for (const body of ['{"a": 1}', 'payload=nope', '']) t.equal(readablePayload(body, form), body);
  t.equal(readablePayload('a=1', typed('application/json')), 'a=1');
  const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  t.ok(readablePayload(`payload=${encodeURIComponent(deep)}`, form) === deep, 'of any depth');
  const enveloped = (data: string) => `{"message": {"data": "${data}", "messageId": "1"}, "subscription": "s"}`;
  t.equal(
    readablePayload(enveloped('eyJuIjoxfQ=='), typed('application/json')),
    '{"message":{"data":{"n":1},"messageId":"1"},"subscription":"s"}',
    'a message of Pub/Sub',
  );
  t.equal(readablePayload(enveloped('//4='), typed('application/json')), enveloped('//4='), 'bytes that are no text');
  t.end();
});

t.test('SEC-3 · a form has at most a thousand fields, and each is read once', (t) => {
  const form = typed('application/x-www-form-urlencoded');
  const fields = (count: number): string => Array.from({ length: count }, (_, at) => `a${at}=${at}`).join('&');
  const full = parseBody(fields(maxFields), form);
  t.ok(full.ok);
  if (full.ok) t.equal(Object.keys(full.value).length, maxFields);
  const why = 'the form has more than 1000 fields';
  t.same(parseBody(fields(maxFields + 1), form), { ok: false, why });
  t.same(parseBody('&'.repeat(1_000_000), form), { ok: false, why });
  t.same(parseBody('__proto__=1&constructor=2&__proto__=3', form).ok, true);
  t.equal(({} as { 0?: unknown })[0], undefined, 'no prototype is touched');
  const pair = fc.tuple(fc.constantFrom('a', 'b', 'ü c', '__proto__'), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(fc.array(pair, { minLength: 1, maxLength: 20 }), (pairs) => {
      const parsed = parseBody(new URLSearchParams(pairs).toString(), form);
      const all = (name: string) => pairs.filter(([other]) => other === name).map(([, value]) => value);
      const names = [...new Set(pairs.map(([name]) => name))];
      t.ok(parsed.ok);
      if (!parsed.ok) return;
      t.same(Object.keys(parsed.value), names);
      for (const name of names) {
        const values = all(name);
        t.same(Object.getOwnPropertyDescriptor(parsed.value, name)?.value, values.length === 1 ? values[0] : values);
      }
    }),
  );
  t.end();
});

t.test('COA-1 · FIL-2 · TPL-1 · ids beyond 2^53 stay apart in keys, conditions and prompts, however they came', (t) => {
  const key = compileCoalesceKey('id');
  const { value } = parseDocument(
    'filters:\n  - { any: [{ field: id, equals: 10000000000000000001 }, { field: id, in: [-9007199254740993] }] }\n',
  );
  const { filters } = value as { readonly filters: readonly JsonObject[] };
  const compiled = compileFilters(filters);
  const prompt = compilePrompt('{id} {nested}');
  const rows: readonly (readonly [id: string, passes: string])[] = [
    ['10000000000000000001', 'matched'],
    ['10000000000000000002', 'unmatched'],
    ['-9007199254740993', 'matched'],
    ['-9007199254740992', 'unmatched'],
  ];
  for (const [id, passes] of rows) {
    const json = `{"id":${id},"nested":[${id}]}`;
    for (const [body, type] of [
      [json, 'application/json'],
      [json, 'application/x-www-form-urlencoded'],
      [`payload=${encodeURIComponent(json)}`, 'application/x-www-form-urlencoded'],
    ] as const) {
      const parsed = parseBody(body, typed(type));
      const payload = parsed.ok ? parsed.value : {};
      const view = { payload, event: 'x', eventType: 'x', headers: {}, list: () => undefined };
      t.equal(key(view), id);
      t.equal(compiled.ok && compiled.value.match(view).kind, passes, id);
      t.equal(prompt.render(view), `${id} ["${id}"]`);
    }
  }
  t.end();
});
