import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createServerFetch } from '../../../actors/mcp/http-fetch.ts';
import { readTlsFiles } from '../../../actors/mcp/tls-files.ts';
import { createPublicReach, type PublicReachPorts } from '../../../actors/oauth/public-reach.ts';

/** Every name is this machine; 127.0.0.1 passes for the public internet. */
const names: Readonly<Record<string, readonly string[]>> = {
  'mcp.test': ['127.0.0.1'],
  'as.test': ['127.0.0.1'],
  'inside.test': ['127.0.0.2'],
  'home.test': ['127.0.0.3'],
  'both.test': ['127.0.0.1', '127.0.0.2'],
};

function ports() {
  const asked: string[] = [];
  return {
    asked,
    publicHosts: new Set<string>(),
    isPublic: (address: string) => address === '127.0.0.1',
    resolve: async (host: string) => {
      asked.push(host);
      return (names[host] ?? []).map((address) => ({ address, family: 4 }));
    },
  };
}

/** Answers everything, on every address of the loopback unless one is given, and redirects `/to?…` there. */
async function answering(t: Test, address?: string) {
  const seen: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    seen.push(`${headers.host} ${url}`);
    const to = /^\/to\?(.*)$/.exec(url)?.[1];
    if (to === undefined) response.end('ok');
    else response.writeHead(302, { location: to }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, seen };
}

async function stage(t: Test, own: string, more: Partial<PublicReachPorts> = {}, address?: string) {
  const { port, seen } = await answering(t, address);
  const resolver = { ...ports(), ...more };
  const url = `http://${own}:${port}/mcp`;
  const tls = await readTlsFiles({
    server: 'hub',
    plan: { verify: false, certKey: 'client_cert', keyKey: 'client_cert' },
    userHome: '/nowhere',
  });
  const { fetch, close } = createServerFetch({
    ...{ server: 'hub', plan: { url, headers: {} }, tls, env: {}, version: '1' },
    reach: createPublicReach(new URL(url), resolver),
  });
  t.teardown(close);
  const ask = (where: string): Promise<string> =>
    fetch(`http://${where.replace('PORT', String(port))}`).then((answer) => answer.text());
  return { ask, seen, port, asked: resolver.asked };
}

t.test('OAU-1 · a public server leads to public addresses only, by name, by number and by redirect', async (t) => {
  const { ask, seen, port } = await stage(t, 'mcp.test');
  t.equal(await ask('mcp.test:PORT/mcp'), 'ok');
  t.equal(await ask('as.test:PORT/register'), 'ok');
  const before = seen.length;
  for (const where of ['inside.test:PORT/x', '127.0.0.2:PORT/x', '[::1]:PORT/x', 'both.test:PORT/x'])
    await t.rejects(ask(where), /is not on the public internet, and a server that is may not lead there/, where);
  t.equal(seen.length, before, 'nothing arrived');
  await t.rejects(ask(`as.test:PORT/to?http://inside.test:${port}/x`), /inside\.test is not on the public internet/);
  t.equal(seen.length, before + 1);
});

t.test('OAU-1 · a server that is itself inside leads wherever it wants', async (t) => {
  const { ask } = await stage(t, 'home.test');
  t.equal(await ask('home.test:PORT/mcp'), 'ok');
  for (const where of ['inside.test:PORT/x', '127.0.0.1:PORT/x', 'as.test:PORT/x']) t.equal(await ask(where), 'ok');
});

t.test('OAU-1 · a server of both kinds is a public one, and so is one that does not resolve', async (t) => {
  const both = await stage(t, 'both.test');
  t.equal(await both.ask('both.test:PORT/mcp'), 'ok');
  await t.rejects(both.ask('inside.test:PORT/x'), /not on the public internet/);
  const renewed = await stage(t, 'home.test');
  t.equal(await renewed.ask('inside.test:PORT/x'), 'ok', 'a renewal asks the token endpoint alone');
  const reach = createPublicReach(new URL('https://mcp.test/mcp'), {
    ...ports(),
    resolve: async (host) => {
      if (host === 'mcp.test') throw new Error('ENOTFOUND');
      return [{ address: '127.0.0.2', family: 4 }];
    },
  });
  await t.rejects(reach.check(new URL('https://inside.test/'), false), /not on the public internet/);
});

t.test('OAU-1 · a name is resolved once: what it says later does not count', async (t) => {
  const { ask, asked } = await stage(t, 'mcp.test');
  await ask('mcp.test:PORT/a');
  await ask('as.test:PORT/b');
  await ask('as.test:PORT/c');
  t.same(asked, ['mcp.test', 'as.test']);
});

t.test('SEC-5 · a name that has public addresses and others is asked at the public ones alone', async (t) => {
  // Nothing listens at its public address, so a client would go on to the other one.
  const { ask, seen } = await stage(t, 'both.test', {}, '127.0.0.2');
  await t.rejects(ask('both.test:PORT/mcp'));
  t.same(seen, []);
});

t.test('SEC-5 · a name that was public once cannot become one that is inside, nor lead there', async (t) => {
  const publicHosts = new Set<string>();
  const before = await stage(t, 'mcp.test', { publicHosts });
  t.equal(await before.ask('mcp.test:PORT/mcp'), 'ok');
  const resolve = async () => [{ address: '127.0.0.2', family: 4 }];
  const rebound = await stage(t, 'mcp.test', { publicHosts, resolve });
  await t.rejects(rebound.ask('mcp.test:PORT/mcp'), /mcp\.test was on the public internet .* \[leads-inside\]$/);
  await t.rejects(rebound.ask('127.0.0.2:PORT/mcp'), /127\.0\.0\.2 is not on the public internet/);
  t.same(rebound.seen, []);
});

t.test('SEC-5 · requests at the same time share one answer of the resolver', async (t) => {
  const { ask, asked } = await stage(t, 'mcp.test');
  await Promise.all([ask('as.test:PORT/a'), ask('as.test:PORT/b'), ask('mcp.test:PORT/c')]);
  t.same(asked.toSorted(), ['as.test', 'mcp.test']);
});

t.test('OAU-1 · behind a proxy names are the proxy’s, numbers are not', async (t) => {
  const resolver = ports();
  const reach = createPublicReach(new URL('https://mcp.test/mcp'), resolver);
  await reach.check(new URL('https://mcp.test/mcp'), true);
  await reach.check(new URL('https://inside.test/'), true);
  await t.rejects(reach.check(new URL('https://127.0.0.2/'), true), /not on the public internet/);
  await t.rejects(reach.check(new URL('https://inside.test/'), false), /not on the public internet/);
  t.same(resolver.asked, ['inside.test'], 'and the server’s own name is none to look up');
});

t.test('OAU-1 · the addresses that count as public are those of the built-in tools', async (t) => {
  const reach = createPublicReach(new URL('https://93.184.216.34/mcp'));
  await reach.check(new URL('https://93.184.216.34/mcp'), false);
  await reach.check(new URL('https://1.1.1.1/'), false);
  for (const host of ['169.254.169.254', '10.0.0.1', '192.168.1.1', '127.0.0.1', '[fe80::1]', '[::1]', '0.0.0.0'])
    await t.rejects(reach.check(new URL(`https://${host}/`), false), /not on the public internet/, host);
});

t.test('OAU-1 · a check of an address ends with the signal, however long a resolver hangs', async (t) => {
  const tls = await readTlsFiles({
    server: 'hub',
    plan: { verify: false, certKey: 'client_cert', keyKey: 'client_cert' },
    userHome: '/nowhere',
  });
  const person = new AbortController();
  const { fetch, close } = createServerFetch({
    ...{ server: 'hub', plan: { url: 'http://mcp.test/mcp', headers: {} }, tls, env: {}, version: '1' },
    reach: createPublicReach(new URL('http://mcp.test/mcp'), {
      publicHosts: new Set(),
      resolve: () => {
        person.abort(new Error('the person has left'));
        return new Promise(() => {});
      },
    }),
  });
  t.teardown(close);
  await t.rejects(fetch('http://mcp.test/token', { signal: person.signal }), /the person has left/);
  await t.rejects(
    fetch('http://mcp.test/token', { signal: person.signal }),
    /the person has left/,
    'gone before it began',
  );
});
