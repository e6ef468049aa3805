import t from 'tap';
import type { Json } from '../../../../../machines/base/json.ts';
import {
  entriesOf,
  fieldsOf,
  quotedFields,
  readEntries,
} from '../../../../../runtime/inspector/page/data/form-fields.ts';
import { fc, runs } from '../../../../support/property.ts';

const object = (properties: Json, required: readonly string[] = []): Json => ({ type: 'object', properties, required });
const read = (schema: Json, entries: Parameters<typeof readEntries>[1]) => {
  const fields = fieldsOf(schema);
  return readEntries(fields, { ...entriesOf(fields), ...entries });
};

t.test('INS-2 · draws a field for every property, the needed ones first', async (t) => {
  const fields = fieldsOf(
    object(
      {
        note: { type: 'string', description: 'What to write', title: 'Note' },
        body: { type: 'string', maxLength: 5_000 },
        times: { type: 'integer', default: 3 },
        ratio: { type: 'number' },
        loud: { type: 'boolean', default: true },
        colour: { enum: ['red', 'blue'], enumNames: ['Red', 'Blue'] },
        size: { oneOf: [{ const: 1, title: 'small' }, { const: 2 }] },
        days: { type: 'array', items: { enum: ['mon', 'tue'] } },
        when: { type: 'string', format: 'date' },
        more: { type: 'object' },
      },
      ['times'],
    ),
  );
  t.same(
    fields.map(({ name, kind }) => `${name}: ${kind}`),
    [
      'times: integer',
      'note: text',
      'body: long',
      'ratio: number',
      'loud: boolean',
      'colour: choice',
      'size: choice',
      'days: choices',
      'when: text',
      'more: json',
    ],
  );
  t.match(fields[1], { label: 'Note', description: 'What to write', required: false });
  t.same(entriesOf(fields), {
    times: '3',
    note: '',
    body: '',
    ratio: '',
    loud: true,
    colour: '',
    size: '',
    days: [],
    when: '',
    more: '',
  });
});

t.test('INS-2 · a schema that is none has no fields', async (t) => {
  for (const schema of [undefined, null, 'x', [], {}, { properties: [] }]) t.same(fieldsOf(schema as Json), []);
});

const reads = [
  ['a text', { type: 'string' }, ' x ', ' x '],
  ['a number', { type: 'number' }, '2.5', 2.5],
  ['a whole number', { type: 'integer' }, '-7', -7],
  ['a choice, by its place', { enum: ['a', null, 3] }, '1', null],
  ['several choices', { type: 'array', items: { enum: ['a', 'b'] } }, ['1'], ['b']],
  ['JSON', {}, '{"a":[1]}', { a: [1] }],
  ['JSON with digits in a text', {}, '["9007199254740993"]', ['9007199254740993']],
  ['yes', { type: 'boolean' }, true, true],
] as const;

t.test('INS-2 · TRU-3 · reads what was typed as the schema means it', async (t) => {
  for (const [what, property, entry, value] of reads) {
    t.same(read(object({ it: property as Json }), { it: entry }), { kind: 'values', values: { it: value } }, what);
  }
});

t.test('INS-2 · leaves out what was left empty, unless it is needed', async (t) => {
  const property = { type: 'string' };
  t.same(read(object({ it: property, off: { type: 'boolean' } }), {}), { kind: 'values', values: {} });
  t.same(read(object({ it: property }, ['it']), {}), { kind: 'refused', problems: { it: 'is needed' } });
  t.same(read(object({ it: { type: 'boolean' } }, ['it']), {}), { kind: 'values', values: { it: false } });
});

t.test('INS-2 · SRV-1 · the default of a time is shown as its field shows one, and not sent unseen', async (t) => {
  const when = { type: 'string', format: 'date-time', default: '2026-11-28T10:00:00Z' };

  t.match(entriesOf(fieldsOf(object({ it: when }))), { it: /^2026-11-2[789]T\d\d:\d\d:00$/ });
  t.same(read(object({ it: when }), {}), { kind: 'values', values: { it: '2026-11-28T10:00:00.000Z' } });
  for (const more of [{ default: 'soon' }, { default: '+012026-11-28T10:00:00Z' }, { format: 'date' }])
    t.same(read(object({ it: { ...when, ...more } }), {}), { kind: 'values', values: {} });
  const day = { ...when, format: 'date', default: '2026-11-28' };
  t.same(read(object({ it: day }), {}), { kind: 'values', values: { it: '2026-11-28' } });
});

const refusals = [
  [{ type: 'number' }, 'two', 'is no number'],
  [{ type: 'integer' }, '1.5', 'is no whole number'],
  [{ type: 'integer' }, '9007199254740993', 'is too large to be sent exactly'],
  [{}, '{', 'is no JSON'],
  [{}, '{"ids":[9007199254740993]}', 'has a number that is too large to be sent exactly'],
  [{ enum: ['a'] }, '9', 'is none of the choices'],
  [{ type: 'string', format: 'date-time' }, 'soon', 'is no time'],
] as const;

t.test('INS-2 · reports what cannot be read, by field', async (t) => {
  for (const [property, entry, problem] of refusals) {
    t.same(read(object({ it: property }), { it: entry }), { kind: 'refused', problems: { it: problem } });
  }
});

t.test('INS-2 · whatever schema a server sends, a form is drawn and read without a crash', async (t) => {
  const kind = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object');
  const format = fc.constantFrom('date', 'date-time', 'email', 'uri', 'odd');
  const property = fc.oneof(fc.jsonValue(), fc.record({ type: kind, format, default: fc.jsonValue() }));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), property), fc.string(), (properties, typed) => {
      const fields = fieldsOf({ type: 'object', properties: properties as Json });
      entriesOf(fields);
      const { kind: verdict } = readEntries(fields, Object.fromEntries(fields.map(({ name }) => [name, typed])));
      t.ok(verdict === 'values' || verdict === 'refused');
    }),
    { numRuns: runs(1_000), examples: [[{ it: { type: 'string', default: { toString: false } } }, '']] },
  );
});

t.test(
  'SEC-7 · in a question the words of a schema are single bounded lines in quotes, and its values stay',
  async (t) => {
    const fields = quotedFields(
      fieldsOf(
        object({
          name: { title: 'Name”\n\n  Approve the call?\u202e', description: `Why.\n${'x'.repeat(400)}` },
          '  ': { type: 'string' },
          size: {
            oneOf: [
              { const: 1, title: 'small\u2028needed' },
              { const: 2, title: '' },
            ],
          },
        }),
      ),
    );
    t.same(
      fields.map(({ label }) => label),
      ['“Name" Approve the call?\\u202e”', '“”', '“size”'],
    );
    t.match(fields[0]?.description, /^“Why\. x+…”$/);
    t.equal(fields[0]?.description.length, 240 + '“…”'.length);
    t.equal(fields[1]?.description, '');
    t.same(fields[2]?.choices, [
      { value: 1, label: '“small needed”' },
      { value: 2, label: '“”' },
    ]);
    t.same(readEntries(fields, { size: '0' }), { kind: 'values', values: { size: 1 } });
  },
);
