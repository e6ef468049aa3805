/** A tool is called through the real doors of a real daemon, on real servers of every transport and era. */

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import {
  type CallAnswer,
  child,
  commandOf,
  controlOf,
  entryOf,
  eventually,
  folder,
  startGateway,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { headerTools } from '../support/mcp/odd-tools.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { collected } from '../support/processes.ts';
import { inAllOnly } from '../support/tier.ts';

/** A module of a development dependency that is a server when it runs. */
function realServer(name: string): string {
  return fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`));
}

t.test('on every transport and era', async (t) => {
  const http = await started(t);
  const sse = await started(t, { kind: 'sse' });
  const modern = await started(t, { kind: 'modern' });
  const dual = await started(t, { kind: 'dual' });
  const gateway = await startGateway(t, {
    piped: commandOf(stdioPeer()),
    'piped-modern': commandOf(stdioPeer('modern')),
    http: entryOf(http),
    sse: entryOf(sse),
    modern: entryOf(modern),
    dual: entryOf(dual, { protocol: 'stateless' }),
  });
  const rows = [
    ['piped', 'stdio', 'legacy'],
    ['piped-modern', 'stdio', 'stateless'],
    ['http', 'http', 'legacy'],
    ['sse', 'sse', 'legacy'],
    ['modern', 'http', 'stateless'],
    ['dual', 'http', 'stateless'],
  ] as const;
  for (const [server, transport, era] of rows) {
    t.test(`ERA-1 · ERA-3 · NAM-1 · ${server} answers a call, ${era} over ${transport}`, async (t) => {
      const row = await gateway.reaches(server, 'connected');

      const answer = await gateway.call(`mcp__${server.replaceAll('-', '_')}__echo`, { text: 'hello' });

      t.match(row, { transport, era, tools: 14 });
      t.same(answer, { content: [{ type: 'text', text: 'hello' }], isError: false });
    });

    t.test(`LIF-13 · ${server} keeps structured content and a tool's own error`, async (t) => {
      const name = server.replaceAll('-', '_');

      const sum = await gateway.call(`mcp__${name}__add`, { a: 2, b: 3 });
      const failed = await gateway.call(`mcp__${name}__fail`);

      t.same(sum, { content: [{ type: 'text', text: '5' }], structuredContent: { sum: 5 }, isError: false });
      t.same(failed, { content: [{ type: 'text', text: 'it failed as asked' }], isError: true });
    });

    t.test(`SRV-3 · LIF-3 · ${server} reports its progress to the caller`, async (t) => {
      const control = await controlOf(t, gateway.home);
      const told: JsonObject[] = [];
      control.onNotification((method, params) => {
        if (method === 'mcp.progress') told.push(params);
      });

      const answer = await control.call('mcp.call', {
        name: `mcp__${server.replaceAll('-', '_')}__progress`,
        arguments: { steps: 3, everyMs: 1 },
      });

      t.equal(wordsOf(answer as unknown as CallAnswer), '3 steps');
      t.same(
        told.map(({ progress, total }) => [progress, total]),
        [
          [1, 3],
          [2, 3],
          [3, 3],
        ],
      );
    });

    t.test(`FLT-2 · ${server} offers its resources and prompts as tools`, async (t) => {
      const name = (utility: string) => `mcp__${server.replaceAll('-', '_')}__${utility}`;

      const resources = JSON.parse(wordsOf(await gateway.call(name('list_resources'))));
      const read = await gateway.call(name('read_resource'), { uri: 'note://one' });
      const prompts = JSON.parse(wordsOf(await gateway.call(name('list_prompts'))));
      const prompt = JSON.parse(
        wordsOf(await gateway.call(name('get_prompt'), { name: 'greet', arguments: { who: 'Ada' } })),
      );

      t.same(
        resources.resources.map(({ uri }: { uri: string }) => uri),
        ['note://one', 'note://dot.png'],
      );
      t.match(read.content, [{ type: 'resource', resource: { uri: 'note://one', text: 'the first note' } }]);
      t.match(prompts.prompts, [{ name: 'greet' }]);
      t.match(prompt.messages, [{ role: 'user', content: { text: 'Greet Ada' } }]);
    });
  }
});

t.test('on servers that others wrote', async (t) => {
  const memory = join(folder(t), 'memory.jsonl');
  const [own, given, workspace] = [folder(t), folder(t), folder(t)];
  mkdirSync(join(workspace, 'notes'));
  const files = { command: process.execPath, args: [realServer('filesystem'), own] };
  const gateway = await startGateway(
    t,
    {
      everything: { command: process.execPath, args: [realServer('everything'), 'stdio'] },
      files,
      rooted: { ...files, roots: [given, '${workspaceFolder}/notes'] },
      memory: { command: process.execPath, args: [realServer('memory')], env: { MEMORY_FILE_PATH: memory } },
    },
    { config: { workspace } },
  );
  const saysRoots = (line: string): boolean => /roots: |No valid root directories/.test(line);

  t.test('ERA-3 · LIF-13 · server-everything echoes, sends a picture and structured content', async (t) => {
    await gateway.reaches('everything', 'connected');

    t.equal(wordsOf(await gateway.call('mcp__everything__echo', { message: 'hi' })), 'Echo: hi');
    const image = await gateway.call('mcp__everything__get_tiny_image');
    const weather = await gateway.call('mcp__everything__get_structured_content', { location: 'New York' });

    t.ok(image.content?.some(({ type, mimeType }) => type === 'image' && mimeType === 'image/png'));
    t.match(weather.structuredContent, { temperature: Number, conditions: String });
  });

  t.test('SRV-3 · server-filesystem keeps the folder of its arguments, and gets no other', async (t) => {
    await gateway.reaches('files', 'connected');
    await eventually(async () => ((await gateway.logs('files')).some(saysRoots) ? true : undefined));

    const allowed = wordsOf(await gateway.call('mcp__files__list_allowed_directories'));
    const refused = await gateway.call('mcp__files__read_text_file', { path: join(process.cwd(), 'package.json') });

    t.same(allowed.split('\n').slice(1), [own]);
    t.match(wordsOf(refused), /outside allowed directories/);
  });

  t.test('SRV-3 · INT-2 · an entry with roots gives it these folders and no other', async (t) => {
    await gateway.reaches('rooted', 'connected');
    await eventually(async () => ((await gateway.logs('rooted')).some(saysRoots) ? true : undefined));

    const allowed = wordsOf(await gateway.call('mcp__rooted__list_allowed_directories'));

    t.same(allowed.split('\n').slice(1), [given, join(workspace, 'notes')]);
  });

  t.test('ERA-3 · LIF-10 · server-memory gets its env and remembers across a fresh connection', async (t) => {
    await gateway.reaches('memory', 'connected');
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    await gateway.call('mcp__memory__create_entities', { entities });
    await gateway.control.call('mcp.reconnect', { server: 'memory' });

    const graph = await gateway.call('mcp__memory__read_graph');

    t.match(graph.structuredContent, { entities: [{ name: 'Ada' }] });
    t.match(readFileSync(memory, 'utf8'), /writes programs/);
  });
});

for (const kind of ['http', 'sse', 'modern'] as const) {
  t.test(`how a call on ${kind} ends early`, { skip: kind === 'sse' && inAllOnly }, async (t) => {
    const peer = await started(t, { kind });
    const gateway = await startGateway(
      t,
      { peer: entryOf(peer), hasty: entryOf(peer, { timeout: 60 }) },
      { timePasses: true },
    );
    await gateway.reaches('peer', 'connected');
    await gateway.reaches('hasty', 'connected');

    t.test(`LIF-3 · closing the control connection cancels the call on the wire of ${kind}`, async (t) => {
      const control = await controlOf(t, gateway.home);
      const call = control.call('mcp.call', { name: 'mcp__peer__slow' });
      const refused = t.rejects(call);
      await eventually(() => peer.work.slow.length === 1);

      control.close();

      await eventually(() => peer.work.slow[0]?.state === 'cancelled');
      await refused;
      t.equal(wordsOf(await gateway.call('mcp__peer__echo', { text: 'well' })), 'well', 'the server goes on');
      t.match(await gateway.server('peer'), { state: 'connected' });
    });

    t.test(`LIF-3 · a call over its timeout is reported, and cancelled on the wire of ${kind}`, async (t) => {
      const call = gateway.call('mcp__hasty__slow');
      await eventually(() => peer.work.slow.length === 2);

      await gateway.daemon.pass(60_000);

      const { error } = await call;
      t.equal(error?.code, 'timed_out');
      t.match(error?.message, /mcp__hasty__slow had no answer in 60 s.*raise timeout/);
      await eventually(() => peer.work.slow[1]?.state === 'cancelled');
      t.match(await gateway.server('hasty'), { state: 'connected' });
    });
  });
}

t.test('LIF-3 · LIF-11 · a stdio call is cancelled on the wire, and its child lives on', async (t) => {
  const peer = child(t, [], { timeout: 60 });
  const gateway = await startGateway(t, { peer: peer.entry }, { timePasses: true });
  await gateway.reaches('peer', 'connected');

  const slow = gateway.call('mcp__peer__slow');
  await eventually(() => peer.executions('slow') === 1);
  await gateway.daemon.pass(60_000);
  const { error } = await slow;
  // The queue is serial: this is answered only if the slow call was let go of.
  const next = await gateway.call('mcp__peer__echo', { text: 'next' });

  t.equal(error?.code, 'timed_out');
  t.equal(wordsOf(next), 'next');
  t.equal(peer.pids().length, 1);
});

t.test(
  'TRU-4 · TRU-2 · LIF-11 · of calls that leave together the server executes one and dies: none is sent again',
  async (t) => {
    const peer = child(t, ['die-on-call'], { lazy: true, supports_parallel_tool_calls: true });
    const gateway = await startGateway(t, { peer: peer.entry });
    const before = peer.executions('write_note');

    // Both wait for the same start, so both go out at once; the child dies of the first, long before it has read the second.
    const answers = await Promise.all(
      ['small', 'x'.repeat(2_000_000)].map((text) => gateway.call('mcp__peer__write_note', { text })),
    );

    t.same(answers.map(wordsOf), ['[outcome_uncertain]', '[outcome_uncertain]']);
    t.equal(peer.executions('write_note') - before, 1);
  },
);

t.test('CLI-2 · CLI-6 · Ctrl-C in `agent mcp call` cancels the call on the wire', async (t) => {
  const { spawn } = await import('node:child_process');
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer) });
  await gateway.reaches('peer', 'connected');
  const main = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, 'mcp', 'call', 'mcp__peer__slow'], {
    env: { ...process.env, AGENT_HOME: gateway.home.path, AGENT_RUN_ID: 'run-1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const said = collected(child.stderr);
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  await eventually(() => peer.work.slow.length === 1);
  const call = await gateway.control.call('inspect.show', { actor: 'calls/1' });
  t.match(JSON.stringify(call), '"run":"run-1"', 'a call of a run’s program belongs to its run on any socket');

  child.kill('SIGINT');

  await eventually(() => peer.work.slow[0]?.state === 'cancelled');
  t.equal(await exited, 130);
  t.equal(said(), 'Cancelled.\n');
});

t.test('TRU-2 · LIF-13 · an argument that is too long for its header is refused, and nothing is sent', async (t) => {
  const peer = await started(t, { kind: 'modern', tools: headerTools });
  const gateway = await startGateway(t, { hub: entryOf(peer, { protocol: 'stateless' }) });
  await gateway.reaches('hub', 'connected');

  const long = await gateway.call('mcp__hub__good_header', { region: 'x'.repeat(3_000_000) });

  t.match(long.error, {
    code: 'rpc_error',
    message: /was not sent: .* header mcp-param-region, with 3000000 of at most/,
  });
  t.equal(peer.seen('tools/call').length, 0);
  t.equal((await gateway.call('mcp__hub__good_header', { region: 'here' })).error, undefined);
  t.equal(peer.seen('tools/call').length, 1);
});
