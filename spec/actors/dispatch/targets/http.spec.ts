import { createServer } from 'node:net';
import t from 'tap';
import { openBench } from '../../../conformance/target.ts';
import { listenOn } from '../../../support/http-listener.ts';
import { httpApi } from '../../../support/platforms/described.ts';

t.test('DLV-6 · a report has its run, its text and a signature; its id is the same in each attempt', async (t) => {
  const bench = await openBench(t, httpApi);
  bench.platform.scripts.push({ status: 500 });
  t.match(await bench.deliver('Done.'), { kind: 'transient' });
  t.match(await bench.deliver('Done.'), { kind: 'delivered' });
  const [first, again] = bench.platform.requests;

  t.same(first?.json, {
    type: 'run.finished',
    timestamp: '2026-11-03T12:00:00.000Z',
    data: { status: 'finished', run_id: 'r1', text: 'Done.' },
  });
  t.equal(first?.text, again?.text);
  t.ok(first?.headers['webhook-id']);
  t.equal(first?.headers['webhook-id'], again?.headers['webhook-id']);
  t.equal(first?.headers['webhook-timestamp'], '1793707200');
});

t.test('DLV-6 · headers of the configuration are sent, and none of them replaces the signature', async (t) => {
  const bench = await openBench(t, httpApi);
  const headers = { Authorization: 'Bearer sec-more', 'Webhook-Signature': 'v1,none', 'x-number': 7 };
  const more = bench.with({ options: { ...httpApi.options, headers } });

  t.match(await more.deliver('Done.'), { kind: 'delivered' });

  t.match(bench.platform.requests[0]?.headers, { authorization: 'Bearer sec-more', 'x-number': '7' });
});

t.test('DLV-6 · any 2xx is a delivery, whatever comes of its body', async (t) => {
  const bench = await openBench(t, httpApi);
  const heads: string[] = [];
  const endless = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      heads.push('200');
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nx');
    });
  });
  const port = await listenOn(t, endless);
  const more = bench.with({ apiBase: `http://127.0.0.1:${port}` });

  t.match(await more.deliver('Done.'), { kind: 'delivered' });
  t.same(heads, ['200']);
});

t.test('DLV-6 · a redirect is not followed', async (t) => {
  const bench = await openBench(t, httpApi);
  bench.platform.scripts.push({ status: 307, headers: { location: `${bench.platform.base}/reports` } });

  t.match(await bench.deliver('Done.'), {
    kind: 'refused',
    class: 'permanent',
    reason: /redirect .*; check api_base$/,
  });
  t.equal(bench.platform.requests.length, 1);

  bench.platform.scripts.push({ status: 307 });
  const addressed = { ...httpApi.options, url: `${bench.platform.base}/reports` };
  t.match(await bench.with({ apiBase: undefined, options: addressed } as never).deliver('Done.'), {
    reason: /redirect .*; check url$/,
  });
});
