/** The package as a user has it, without anything that only builds or tests it: each of its jobs, once. */

import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import t from 'tap';
import { startCollector } from '../support/collector.ts';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { commandOf } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { installPacked } from '../support/packed.ts';
import { until } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';

const secret = 'packed-secret-packed-secret';

t.test('PKG-1 · the package alone serves events, tools and the page, and sends traces', async (t) => {
  const entry = join(installPacked(t), 'dist/cli/main.js');
  const collector = await startCollector(t);
  const home = makeHome(t);
  const routes = { echo: { secret, prompt: 'Hello {name}', deliver: 'log' } };
  home.write(
    'config.yaml',
    JSON.stringify({
      agent: { runner: 'echo' },
      telemetry: { otlp_endpoint: collector.url },
      inspector: { port: 0 },
      mcp_servers: { notes: commandOf(stdioPeer()) },
      platforms: { webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, routes } } },
    }),
  );
  const daemon = await startDaemon(t, home.path, { OTEL_BSP_SCHEDULE_DELAY: '20' }, { entry });
  const env = { ...process.env, AGENT_HOME: home.path };
  const agent = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [entry, ...words], { env })).stdout;

  t.equal((await postSigned(`${daemon.url}/webhooks/echo`, { name: 'world' }, { secret })).status, 202);
  await until(async () => (await agent('deliveries', 'list')).includes('delivered'));
  await until(async () => (await agent('mcp', 'tools')).includes('mcp__notes__echo'));
  t.match(await agent('mcp', 'call', 'mcp__notes__echo', '{"text":"hi"}'), /hi/);
  const page = new URL((JSON.parse(await agent('inspect', '--web', '--json')) as { url: string }).url);
  t.match(await (await fetch(page)).text(), /<script/);
  t.match(await agent('doctor'), /config +no findings/);
  t.same(
    daemon.log.filter(({ message }) => message.startsWith('HTTP server: ')).map(({ level }) => level),
    ['info'],
    'what is not installed is no warning, whether or not it has a binary for this version of Node.js',
  );
  await until(() => collector.spans.length > 0);

  const serve = spawn(process.execPath, [entry, 'mcp', 'serve'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => serve.kill());
  const lines = createInterface(serve.stdout)[Symbol.asyncIterator]();
  const clientInfo = { name: 'packed', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  serve.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  t.match(JSON.parse((await lines.next()).value as string), { id: 1, result: { serverInfo: {} } });
});
