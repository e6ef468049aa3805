import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { listenForRedirect } from '../../../actors/oauth/callback-listener.ts';

/** A server that holds a port of its own until it is let go. */
async function holder(t: Test, port = 0): Promise<{ readonly port: number; readonly release: () => Promise<unknown> }> {
  const server: Server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  const release = () => new Promise((resolve) => (server.listening ? server.close(resolve) : resolve(undefined)));
  t.teardown(release);
  return { port: (server.address() as AddressInfo).port, release };
}

const never = new AbortController().signal;

t.test(
  'OAU-6 · the first free one of the pinned ports, any port where all are busy, and nothing but the fixed one',
  async (t) => {
    const [first, second] = [await holder(t), await holder(t)];
    const plan = { kind: 'pinned', ports: [first.port, second.port] } as const;

    const other = await listenForRedirect(plan);
    t.notOk([first.port, second.port].includes(other.port), 'all are busy');
    other.close();

    await second.release();
    const free = await listenForRedirect(plan);
    t.equal(free.port, second.port);
    await t.rejects(
      listenForRedirect({ kind: 'fixed', port: free.port }),
      { code: 'EADDRINUSE' },
      'held until it is let go',
    );
    free.close();
    const again = await listenForRedirect({ kind: 'fixed', port: second.port });
    t.equal(again.port, second.port);
    again.close();
  },
);

t.test('OAU-8 · only the redirect of this login counts, once; everything else is turned away', async (t) => {
  const listener = await listenForRedirect({ kind: 'random' });
  t.teardown(() => listener.close());
  const at = (rest: string, init?: RequestInit) => fetch(`http://127.0.0.1:${listener.port}${rest}`, init);
  t.equal((await at('/callback?state=st&code=early')).status, 400, 'nobody waits yet');
  const query = listener.redirect('st', never);

  t.equal((await at('/callback?state=other&code=x')).status, 400);
  t.equal((await at('/callback?code=x')).status, 400);
  t.equal((await at('/callback?state=st', { method: 'POST' })).status, 400);
  t.equal((await at('/other?state=st&code=x')).status, 404);
  t.equal((await at('/callback/?state=st&code=x')).status, 404);
  const page = await at('/callback?state=st&code=c%20d&iss=i');

  t.equal(page.status, 200);
  t.match(page.headers.get('content-type'), 'text/html');
  t.equal(page.headers.get('cache-control'), 'no-store');
  t.match(await page.text(), 'You can close this window');
  t.equal(await query, 'state=st&code=c%20d&iss=i');
  t.equal((await at('/callback?state=st&code=again')).status, 400, 'a second redirect is nobody’s');
});

t.test('OAU-8 · a target that is no URL is turned away like any other', async (t) => {
  const listener = await listenForRedirect({ kind: 'random' });
  t.teardown(() => listener.close());
  for (const target of ['//[', '/%', 'http://[', '*', '//']) {
    const socket = connect(listener.port, '127.0.0.1');
    socket.end(`GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
    t.match(await text(socket), /^HTTP\/1\.1 40[04] /, target);
  }
});

t.test('OBS-1 · the page says nothing of what was sent', async (t) => {
  const listener = await listenForRedirect({ kind: 'random' }, '/cb');
  t.teardown(() => listener.close());
  const query = listener.redirect('st', never);
  const page = await fetch(`http://127.0.0.1:${listener.port}/cb?state=st&error=<script>&code=secret-code`);
  t.notMatch(await page.text(), /secret-code|script/);
  await query;
});

t.test('OAU-8 · a cancelled wait leaves no other waiting', async (t) => {
  const listener = await listenForRedirect({ kind: 'random' });
  t.teardown(() => listener.close());
  const stop = new AbortController();
  const waiting = listener.redirect('st', stop.signal);
  stop.abort();
  await t.rejects(waiting, { name: 'AbortError' });
  t.equal((await fetch(`http://127.0.0.1:${listener.port}/callback?state=st&code=c`)).status, 400);
});
