import t from 'tap';
import { pageAt } from '../../cli/serve/page.ts';

t.test('LIF-13 · CLI-5 · a listing is cut into pages of at most 7 MiB, and a row beyond that is a page', (t) => {
  const rows = [...Array.from({ length: 15 }, () => 'd'.repeat(1_000_000)), 'e'.repeat(9_000_000), 'f'];
  const pages: (readonly string[])[] = [];
  let cursor: string | undefined = '';
  while (cursor !== undefined && pages.length < rows.length) {
    const page: { readonly rows: readonly string[]; readonly nextCursor?: string } = pageAt(rows, cursor);
    pages.push(page.rows);
    cursor = page.nextCursor;
  }
  t.same(
    pages.map(({ length }) => length),
    [7, 7, 1, 1, 1],
  );
  t.same(pages.flat(), rows);
  t.same(pageAt(rows), pageAt(rows, ''), 'as some clients ask for the first page');
  t.same(pageAt(rows, '99'), { rows: [] }, 'of a list that has become shorter');
  for (const odd of ['x', '-1', '1.5', '1e3', '9'.repeat(10)]) t.throws(() => pageAt(rows, odd), { code: -32602 });
  t.end();
});
