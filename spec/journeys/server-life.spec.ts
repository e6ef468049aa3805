/** The life of the servers in a real daemon: how they begin, rest, change and end, seen through its real doors. */

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isJsonObject } from '../../machines/base/json.ts';
import { runCli } from '../support/daemon.ts';
import {
  type CallAnswer,
  cached,
  child,
  commandOf,
  controlOf,
  entryOf,
  eventually,
  folder,
  isWell,
  startGateway,
  streamsOpen,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { hostilePeer } from '../support/mcp/hostile-peer.ts';
import { started } from '../support/mcp/http-peer.ts';
import { jsonPeer } from '../support/mcp/json-peer.ts';
import { leakedToken } from '../support/mcp/odd-tools.ts';
import { type StdioBehaviour, stdioPeer } from '../support/mcp/stdio-peer.ts';
import { hasEnded, numbersIn } from '../support/processes.ts';
import { inAllOnly } from '../support/tier.ts';

interface Counted {
  readonly entry: (more?: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** The process ids of its starts so far. */
  pids(): readonly number[];
}

function counted(t: Test, ...behaviour: readonly (StdioBehaviour | `${StdioBehaviour}=${string}`)[]): Counted {
  const pidFile = join(folder(t), 'pids');
  const peer = stdioPeer(behaviour, { pidFile });
  return { entry: (more) => commandOf(peer, more), pids: () => numbersIn(pidFile) };
}

t.test('how a server begins', async (t) => {
  t.test(
    'LIF-1 · LIF-2 · CFG-3 · FLT-3 · a disabled server and a broken entry are shown, not tried, and harm no other',
    async (t) => {
      const off = counted(t);
      const offHttp = await started(t);
      const good = counted(t);
      const gateway = await startGateway(t, {
        off: off.entry({ enabled: false }),
        'off-http': entryOf(offHttp, { enabled: false }),
        neither: { timeout: 5 },
        both: { command: 'node', url: 'http://127.0.0.1:9/mcp' },
        'no-such-command': { command: 'surely-no-such-command' },
        good: good.entry(),
        filtered: counted(t).entry({ tools: { include: [], resources: false, prompts: false } }),
      });

      await gateway.reaches('good', 'connected');
      const missing = await gateway.reaches('no-such-command', 'failed');
      t.match(missing.error, /surely-no-such-command/);
      t.match(await gateway.reaches('filtered', 'connected'), { tools: 0 });
      t.match(await gateway.server('off'), { state: 'disabled', tools: 0 });
      t.match(await gateway.server('off-http'), { state: 'disabled', tools: 0 });
      for (const name of ['neither', 'both']) {
        const row = await gateway.server(name);
        t.equal(row?.state, 'failed', name);
        t.match(row?.error, /url|command/);
      }
      t.equal(wordsOf(await gateway.call('mcp__good__echo', { text: 'alive' })), 'alive');
      const message = /mcp server "off" is disabled; `agent mcp enable off` connects it$/;
      t.match((await gateway.call('mcp__off__echo', { text: 'no' })).error, { code: 'unknown_tool', message });
      await gateway.cli('mcp', 'reload', 'off');
      await gateway.cli('mcp', 'reload', 'neither');
      await gateway.call('mcp__good__echo', { text: 'again' });
      t.same(off.pids(), [], 'the disabled one was never started');
      t.equal(offHttp.connections, 0, 'and never reached');
      t.match(await gateway.server('off'), { state: 'disabled' });
      t.match(await gateway.server('neither'), { state: 'failed' });
    },
  );

  t.test('LIF-6 · LIF-1 · a lazy server is not started until its first call, whatever lists it', async (t) => {
    const lazy = counted(t);
    const first = await startGateway(t, { lazy: lazy.entry({ lazy: true }) });
    await first.reaches('lazy', 'connected');
    await cached(first, 'lazy');
    t.equal(lazy.pids().length, 1, 'nothing is remembered yet, so it was connected to');
    t.equal(await first.daemon.kill('SIGTERM'), 0);

    const gateway = await startGateway(t, { lazy: lazy.entry({ lazy: true }) }, { home: first.home });

    t.match(await gateway.server('lazy'), { state: 'lazy', tools: 14, era: null });
    const tools = await gateway.tools('lazy');
    t.equal(tools.length, 14);
    t.ok(tools.every(({ available }) => available));
    for (const words of [
      ['mcp', 'list'],
      ['mcp', 'tools'],
      ['mcp', 'logs', 'lazy'],
      ['gateway', 'status'],
      ['inspect', 'tree'],
    ]) {
      t.equal((await gateway.cli(...words, ...(words[1] === 'logs' ? [] : ['--json']))).code, 0, words.join(' '));
    }
    t.equal((await gateway.call('mcp__lazy__echo', {})).error?.code, 'invalid_arguments');
    t.equal(lazy.pids().length, 1, 'looking started nothing');
    t.match(await gateway.server('lazy'), { state: 'lazy' });

    t.equal(wordsOf(await gateway.call('mcp__lazy__echo', { text: 'wake' })), 'wake');
    t.equal(lazy.pids().length, 2);
    t.match(await gateway.server('lazy'), { state: 'connected', era: 'legacy', tools: 14 });
  });
});

t.test(
  'LIF-12 · CFG-2 · a change on disk connects, retires and restarts what it names, and touches nothing else',
  async (t) => {
    const kept = counted(t);
    const changed = counted(t);
    const removed = counted(t);
    const added = counted(t);
    const keptHttp = await started(t);
    const gateway = await startGateway(t, {
      kept: kept.entry(),
      'kept-http': entryOf(keptHttp),
      changed: changed.entry(),
      removed: removed.entry(),
    });
    for (const name of ['kept', 'kept-http', 'changed', 'removed']) await gateway.reaches(name, 'connected');
    await streamsOpen(keptHttp);
    const callsOf = async (server: string) => (await gateway.control.call('mcp.calls', { server })) as unknown[];
    for (const name of ['kept', 'removed']) await gateway.call(`mcp__${name}__echo`, { text: 'x' });
    t.same([(await callsOf('kept')).length, (await callsOf('removed')).length], [1, 1]);
    const before = await gateway.server('kept');
    const [removedPid = 0] = removed.pids();
    const [changedPid = 0] = changed.pids();
    const requests = keptHttp.requests.length;

    gateway.configure({
      added: added.entry(),
      changed: changed.entry({ tools: { include: 'echo', resources: false, prompts: false } }),
      kept: kept.entry(),
      'kept-http': entryOf(keptHttp),
    });

    await gateway.reaches('added', 'connected');
    await eventually(async () => ((await gateway.tools('changed')).length === 1 ? true : undefined));
    await gateway.reaches('changed', 'connected');
    await eventually(async () => ((await gateway.server('removed')) === undefined ? true : undefined));
    const cache = join(gateway.home.path, 'cache', 'mcp');
    await eventually(() => (existsSync(join(cache, 'removed.json')) ? undefined : true));
    t.ok(existsSync(join(cache, 'kept.json')));
    t.ok(hasEnded(removedPid), 'the child of the removed server has ended');
    t.ok(hasEnded(changedPid), 'the child of the changed server has ended');
    t.equal(changed.pids().length, 2);
    await t.rejects(gateway.tools('removed'), { code: 'server-unknown' });
    t.equal((await gateway.call('mcp__removed__echo', { text: 'x' })).error?.code, 'unknown_tool');
    t.equal(wordsOf(await gateway.call('mcp__added__echo', { text: 'new' })), 'new');
    t.equal(kept.pids().length, 1, 'the untouched one was not started again');
    t.notOk(hasEnded(kept.pids()[0] ?? 0));
    t.same(await gateway.server('kept'), before);
    t.equal(keptHttp.requests.length, requests, 'nothing was said to the untouched one');

    t.test('LIF-12 · `agent mcp reload` reads the configuration again at once', async (t) => {
      gateway.configure({ kept: kept.entry(), removed: removed.entry() });

      t.equal((await gateway.cli('mcp', 'reload')).code, 0);

      await gateway.reaches('removed', 'connected');
      await eventually(async () => ((await gateway.list()).length === 2 ? true : undefined));
      t.same(await gateway.server('kept'), before);
      t.same([(await callsOf('kept')).length, await callsOf('removed')], [1, []], 'it begins anew');
    });

    t.test('LIF-12 · a configuration that cannot be read leaves everything as it is', async (t) => {
      gateway.home.write('config.yaml', 'mcp_servers: {kept: [');

      const { code, stderr } = await gateway.cli('mcp', 'reload');

      t.equal(code, 1);
      t.match(stderr, /has findings: .*not YAML.*; the last good one stays in force/);
      t.same(await gateway.server('kept'), before);
      t.equal(wordsOf(await gateway.call('mcp__removed__echo', { text: 'still' })), 'still');
    });
  },
);

for (const kind of ['http', 'sse', 'modern'] as const) {
  t.test(`FLT-4 · on ${kind} a changed list is registered anew, without a gap in what stays`, async (t) => {
    const peer = await started(t, { kind, tools: ['echo', 'goes', 'hidden_one'] });
    const gateway = await startGateway(t, {
      peer: entryOf(peer, { tools: { exclude: 'hidden_*', resources: false, prompts: false } }),
    });
    await gateway.reaches('peer', 'connected');
    if (kind === 'modern') await eventually(() => (peer.seen('subscriptions/listen').length > 0 ? true : undefined));
    else await streamsOpen(peer);
    t.same(
      (await gateway.tools()).map(({ tool }) => tool),
      ['echo', 'goes'],
    );
    const watcher = await controlOf(t, gateway.home);
    const seen: string[][] = [];
    const looks: Promise<unknown>[] = [];
    watcher.onNotification((method) => {
      if (method !== 'mcp.toolsChanged') return;
      const look = gateway.tools().then((rows) => void seen.push(rows.map(({ tool }) => tool)));
      looks.push(look);
    });
    await watcher.call('mcp.watch');

    await peer.setTools(['echo', 'comes', 'hidden_two']);

    const gaps: number[] = [];
    await eventually(async () => {
      const names = (await gateway.tools()).map(({ tool }) => tool);
      if (!names.includes('echo')) gaps.push(1);
      return names.includes('comes') ? true : undefined;
    });
    await eventually(() => (seen.length > 0 ? true : undefined));
    await Promise.all(looks);
    t.same(gaps, []);
    t.ok(seen.every((names) => names.includes('echo')));
    t.same(
      (await gateway.tools()).map(({ tool }) => tool),
      ['echo', 'comes'],
    );
    t.equal((await gateway.call('mcp__peer__goes')).error?.code, 'unknown_tool');
    t.equal(wordsOf(await gateway.call('mcp__peer__comes')), 'comes');
    await eventually(async () => ((await gateway.server('peer'))?.tools === 2 ? true : undefined));
    const remembered = async (): Promise<string> =>
      JSON.parse(await cached(gateway, 'peer'))
        .tools.map(({ name }: { name: string }) => name)
        .join();
    await eventually(async () => ((await remembered()) === 'echo,comes,hidden_two' ? true : undefined));
  });
}

t.test('LIF-5 · an idle child is recycled, its tools stay, and the next call wakes it', async (t) => {
  const peer = child(t, [], { idle_timeout_seconds: 60 });
  const gateway = await startGateway(t, { idle: peer.entry }, { timePasses: true });
  await gateway.reaches('idle', 'connected');
  await gateway.daemon.pass(60_000);
  await gateway.reaches('idle', 'lazy');
  const [pid = 0] = peer.pids();

  t.ok(hasEnded(pid));
  const tools = await gateway.tools('idle');
  t.equal(tools.length, 14);
  t.ok(tools.every(({ available }) => available));
  t.equal(wordsOf(await gateway.call('mcp__idle__echo', { text: 'awake' })), 'awake');
  t.equal(peer.pids().length, 2);
});

t.test('LIF-4 · LIF-1 · keepalive pings HTTP when configured, and stdio only when configured', async (t) => {
  const pinged = await started(t);
  const unpinged = await started(t, { kind: 'modern' });
  const gateway = await startGateway(
    t,
    {
      pinged: entryOf(pinged, { keepalive_interval: 0.001 }),
      modern: entryOf(unpinged, { keepalive_interval: 60, protocol: 'stateless' }),
    },
    { timePasses: true },
  );
  const { since } = await gateway.reaches('pinged', 'connected');

  await gateway.daemon.pass(4_500);
  await eventually(() => (pinged.seen('ping').length >= 1 ? true : undefined));
  t.ok(Date.now() + 4_500 - Date.parse(since) >= 5_000, 'not before the floor of five seconds');
  await gateway.daemon.pass(60_000);
  await eventually(() => (unpinged.seen('server/discover').length >= 2 ? true : undefined));

  pinged.set({ kind: 'reset', at: 'before-head', on: 'ping' });
  await gateway.daemon.pass(5_000);
  await gateway.reaches('pinged', 'backingOff', 'connecting');
  pinged.set();
  await gateway.reaches('pinged', 'connected');
});

t.test('LIF-14 · servers that flood', { skip: inAllOnly }, async (t) => {
  const healthy = child(t).entry;
  const gateway = await startGateway(t, { eager: commandOf(hostilePeer('progress')), healthy });
  for (const name of ['eager', 'healthy']) await gateway.reaches(name, 'connected');

  t.test(
    'LIF-14 · SRV-3 · a server that floods the progress of a call is ended, and its caller has a few of it',
    { skip: inAllOnly },
    async (t) => {
      let passed = 0;
      const control = await controlOf(t, gateway.home);
      control.onNotification((method) => {
        if (method === 'mcp.progress') passed += 1;
      });

      const startedAtMs = performance.now();
      const { error } = (await control.call('mcp.call', { name: 'mcp__eager__tool' })) as CallAnswer;

      t.match(error?.message, /floods the gateway: \d+ lines in a second that nothing asked for/);
      t.ok(passed >= 1 && passed <= 7 + (performance.now() - startedAtMs) / 100, `${passed} were passed on`);
      await isWell(t, gateway);
    },
  );

  t.test('LIF-14 · LIF-7 · a server that floods is cut off and backed off, and the list says why', async (t) => {
    gateway.configure({ noisy: commandOf(hostilePeer('flood')), healthy });
    await gateway.reaches('noisy', 'connected');
    await isWell(t, gateway);

    const { error } = await gateway.reaches('noisy', 'backingOff');

    t.match(error, /floods the gateway: \d+ lines in a second that nothing asked for/);
    await isWell(t, gateway);
  });
});

t.test('LIF-7 · a server that asks to wait is not tried again before, for five minutes at most', async (t) => {
  const asked = { a: '120', b: new Date(Date.now() + 86_400_000).toUTCString(), c: 'soon' };
  const busy = createServer((request, response) => {
    const name = request.url?.slice(1) as keyof typeof asked;
    response.writeHead(429, { 'retry-after': asked[name] }).end('slow down');
  });
  const { port } = await new Promise<AddressInfo>((resolve) =>
    busy.listen(0, '127.0.0.1', () => resolve(busy.address() as AddressInfo)),
  );
  t.teardown(() => busy.close());
  const names = Object.keys(asked);
  const entries = names.map((name) => [name, { url: `http://127.0.0.1:${port}/${name}` }] as const);
  const gateway = await startGateway(t, Object.fromEntries(entries));
  const waits: number[] = [];
  for (const name of names) {
    const { since, next_at, error } = await gateway.reaches(name, 'backingOff');
    t.match(error, /answered HTTP 429/);
    waits.push(Date.parse(next_at ?? '') - Date.parse(since));
  }
  t.same(waits.slice(0, 2), [120_000, 300_000]);
  t.ok(Number(waits[2]) < 120_000, 'what is no time counts as absent');
});

t.test('LIF-15 · sixteen of many stdio servers start at once, and the others after them', async (t) => {
  const own = folder(t);
  // Answers each request with the same words: a Node server takes a hundred times as long to start.
  const initialized = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}';
  const script = `echo $$ >>"$0/started"; until [ -e "$0/go" ]; do sleep 0.1; done
    while IFS= read -r line; do
      id=\${line##*\\"id\\":} id=\${id%%[,\\}]*}
      case $line in *'"id":'*) echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":$1}" ;; esac
    done`;
  const held = { command: 'sh', args: ['-c', script, own, initialized], protocol: 'legacy' };
  const names = Array.from({ length: 20 }, (_, index) => `held-${index}`);
  const gateway = await startGateway(t, Object.fromEntries(names.map((name) => [name, held])));
  const started = (): number => numbersIn(join(own, 'started')).length;
  await eventually(() => started() >= 16);
  await gateway.list();

  t.equal(started(), 16);
  writeFileSync(join(own, 'go'), '');

  for (const name of names) await gateway.reaches(name, 'connected');
  t.equal(started(), 20);
});

t.test('LIF-10 · a stdio child sees the few variables it may, and its own', async (t) => {
  const gateway = await startGateway(
    t,
    { peer: counted(t, 'environment').entry({ env: { OWN: 'own value', FROM_ENV: '${SPEC_TOKEN}' } }) },
    { env: { SPEC_TOKEN: 'from the environment', SPEC_SECRET: 'not for children', LC_ALL: 'C.UTF-8' } },
  );
  await gateway.reaches('peer', 'connected');

  const { cwd, env } = JSON.parse(wordsOf(await gateway.call('mcp__peer__environment'))) as {
    readonly cwd: string;
    readonly env: Record<string, string>;
  };
  t.equal(cwd, gateway.home.path, 'not where the daemon was started');

  t.match(env, { OWN: 'own value', FROM_ENV: 'from the environment', LC_ALL: 'C.UTF-8', PATH: String });
  t.notOk('SPEC_SECRET' in env);
  t.notOk('SPEC_TOKEN' in env);
  // The mark by which a grandchild that left its group is still found (LIF-9).
  t.same(
    Object.keys(env).filter((name) => name.startsWith('AGENT_')),
    ['AGENT_PROCESS_MARK'],
  );
});

t.test(
  'LIF-10 · standard error and lines that are no messages are in `agent mcp logs`, secrets redacted',
  async (t) => {
    const gateway = await startGateway(t, {
      talks: counted(t, 'secret-stderr', 'rubbish').entry(),
      silent: counted(t).entry(),
    });
    await gateway.reaches('talks', 'connected');
    await gateway.reaches('silent', 'connected');
    await eventually(async () =>
      /starting[\s\S]*upstream refused|upstream refused[\s\S]*starting/.test((await gateway.logs('talks')).join('\n')),
    );

    const { code, stdout } = await gateway.cli('mcp', 'logs', 'talks');
    const one = await gateway.cli('mcp', 'logs', 'talks', '--lines', '1');

    t.equal(code, 0);
    t.match(stdout, /upstream refused Authorization: .*\[redacted\]/);
    t.match(stdout, /Welcome to the peer!/);
    t.notMatch(stdout, new RegExp(leakedToken));
    t.equal(one.stdout.trimEnd().split('\n').length, 1);
    t.equal((await gateway.cli('mcp', 'logs', 'silent')).stdout, '');
    t.same(readdirSync(join(gateway.home.path, 'logs', 'mcp')), ['talks.log']);
    t.equal((await gateway.cli('mcp', 'logs', 'nobody')).code, 1);
  },
);

t.test('LIF-9 · no child and no grandchild outlives the daemon', async (t) => {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    t.test(`LIF-9 · after ${signal}`, async (t) => {
      const plain = counted(t, 'grandchild');
      const holding = counted(t, 'grandchild-holding', 'stubborn');
      const starting = counted(t, 'silent', 'grandchild');
      const gateway = await startGateway(t, {
        plain: plain.entry(),
        holding: holding.entry(),
        starting: starting.entry(),
      });
      await gateway.reaches('plain', 'connected');
      await gateway.reaches('holding', 'connected');
      const grandchild = (server: string): Promise<number> =>
        eventually(async () => {
          const line = (await gateway.logs(server)).find((one) => one.startsWith('grandchild '));
          return line === undefined ? undefined : Number(line.split(' ')[1]);
        });
      const pids = [
        ...plain.pids(),
        ...holding.pids(),
        await grandchild('plain'),
        await grandchild('holding'),
        await grandchild('starting'),
        ...starting.pids(),
      ];
      t.equal(pids.length, 6);
      t.notOk(pids.some(hasEnded));

      gateway.daemon.kill(signal);

      t.equal(await gateway.daemon.exited, signal === 'SIGTERM' ? 0 : null);
      await eventually(() => (pids.every(hasEnded) ? true : undefined));
      t.pass('all have ended');
    });
  }
});

t.test('CON-4 · CLI-2 · what scripts read', async (t) => {
  const peer = await started(t, { tools: ['echo', 'add', 'fail'] });
  const gateway = await startGateway(t, {
    peer: entryOf(peer),
    lost: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer ${KEY_OF_LOST}' } },
    terse: await jsonPeer(t, ({ method, params }) => {
      const inputSchema = { type: 'object' };
      if (method === 'tools/list')
        return { result: { tools: ['structure', 'error'].map((name) => ({ name, inputSchema })) } };
      if (method !== 'tools/call') return undefined;
      return { result: params.name === 'error' ? { isError: true } : { structuredContent: { n: 1 } } };
    }),
  });
  await gateway.reaches('peer', 'connected');
  await gateway.reaches('terse', 'connected');
  await gateway.reaches('lost', 'backingOff', 'parked');
  const parsed = (text: string): unknown => JSON.parse(text);
  // As a script starts them.
  const cli = (...words: string[]) => runCli(words, gateway.home.path);

  t.test('CON-4 · `mcp list --json`', async (t) => {
    const { code, stdout } = await cli('mcp', 'list', '--json');

    t.equal(code, 0);
    const [first, second] = parsed(stdout) as Record<string, unknown>[];
    t.match(first, { name: 'peer', state: 'connected', transport: 'http', era: 'legacy', tools: 7 });
    t.notOk(Number.isNaN(Date.parse(String(first?.since))));
    t.notOk('error' in (first ?? {}));
    t.match(second, { name: 'lost', tools: 0, era: null, error: /^mcp server "lost": / });
    t.notOk('unset' in (first ?? {}));
    const unset =
      'refers to "KEY_OF_LOST" in headers.Authorization, which is not set; set KEY_OF_LOST in .env or in the environment';
    t.same(second?.unset, [unset]);
    t.match((await cli('mcp', 'list')).stdout, `${unset}; `, 'before what follows from it');
  });

  const calls = [
    [['mcp__peer__echo', '{"text":"hi"}'], 0, { content: [{ type: 'text', text: 'hi' }], isError: false }],
    [
      ['mcp__peer__add', '{"a":1,"b":2}'],
      0,
      { content: [{ type: 'text', text: '3' }], structuredContent: { sum: 3 }, isError: false },
    ],
    [['mcp__peer__fail'], 1, { content: [{ type: 'text', text: 'it failed as asked' }], isError: true }],
    [['mcp__peer__echo', '{}'], 1, { error: { code: 'invalid_arguments', message: String } }],
    [['mcp__peer__none'], 1, { error: { code: 'unknown_tool', message: String } }],
  ] as const;
  for (const [words, exit, shape] of calls) {
    t.test(`CON-4 · \`mcp call ${words.join(' ')} --json\` exits with ${exit}`, async (t) => {
      const { code, stdout } = await cli('mcp', 'call', ...words, '--json');

      t.equal(code, exit);
      const answer = parsed(stdout);
      t.match(answer, shape);
      t.same(Object.keys(isJsonObject(answer) ? answer : {}).sort(), Object.keys(shape).sort());
    });
  }

  t.test('CLI-2 · a call in words: the text, the error with its code, and a usage error', async (t) => {
    t.same(await cli('mcp', 'call', 'mcp__peer__echo', '{"text":"plain"}'), {
      code: 0,
      stdout: 'plain\n',
      stderr: '',
    });
    const unknown = await cli('mcp', 'call', 'mcp__peer__none');
    t.equal(unknown.code, 1);
    t.match(unknown.stderr, /no tool is named "mcp__peer__none".*\[unknown_tool\]/);
    for (const near of ['mcp__peer__ecko', 'echo'])
      t.match((await cli('mcp', 'call', near)).stderr, 'did you mean "mcp__peer__echo"?', near);
    t.equal((await cli('mcp', 'call', 'mcp__peer__echo', 'text')).code, 2);
    t.equal((await cli('mcp', 'call')).code, 2);
  });

  t.test(
    'CLI-2 · a call whose result has no words prints its structure, and an error without a reason says so',
    async (t) => {
      t.same(await cli('mcp', 'call', 'mcp__terse__structure'), { code: 0, stdout: '{"n":1}\n', stderr: '' });
      t.same(await cli('mcp', 'call', 'mcp__terse__error'), {
        code: 1,
        stdout: '',
        stderr: 'agent: the tool failed and gave no reason\n',
      });
    },
  );
});
