import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { compileExtra, compilePrompt, compileTemplate } from '../../../machines/webhook/template.ts';
import { fc } from '../../support/property.ts';

const render = (text: string, payload: JsonObject = {}, eventType = 'push'): string =>
  compileTemplate(text).render({ payload, eventType });

t.test('TPL-1 · substitutes and nothing else', (t) => {
  const payload: JsonObject = {
    a: { b: { c: 'deep' } },
    list: [{ x: 1 }, 'two'],
    yes: true,
    none: null,
    one: 1,
    tricky: '{a.b.c}',
    event_type: 'from the payload',
  };
  const rows: readonly (readonly [string, string])[] = [
    ['{a.b.c}', 'deep'],
    ['{a.b}', '{"c":"deep"}'],
    ['{list.0.x}/{list.1}', '1/two'],
    ['{list}', '[{"x":1},"two"]'],
    ['{yes} {none} {one}', 'true null 1'],
    ['{missing} {a.nope}', '{missing} {a.nope}'],
    ['{tricky}', '{a.b.c}'],
    ['{event_type}', 'pull_request'],
    ['{}{ a }{{one}}', '{}{ a }{1}'],
    ['{__proto__} {constructor}', '{__proto__} {constructor}'],
    ['no tokens', 'no tokens'],
    ['', ''],
  ];
  for (const [text, expected] of rows) t.equal(render(text, payload, 'pull_request'), expected, text);
  t.end();
});

t.test('TPL-1 · cuts the raw payload at 4000 characters and nested values at 2000, without a marker', (t) => {
  const payload = { long: { text: 'é'.repeat(9_000) } };
  t.equal([...render('{__raw__}', payload)].length, 4_000);
  t.equal([...render('{long}', payload)].length, 2_000);
  t.equal(render('{long.text}', payload).length, 9_000, 'a text itself is whole');
  const emoji = { e: ['😀'.repeat(3_000)] };
  t.equal([...render('{e}', emoji)].length, 2_000, 'characters, not UTF-16 units');
  t.notMatch(render('{e}', emoji), /[\uD800-\uDBFF]$/, 'no half of a pair is left');
  t.end();
});

t.test('TPL-1 · a value is formatted no further than it is shown, whatever its size and depth', (t) => {
  const nested = (depth: number, inner: string): JsonObject =>
    JSON.parse(`{"a":${'['.repeat(depth)}${inner}${']'.repeat(depth)}}`) as JsonObject;
  // Indented whole, this one is more than two thousand million characters: it cannot be spelled and then cut.
  const wide = nested(2_200, `${'0,'.repeat(500_000)}0`);
  t.equal(render('{__raw__}', wide), JSON.stringify(nested(100, '0'), null, 2).slice(0, 4_000));
  t.equal(render('{a}', wide), '['.repeat(2_000));
  const deep = nested(500_000, '');
  t.equal(render('{__raw__}', deep).length, 4_000);
  t.equal(render('{a} {a.0}', deep), `${'['.repeat(2_000)} ${'['.repeat(2_000)}`);
  t.end();
});

t.test('TPL-1 · a token is looked up and serialized once, however often it is named', (t) => {
  for (const token of ['__raw__', 'a', 'a.b']) {
    const readsOf = (times: number): number => {
      let reads = 0;
      const payload = Object.defineProperty({}, 'a', {
        enumerable: true,
        get() {
          reads += 1;
          return { b: ['x'] };
        },
      });
      const one = render(`{${token}}`, payload);
      reads = 0;
      t.equal(render(`{${token}}`.repeat(times), payload), one.repeat(times));
      return reads;
    };
    t.equal(readsOf(4_000), readsOf(1), token);
  }
  t.end();
});

t.test('TPL-1 · a rendered text ends at 16 Mi UTF-16 units, and at no half of a character', (t) => {
  const text = '😀'.repeat(500_000);
  for (const [start, times, length] of [
    ['', 16, 16_000_000],
    ['', 2_000, 16 * 1_048_576],
    ['-', 2_000, 16 * 1_048_576 - 1],
  ] as const) {
    t.equal(render(start + '{text}'.repeat(times), { text }).length, length, `${start}${times}`);
  }
  t.end();
});

t.test('TPL-1 · without a prompt the indented payload is the prompt', (t) => {
  const payload = { a: [1] };
  t.equal(compilePrompt(undefined).render({ payload, eventType: '' }), JSON.stringify(payload, null, 2));
  t.end();
});

t.test('COA-1 · values that distinguish events stand whole, whatever their length', (t) => {
  const payload = { long: { text: 'x'.repeat(9_000) } };
  const whole = compileTemplate('{__raw__}|{long}', 'whole').render({ payload, eventType: '' });
  t.equal(whole, `${JSON.stringify(payload)}|${JSON.stringify(payload.long)}`);
  t.end();
});

t.test('TPL-2 · renders deliver_extra at any depth and leaves keys and other values', (t) => {
  const extra = compileExtra({ chat_id: '{id}', nested: [{ '{id}': '{event_type}' }], n: 3, b: true });
  t.same(extra.render({ payload: { id: 9 }, eventType: 'e' }), {
    chat_id: '9',
    nested: [{ '{id}': 'e' }],
    n: 3,
    b: true,
  });
  t.end();
});

t.test('TPL-1 · a text without tokens is itself, and substituted text is never rescanned', (t) => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !/\{[A-Za-z0-9_.]+\}/.test(text)),
      (text) => render(text) === text,
    ),
  );
  fc.assert(fc.property(fc.string(), fc.string(), (value, tail) => render('{v}', { v: value, tail }) === value));
  t.end();
});
