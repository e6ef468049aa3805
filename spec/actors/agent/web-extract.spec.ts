import t from 'tap';
import { createWebExtract } from '../../../actors/agent/web-extract.ts';
import { fetchLoopback, page, startPageServer } from '../../support/page-server.ts';

const never = new AbortController().signal;
const { call, offer } = createWebExtract(fetchLoopback);

t.test('DIS-5 · a page comes as its title, its address and its readable text', async (t) => {
  const html =
    '<!doctype html><title>News &amp; more</title><script>no()</script><h1>Head</h1><p>One <b>two</b>\u{E0041}.';
  const { url } = await startPageServer(t, { '/': page('text/html; charset=utf-8', html) });
  t.same(await call({ url: `${url}/` }, never), { text: `News & more\n${url}/\n\nHead\n\nOne two.`, isError: false });
});

t.test('DIS-5 · other texts come as they are, and encodings are understood', async (t) => {
  const { url } = await startPageServer(t, {
    '/json': page('application/json', '{"a": 1}'),
    '/latin': page('text/plain; charset=iso-8859-1', Buffer.from('hällo', 'latin1')),
    '/meta': page('text/html', Buffer.from('<meta charset="iso-8859-1"><p>hällo', 'latin1')),
    '/feed': page('application/atom+xml', Buffer.from('<?xml encoding="iso-8859-1"?>hällo', 'latin1')),
    '/unknown': page('text/plain; charset=no-such', 'plain'),
    '/wide': page('text/plain', Buffer.from('\uFEFFhällo', 'utf16le')),
    '/swapped': page('text/plain', Buffer.from('\uFEFFhällo', 'utf16le').swap16()),
    '/marked': page('text/plain; charset=iso-8859-1', '\uFEFFhällo'),
  });
  for (const [path, text] of [
    ['/json', '{"a": 1}'],
    ['/latin', 'hällo'],
    ['/meta', 'hällo'],
    ['/feed', '<?xml encoding="iso-8859-1"?>hällo'],
    ['/unknown', 'plain'],
    ['/wide', 'hällo'],
    ['/swapped', 'hällo'],
    ['/marked', 'hällo'],
  ])
    t.same(await call({ url: `${url}${path}` }, never), { text: `${url}${path}\n\n${text}`, isError: false });
});

t.test('DIS-5 · a long page is cut and says so; what cannot be read is an error for the model', async (t) => {
  const { url } = await startPageServer(t, {
    '/long': page('text/plain', 'x'.repeat(30_000)),
    '/picture': page('image/png', 'x'),
  });
  t.match(await call({ url: `${url}/long` }, never), { text: /x{20000}\n\n\[10000 characters left out\]$/ });
  t.match(await call({ url: `${url}/picture` }, never), { text: /^web_extract: .*image\/png/, isError: true });
  t.match(await call({ url: 7 }, never), { isError: true });
  t.match(await call({}, never), { isError: true });
  t.equal(offer.name, 'web_extract');
});
