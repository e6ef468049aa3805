import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { shapeResult } from '../../../machines/mcp/tool-result.ts';
import { fc } from '../../support/property.ts';

const cap = 2_000_000;
const tag = '\u{E0041}\u{E0042}';
const text = (held: string): Json => ({ type: 'text', text: held });

t.test('LIF-13 · text, structured content, images, audio, resources, links and isError are kept', (t) => {
  const given = {
    content: [
      { type: 'text', text: 'hi', annotations: { audience: ['user'] } },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'a' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: 'aGk=' }, annotations: { priority: 1 } },
      { type: 'resource_link', uri: 'file:///c', name: 'c' },
    ],
    structuredContent: { rows: [1, null, { a: 'b' }] },
    isError: true,
  };

  t.same(shapeResult(given, cap), { result: given, notes: [] });
  t.end();
});

t.test(
  'LIF-13 · what is null in a block is left out, which a client would refuse; a structure is kept as it is',
  (t) => {
    const nulls = { annotations: null, _meta: null };
    const given = {
      content: [
        { type: 'text', text: 'hi', ...nulls },
        { type: 'image', data: 'aGk=', mimeType: 'image/png', annotations: { audience: null, priority: 1 } },
        { type: 'resource', resource: { uri: 'file:///a', mimeType: null, text: 'a', _meta: null }, ...nulls },
        { type: 'resource', resource: { uri: 'file:///b', mimeType: null, blob: 'aGk=' }, ...nulls },
        { type: 'resource_link', uri: 'file:///c', name: 'c', title: null, icons: [{ src: 'a', sizes: null }] },
      ],
      structuredContent: { rows: null },
    };
    t.same(shapeResult(given, cap).result, {
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image', data: 'aGk=', mimeType: 'image/png', annotations: { priority: 1 } },
        { type: 'resource', resource: { uri: 'file:///a', text: 'a' } },
        { type: 'resource', resource: { uri: 'file:///b', blob: 'aGk=' } },
        { type: 'resource_link', uri: 'file:///c', name: 'c', icons: [{ src: 'a' }] },
      ],
      structuredContent: { rows: null },
      isError: false,
    });
    t.end();
  },
);

t.test('LIF-13 · isError is true or it is false, and a missing part is an empty one', (t) => {
  const empty = { result: { content: [], isError: false }, notes: [] };
  const rows: readonly Json[] = [
    null,
    [],
    'x',
    7,
    {},
    { isError: false },
    { isError: 'true' },
    { content: 'x' },
    { content: null },
  ];
  for (const given of rows) t.same(shapeResult(given, cap), empty, JSON.stringify(given));
  t.same(shapeResult({ structuredContent: null }, cap).result, {
    content: [],
    structuredContent: null,
    isError: false,
  });
  t.end();
});

t.test('LIF-13 · a block of an unknown type, or without what its type needs, is named in its place', (t) => {
  const rows: readonly (readonly [Json, string])[] = [
    [{ type: 'video', data: 'x', mimeType: 'y' }, '"video"'],
    [{ type: `vi${tag}deo` }, '"video"'],
    [{ type: 'x'.repeat(500) }, `"${'x'.repeat(64)}"`],
    [{ text: 'no type' }, 'unknown'],
    ['text', 'unknown'],
    [null, 'unknown'],
    [{ type: 'text' }, '"text"'],
    [{ type: 'text', text: 7 }, '"text"'],
    [{ type: 'image', data: 'x' }, '"image"'],
    [{ type: 'audio', mimeType: 'x' }, '"audio"'],
    [{ type: 'resource', resource: { text: 'x' } }, '"resource"'],
    [{ type: 'resource', resource: { uri: 'x' } }, '"resource"'],
    [{ type: 'resource_link', name: 'x' }, '"resource_link"'],
  ];
  for (const [block, type] of rows) {
    const { result, notes } = shapeResult({ content: [block, text('kept')] }, cap);
    t.same(result.content, [text(`[content of type ${type} left out]`), text('kept')], JSON.stringify(block));
    t.same(notes, [`dropped a content block of type ${type}`]);
  }
  t.end();
});

t.test('LIF-13 · text over the cap is cut by code points, and a last block says how much is left out', (t) => {
  const leftOut = (lost: number, held: number): Json =>
    text(`[${lost} characters left out: a result may hold ${held}; raise max_result_chars to have more]`);
  const rows: readonly (readonly [readonly Json[], number, readonly Json[]])[] = [
    [[text('abcde')], 5, [text('abcde')]],
    [[text('abcde')], 4, [text('abcd'), leftOut(1, 4)]],
    [[text('😀😀😀')], 3, [text('😀😀😀')]],
    [[text('😀😀😀')], 2, [text('😀😀'), leftOut(1, 2)]],
    [[text('\ud83da\ud83db\ud83d')], 2, [text('\ud83da\ud83db'), leftOut(1, 2)]],
    [[text('\udc00\uffff\udfff')], 2, [text('\udc00\uffff'), leftOut(1, 2)]],
    [[text('abc'), text('def'), text('ghi')], 4, [text('abc'), text('d'), leftOut(5, 4)]],
    [[text('abc'), text(''), text('d')], 3, [text('abc'), text(''), leftOut(1, 3)]],
    [
      [{ type: 'resource', resource: { uri: 'u', text: 'abc' } }],
      2,
      [{ type: 'resource', resource: { uri: 'u', text: 'ab' } }, leftOut(1, 2)],
    ],
    [[{ type: 'resource_link', uri: 'long', name: 'n' }, text('ab')], 2, [text('ab'), leftOut(48, 2)]],
    [
      [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }],
      1,
      [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }],
    ],
  ];
  for (const [content, held, expected] of rows)
    t.same(shapeResult({ content }, held).result.content, expected, JSON.stringify([content, held]));
  t.end();
});

t.test('LIF-13 · structured content that does not fit beside the text is left out whole', (t) => {
  const given = { content: [text('abc')], structuredContent: { a: 1 } };

  t.same(shapeResult(given, 10).result, { ...given, isError: false });
  t.same(shapeResult(given, 9).result, {
    content: [text('abc'), dropped(7, 9)],
    isError: true,
  });
  t.end();
});

const dropped = (lost: number, held: number): Json =>
  text(
    `[${lost} characters left out, with the structured content: a result may hold ${held}; raise max_result_chars to have more]`,
  );

t.test(
  'LIF-13 · a text that repeats the structure is cut before it, and a structure that is dropped is an error',
  (t) => {
    const structuredContent = { rows: [1, 2, 3] };
    const twin = JSON.stringify(structuredContent, null, 1);
    const size = JSON.stringify(structuredContent).length;
    const given = { content: [text(twin), text('more')], structuredContent };

    t.same(shapeResult(given, size + twin.length + 4).result, { ...given, isError: false });
    const cutText = shapeResult(given, size + 5).result;
    t.match(cutText, { structuredContent, isError: false });
    t.match(cutText.content, [text(twin.slice(0, 5)), { text: /^\[\d+ characters left out: a result may hold/ }]);
    t.same(shapeResult(given, size - 1).result, {
      content: [text(twin.slice(0, size - 1)), dropped(twin.length + 4 + 1, size - 1)],
      isError: true,
    });
    t.end();
  },
);

t.test('LIF-13 · no text is held beyond the cap, and all that is left out is counted', (t) => {
  const texts = fc.array(fc.string({ unit: 'binary' }).filter((each) => !/[\u{E0000}-\u{E007F}]/u.test(each)));
  fc.assert(
    fc.property(texts, fc.nat(40), (given, held) => {
      const { content } = shapeResult({ content: given.map(text) }, held).result;
      const total = given.reduce((sum, each) => sum + [...each].length, 0);
      const kept = (total > held ? content.slice(0, -1) : content).reduce(
        (sum, each) => sum + [...String(each.text)].length,
        0,
      );
      const told = /^\[(\d+) /.exec(String(content.at(-1)?.text))?.[1];
      return kept === Math.min(total, held) && (total <= held || told === String(total - kept));
    }),
  );
  t.end();
});

t.test('LIF-13 · invisible tag characters are stripped from every string', (t) => {
  const given = {
    content: [
      text(`a${tag}b`),
      { type: 'image', data: `aG${tag}k=`, mimeType: `image/${tag}png` },
      { type: 'resource', resource: { uri: `u${tag}`, text: tag } },
      { type: 'resource', resource: { uri: 'u', blob: `aG${tag}k=` } },
      { type: 'resource_link', uri: 'u', name: tag, description: `d${tag}` },
    ],
    structuredContent: { [`k${tag}`]: [tag, { b: `x${tag}` }] },
  };

  t.same(shapeResult(given, cap).result, {
    content: [
      text('ab'),
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'u', text: '' } },
      { type: 'resource', resource: { uri: 'u', blob: 'aGk=' } },
      { type: 'resource_link', uri: 'u', name: '', description: 'd' },
    ],
    structuredContent: { k: ['', { b: 'x' }] },
    isError: false,
  });
  t.end();
});

t.test(
  'LIF-13 · what a server adds for programs is kept whole or left out, without what is about its connection',
  (t) => {
    const view = { [`view${tag}`]: { rows: [1, 2], note: 'sk-abcdefgh' } };
    const given = { content: [text('ab')], _meta: { ...view, 'io.modelcontextprotocol/serverInfo': { name: 'x' } } };
    const result = { content: [text('ab')], isError: false };

    t.same(shapeResult(given, cap), {
      result: { ...result, _meta: { view: { rows: [1, 2], note: 'sk-abcdefgh' } } },
      notes: [],
    });
    t.match(shapeResult({ ...given, isError: true }, cap).result._meta, { view: { note: '[redacted]' } });
    t.same(shapeResult(given, 5), { result, notes: ['dropped its _meta, which has more than 5 characters'] });
    const hidden = { [`io.model${tag}contextprotocol/serverInfo`]: {} };
    for (const _meta of [{}, null, ['a'], { 'io.modelcontextprotocol/serverInfo': {} }, hidden])
      t.same(shapeResult({ ...given, _meta }, cap), { result, notes: [] });
    t.end();
  },
);

t.test('LIF-13 · secret shapes are redacted in an error, hidden ones too, and only there', (t) => {
  const content = [
    text(`HTTP 401 for Bea${tag}rer abc.def`),
    { type: 'image', data: 'AKIAIOSFODNN7EXAMPLE', mimeType: 'image/png' },
  ];
  const structuredContent = { url: 'https://h/?token=abc' };

  t.same(shapeResult({ content, structuredContent, isError: true }, cap).result, {
    content: [text('HTTP 401 for Bearer [redacted]'), content[1]],
    structuredContent: { url: 'https://h/?token=[redacted]' },
    isError: true,
  });
  t.same(shapeResult({ content, structuredContent }, cap).result, {
    content: [text('HTTP 401 for Bearer abc.def'), content[1]],
    structuredContent,
    isError: false,
  });
  t.end();
});

t.test('LIF-13 · any JSON at all is shaped, without end too', (t) => {
  fc.assert(fc.property(fc.jsonValue(), (given) => Array.isArray(shapeResult(given as Json, 10).result.content)));
  let deep: Json = 'end';
  for (let depth = 0; depth < 100_000; depth += 1) deep = { deep };
  t.match(JSON.stringify(shapeResult({ structuredContent: deep }, cap).result.structuredContent), /null/);
  t.end();
});
