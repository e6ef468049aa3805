import t from 'tap';
import { createPageBounds, type PageBounds } from '../../../actors/mcp/page-bounds.ts';

const listing = (id: number): RequestInit => ({ body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' }) });
const resuming = (event: string): RequestInit => ({ headers: { 'last-event-id': event } });

function boundsOf(pages: PageBounds, init: RequestInit) {
  const bounds = pages.of(init);
  if (bounds === undefined || bounds === 'over') throw new Error('it lists');
  return bounds;
}

t.test('LIF-14 · the stream of a listing is known by the ids of its events, however they are cut into chunks', (t) => {
  const stream =
    ': hello\r\nid: first\r\ndata: id: none\r\n\r\nid:second\ndata: {"x":"\\nid: none"}\nnoid: none\n\nid: third\n\n';
  for (const size of [1, 2, 3, 7, stream.length]) {
    const pages = createPageBounds();
    const { passes } = boundsOf(pages, listing(1));
    for (let at = 0; at < stream.length; at += size) passes?.(Buffer.from(stream.slice(at, at + size)));
    for (const event of ['first', 'second', 'third'])
      t.match(pages.of(resuming(event)), { maxBytes: 8 * 1_048_576 }, `${event} by ${size}`);
    t.equal(pages.of(resuming('none')), undefined, `${size}`);
    t.equal(pages.of(resuming('')), undefined);
  }
  t.end();
});

t.test('LIF-14 · what was cut off is resumed no more, and no more is remembered than may be resumed', (t) => {
  const pages = createPageBounds();
  const first = boundsOf(pages, listing(1));
  first.passes?.(Buffer.from('id: a\n\n'));
  boundsOf(pages, resuming('a')).exceeded?.();
  t.equal(pages.of(resuming('a')), 'over');
  t.equal(pages.isCut(1), true);
  for (let request = 2; request < 300; request += 1)
    boundsOf(pages, listing(request)).passes?.(Buffer.from(`id: ${request}\n\n`));
  for (const event of ['a', '2', '43']) t.equal(pages.of(resuming(event)), undefined, event);
  for (const event of ['44', '299']) t.match(pages.of(resuming(event)), { maxBytes: 8 * 1_048_576 }, event);
  t.end();
});

t.test('LIF-14 · no id of an event lets a server leave the bound of a listing', (t) => {
  const rows: readonly (readonly [says: string, stream: string, sent: string])[] = [
    ['beyond ASCII', 'id: é\n\n', 'é'],
    ['blanks before it', 'id:  \t x\n\n', ' \t x'],
    ['blanks behind it', 'id: x \t\n\n', 'x \t'],
    ['blanks alone', 'id:   \n\n', '  '],
    ['behind byte order marks', '\ufeff\ufeffid: x\n\n', 'x'],
    ['a long one', `id: ${'x'.repeat(2_000)}\n\n`, 'x'.repeat(2_000)],
    ['one before many', `id: x\ndata: 1\n\n${'id: y\n\nid: z\n\n'.repeat(200)}`, 'x'],
    [
      'one before many others',
      `id: x\ndata: 1\n\n${[...Array(200).keys()].map((id) => `id: ${id}\n\n`).join('')}`,
      'x',
    ],
    ['one behind many others', `${[...Array(200).keys()].map((id) => `id: ${id}\n\n`).join('')}id: x\n\n`, 'x'],
  ];
  for (const [says, stream, sent] of rows) {
    const bytes = Buffer.from(stream);
    for (const size of [1, 7, bytes.length]) {
      const pages = createPageBounds();
      const { passes } = boundsOf(pages, listing(1));
      for (let at = 0; at < bytes.length; at += size) passes?.(bytes.subarray(at, at + size));
      boundsOf(pages, listing(2)).passes?.(Buffer.from('id: another\n\n'));
      const resumed = pages.of(resuming(sent));
      t.match(resumed, { maxBytes: 8 * 1_048_576 }, `${says}, by ${size}`);
      if (typeof resumed === 'object') resumed.exceeded?.();
      t.equal(pages.of(resuming(sent)), 'over', `${says}, by ${size}`);
      t.equal(pages.isCut(1), true);
    }
  }
  t.end();
});
