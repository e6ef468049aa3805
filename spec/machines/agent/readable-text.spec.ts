import t from 'tap';
import { readableText } from '../../../machines/agent/readable-text.ts';
import { isLinear } from '../../support/linear.ts';

t.test('DIS-5 · a page becomes what a person reads on it', (t) => {
  const page = `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head>
    <body><nav><a>Home</a></nav><h1>Head&nbsp;line</h1><p>One <b>bold</b>
    word.<br>Two</p><ul><li>x<li>y</ul><script>if (a < b) "</p>"</script><!-- <p>hidden</p> -->
    <img alt="a > b" src=x>tail &#x1F600; &#39;q&#39; &unknown; 1 < 2</body></html>`;
  t.same(readableText(page), {
    title: 'A & B',
    text: "Head line\n\nOne bold\nword.\nTwo\n\n- x\n- y\n\ntail 😀 'q' &unknown; 1 < 2",
  });
  t.end();
});

t.test('DIS-5 · broken markup loses its rest at worst', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['', ''],
    ['plain', 'plain'],
    ['a<script>b', 'a'],
    ['a<SCRIPT>b</ScRiPt >c', 'ac'],
    ['a<nav>b<nav>c</nav>d</nav>e', 'ae'],
    ['a<nav>b', 'a'],
    ['a<nav><script>x = "<nav>"</script>b</nav>c', 'ac'],
    ['a<svg><script/><svg/></svg>c', 'ac'],
    ['a<b', 'a'],
    ['a<!--b', 'a'],
    ['a</>b', 'a</>b'],
    ['a<svg/>b', 'ab'],
    ['<p title="<script>">a</p>', 'a'],
    ['&#0;&#xD800;&#1114112;&constructor;', '&#0;&#xD800;&#1114112;&constructor;'],
  ];
  for (const [page, text] of rows) t.equal(readableText(page).text, text, page);
  t.end();
});

t.test('DIS-5 · a hostile page takes time in proportion to its length', (t) => {
  for (const piece of [
    '<',
    '<a',
    '<!--',
    '<script',
    '<nav>',
    '</nav>',
    '&',
    '&#',
    '<a b="',
    '<title>',
    '<p ',
  ] as const) {
    const read = (size: number) => {
      const page = piece.repeat(size / piece.length);
      return () => readableText(page);
    };
    t.ok(isLinear(read, 1_000), piece);
  }
  t.end();
});
