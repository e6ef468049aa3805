import t from 'tap';
import { toolText } from '../../../machines/agent/tool-text.ts';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { fc } from '../../support/property.ts';

t.test('DIS-3 · LIF-13 · a result is written as one text', (t) => {
  const rows: readonly (readonly [Parameters<typeof toolText>[0], string])[] = [
    [{ content: [], isError: false }, '(no content)'],
    [{ content: [], structuredContent: { a: 1 }, isError: false }, '{"a":1}'],
    [
      {
        content: [
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          { type: 'resource_link', uri: 'x://3', name: 'three' },
          { type: 'text', text: ' ' },
        ],
        structuredContent: { a: 1 },
        isError: false,
      },
      '[image, image/png]\n[three: x://3]\n \n{"a":1}',
    ],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          { type: 'resource', resource: { uri: 'x://1', text: 'inside' } },
          { type: 'resource', resource: { uri: 'x://2', blob: 'AAAA' } },
          { type: 'resource_link', uri: 'x://3', name: 'three' },
        ],
        structuredContent: { a: 1 },
        isError: false,
      },
      'a\n[image, image/png]\nx://1\ninside\n[x://2, not a text]\n[three: x://3]',
    ],
  ];
  for (const [result, text] of rows) t.equal(toolText(result), text);
  t.end();
});

t.test('DIS-3 · LIF-13 · whatever a server sends, there is one text, and each text of it is in there', (t) => {
  const text = fc.string({ minLength: 1 });
  const block = fc.oneof(
    text.map((one) => ({ type: 'text', text: one })),
    fc.record({ type: fc.constantFrom('image', 'audio'), data: text, mimeType: text }),
    fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: text, text }) }),
    fc.record({ type: fc.constant('resource_link'), uri: text, name: text }),
    fc.record({ type: text }),
    fc.jsonValue().map((value) => ({ type: 'resource', resource: value as Json })),
  );
  fc.assert(
    fc.property(fc.array(block), fc.option(fc.jsonValue(), { nil: undefined }), (content, structured) => {
      const result = {
        content: content as JsonObject[],
        isError: false,
        ...(structured === undefined ? {} : { structuredContent: structured as Json }),
      };
      const text = toolText(result);
      t.ok(text.length > 0);
      for (const one of content) if (one.type === 'text' && 'text' in one) t.ok(text.includes(one.text));
    }),
  );
  t.end();
});
