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
  const second = boundsOf(pages, listing(2));
  for (let count = 0; count < 100; count += 1) second.passes?.(Buffer.from(`id: ${count}\n\n`));
  second.passes?.(Buffer.from(`id: ${'x'.repeat(2_000)}\n\n`));
  for (const event of ['a', '0', '35', 'x'.repeat(2_000)])
    t.equal(pages.of(resuming(event)), undefined, event.slice(0, 3));
  for (const event of ['36', '99']) t.match(pages.of(resuming(event)), { maxBytes: 8 * 1_048_576 }, event);
  t.end();
});
