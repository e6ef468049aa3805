import t from 'tap';
import { toolText } from '../../../machines/agent/tool-text.ts';

t.test('DIS-3 · LIF-13 · a result is spelled as one text', (t) => {
  const rows: readonly (readonly [Parameters<typeof toolText>[0], string])[] = [
    [{ content: [], isError: false }, '(no content)'],
    [{ content: [], structuredContent: { a: 1 }, isError: false }, '{"a":1}'],
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
