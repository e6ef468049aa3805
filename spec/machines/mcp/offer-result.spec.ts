import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { shapeOffer } from '../../../machines/mcp/offer-result.ts';

const answer = (...given: Parameters<typeof shapeOffer>): Json | undefined =>
  shapeOffer(...given).result.structuredContent;

t.test('CLI-5 · LIF-13 · rows are whole, without invisible characters, and within the cap', (t) => {
  const row = { uri: 'a://b', name: 'b', size: 3, _meta: { 'x/y': ['z'] } };
  t.same(answer('resources/list', { resources: [{ ...row, title: 'T\u{E0041}' }, 5] }, 1_000), {
    resources: [{ ...row, title: 'T' }],
  });
  t.same(answer('resources/templates/list', { resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'b' }] }, 1_000), {
    resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'b' }],
  });
  const odd = shapeOffer(
    'prompts/list',
    { prompts: [{ name: '' }, { name: 'a\n' }, { name: 'x\u{E0041}' }, { name: 'ok' }] },
    1_000,
  );
  t.same(odd.result.structuredContent, { prompts: [{ name: 'ok' }] });
  t.equal(odd.notes.length, 3);
  const capped = shapeOffer(
    'prompts/list',
    { prompts: [{ name: 'long', description: 'd'.repeat(100) }, { name: 'short' }] },
    50,
  );
  t.same(capped.result.structuredContent, { prompts: [{ name: 'short' }] });
  t.match(capped.notes, ['left out "long": a listing may hold 50 characters']);
  t.same(answer('prompts/list', null, 50), { prompts: [] });
  t.end();
});

t.test('CLI-5 · LIF-13 · contents keep text, bytes and _meta; what is cut is said', (t) => {
  const bytes = { uri: 'a://b', mimeType: 'image/png', blob: 'iVBORw0KGgo=', _meta: { a: 1 } };
  t.same(answer('resources/read', { contents: [{ uri: 'a://b', text: 'x\u{E0041}y' }, bytes] }, 100), {
    contents: [{ uri: 'a://b', text: 'xy' }, bytes],
  });
  t.match(answer('resources/read', { contents: [{ uri: 'a://b', text: 'x'.repeat(20) }] }, 10), {
    contents: [
      { uri: 'a://b', text: 'x'.repeat(10) },
      { uri: 'a://b', text: /^\[10 characters left out/ },
    ],
  });
  t.end();
});

t.test('CLI-5 · LIF-13 · a prompt keeps its roles and blocks, within the cap of a result', (t) => {
  const text = (words: string): { type: string; text: string } => ({ type: 'text', text: words });
  const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' };
  const messages = [
    { role: 'user', content: text('a') },
    { role: 'system', content: text('no role of the protocol') },
    { role: 'assistant', content: image },
  ];
  t.same(answer('prompts/get', { description: 'D\u{E0041}', messages }, 100), {
    description: 'D',
    messages: [messages[0], messages[2]],
  });
  const long = ['x'.repeat(8), 'y'.repeat(8), 'z'].map((words) => ({ role: 'assistant', content: text(words) }));
  const { result, notes } = shapeOffer('prompts/get', { messages: long }, 10);
  t.match(result.structuredContent, {
    messages: [
      { content: { text: 'xxxxxxxx' } },
      { role: 'assistant', content: { text: 'yy' } },
      { content: { text: /^\[6 characters left out/ } },
    ],
  });
  t.match(notes, [/further messages/]);
  t.end();
});
