import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { readConnectError } from '../../../actors/mcp/connect-errors.ts';
import { type OpenTransport, openTransport, type TransportPorts } from '../../../actors/mcp/transports.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { makeHome } from '../../support/home.ts';
import { freePort, listenHttp } from '../../support/http-listener.ts';
import { quietPorts } from '../../support/mcp/open-session.ts';
import { makeCertificates } from '../../support/tls.ts';

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** An open transport of an entry as configured. */
async function open(t: Test, entry: JsonObject, more: Partial<TransportPorts> = {}): Promise<OpenTransport> {
  const settings = readServerSettings(normaliseServerEntry('github', entry));
  const opened = await openTransport(settings, { ...quietPorts, ...more });
  t.teardown(() => opened.close());
  return opened;
}

async function connected(t: Test, entry: JsonObject): Promise<{ client: Client; opened: OpenTransport }> {
  const opened = await open(t, entry);
  const client = new Client({ name: 'spec', version: '1' });
  await client.connect(opened.transport);
  return { client, opened };
}

interface Attempt extends ClientOptions {
  readonly timeoutMs?: number;
}

/** What came of an attempt that fails. */
async function failure(
  t: Test,
  entry: JsonObject,
  { timeoutMs = 60_000, ...options }: Attempt = {},
): Promise<ConnectFailure> {
  let opened: OpenTransport | undefined;
  try {
    opened = await open(t, entry);
    await new Client({ name: 'spec', version: '1' }, options).connect(opened.transport, { timeout: timeoutMs });
  } catch (thrown) {
    return readConnectError(thrown, { timeoutMs, exitStatus: opened?.exitStatus() });
  }
  throw new Error('it went well');
}

/** The reference server over HTTP. */
async function startEverything(t: Test, kind: 'streamableHttp' | 'sse'): Promise<string> {
  const port = await freePort();
  const child = spawn(process.execPath, [everything, kind], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        if (chunk.toString().includes(String(port))) resolve();
      });
    }
  });
  return `http://127.0.0.1:${port}`;
}

t.test('ERA-3 · a real server is called over Streamable HTTP, and notified of the end of its session', async (t) => {
  const target = await startEverything(t, 'streamableHttp');
  const { url: elsewhere } = await listenHttp(t, (request, response) => {
    response.writeHead(307, { location: `${target}${request.url}` }).end();
  });
  const direct = await connected(t, { url: `${target}/mcp` });
  const result = await direct.client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  t.match(result.content, [{ type: 'text', text: /hello/ }]);
  t.type(direct.opened.transport.sessionId, 'string');
  const closed = new Promise<void>((resolve) => {
    direct.client.onclose = resolve;
  });
  await direct.opened.close();
  await closed;
  t.equal(direct.opened.transport.sessionId, undefined);

  const strayed = await failure(t, { url: `${elsewhere}/mcp`, cross_origin_redirects: true });
  t.match(strayed, { kind: 'http', status: 400 }, 'a session id does not go to another origin');
});

t.test('ERA-3 · a real server is called over SSE', async (t) => {
  const url = await startEverything(t, 'sse');
  const { client } = await connected(t, { url: `${url}/sse`, transport: 'sse' });
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  t.match(result.content, [{ type: 'text', text: /hello/ }]);
});

t.test('ERA-3 · a real server is called over stdio', async (t) => {
  const { client, opened } = await connected(t, { command: process.execPath, args: [everything, 'stdio'] });
  t.ok((await client.listTools()).tools.length > 5);
  t.equal(opened.exitStatus(), undefined);
  await opened.close();
  t.equal(opened.exitStatus(), undefined, 'it did not end by itself');
  t.match(opened.whyClosed(), /it was closed/);
});

t.test('ERA-3 · a web page is no MCP endpoint, unless the preflight is skipped', async (t) => {
  const methods: string[] = [];
  const { url } = await listenHttp(t, (request, response) => {
    methods.push(request.method ?? '');
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html></html>');
  });
  await t.rejects(open(t, { url }), {
    message:
      'mcp server "github": is not an MCP endpoint: it answers text/html; charset=utf-8; check url, or set skip_preflight: true',
  });
  t.same(methods, ['HEAD']);
  t.match(await failure(t, { url }), { kind: 'notMcp', contentType: 'text/html; charset=utf-8' });
  methods.length = 0;
  t.match(await failure(t, { url, skip_preflight: true }), { kind: 'notMcp', contentType: 'text/html; charset=utf-8' });
  t.same(methods, ['POST']);
});

t.test('ERA-3 · OAU-1 · a page of logins is not taken for the endpoint of a server with OAuth', async (t) => {
  const { url } = await listenHttp(t, (request, response) => {
    if (request.url === '/login') response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>');
    else if (request.method === 'HEAD') response.writeHead(302, { location: '/login' }).end();
    else response.writeHead(401).end();
  });
  t.match(await failure(t, { url: `${url}/mcp`, auth: 'oauth' }), { kind: 'http', status: 401 });
  t.match(await failure(t, { url: `${url}/mcp` }), { kind: 'notMcp' });
});

t.test('TLS-2 · a server without TLS settings sees its headers, and the SDK’s', async (t) => {
  let seen: Record<string, unknown> = {};
  const { url } = await listenHttp(t, (request, response) => {
    if (request.method === 'POST') seen = request.headers;
    response.writeHead(request.method === 'POST' ? 403 : 405).end();
  });
  t.match(await failure(t, { url, headers: { 'x-api-key': 'key', Authorization: 'Bearer b' } }), {
    kind: 'http',
    status: 403,
  });
  t.match(seen, { 'x-api-key': 'key', authorization: 'Bearer b', 'user-agent': 'AgentGateway-Agent/1.2.3' });
});

t.test('LIF-7 · the causes of an unreachable server are distinguished', async (t) => {
  const made = makeCertificates(makeHome(t).path);
  const { url: secure } = await listenHttp(t, (_request, response) => response.end(), {
    tls: { cert: made.read(made.serverCert), key: made.read(made.serverKey) },
  });
  const answer = async (status: number, type = 'text/plain', body = 'sorry'): Promise<string> => {
    const { url } = await listenHttp(t, (request, response) => {
      if (request.method === 'HEAD') response.writeHead(405).end();
      else response.writeHead(status, { 'content-type': type }).end(body);
    });
    return url;
  };
  const error = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32022, message: 'modern only' } });
  const rpc = JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32601, message: 'no such method' } });
  const { url: silent } = await listenHttp(t, (request, response) => {
    if (request.method === 'HEAD') response.end();
  });
  const dead = `http://127.0.0.1:${await freePort()}`;
  const pin: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
  for (const [name, entry, expected, options] of [
    ['503', { url: await answer(503) }, { kind: 'http', status: 503, message: 'sorry' }],
    ['401', { url: await answer(401) }, { kind: 'http', status: 401 }],
    [
      '400 with a code',
      { url: await answer(400, 'application/json', error) },
      { kind: 'http', status: 400, rpcCode: -32022, message: 'modern only' },
    ],
    [
      'JSON-RPC',
      { url: await answer(200, 'application/json', rpc) },
      { kind: 'rpc', code: -32601, message: /no such method/ },
    ],
    [
      'JSON of another kind',
      { url: await answer(200, 'application/json', '{"detail":"Not Found"}') },
      { kind: 'notMcp', contentType: /no JSON-RPC message/ },
    ],
    ['silence', { url: silent }, { kind: 'timeout', afterMs: 300 }, { timeoutMs: 300 }],
    ['refused', { url: dead }, { kind: 'network', message: /ECONNREFUSED/ }],
    ['refused, probed', { url: dead }, { kind: 'network', message: /ECONNREFUSED/ }, pin],
    ['refused over SSE', { url: dead, transport: 'sse' }, { kind: 'network', message: /ECONNREFUSED/ }],
    ['CA', { url: secure }, { kind: 'tls', message: /UNABLE_TO_VERIFY_LEAF_SIGNATURE/ }],
    ['CA, probed', { url: secure }, { kind: 'tls', message: /UNABLE_TO_VERIFY_LEAF_SIGNATURE/ }, pin],
    ['CA over SSE', { url: secure, transport: 'sse' }, { kind: 'tls', message: /certificate/ }],
    ['404 over SSE', { url: await answer(404), transport: 'sse' }, { kind: 'http', status: 404 }],
    ['JSON over SSE', { url: await answer(200, 'application/json'), transport: 'sse' }, { kind: 'notMcp' }],
    [
      'no file',
      { url: secure, client_cert: '~/no.pem' },
      { kind: 'tlsFile', key: 'client_cert', path: '~/no.pem', resolved: '/nowhere/no.pem' },
    ],
    ['no command', { command: 'no-such-command' }, { kind: 'spawn', code: 'ENOENT', command: 'no-such-command' }],
    ['an exit', { command: 'sh', args: ['-c', 'exit 7'] }, { kind: 'exited', status: 7 }],
    ['an exit, probed', { command: 'sh', args: ['-c', 'exit 7'] }, { kind: 'exited', status: 7 }, pin],
    [
      'a legacy server, probed',
      { command: process.execPath, args: [everything, 'stdio'] },
      { kind: 'notStateless' },
      pin,
    ],
  ] as const) {
    t.match(await failure(t, entry as unknown as JsonObject, options), expected, name);
  }
});
