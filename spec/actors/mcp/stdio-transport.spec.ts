import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Client, type JSONRPCMessage } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { ConnectError } from '../../../actors/mcp/connect-errors.ts';
import { createStdioTransport, type StdioSettings, type StdioTransport } from '../../../actors/mcp/stdio-transport.ts';
import { maxLinesInTurn } from '../../../actors/mcp/turn-share.ts';
import { lastWords } from '../../../machines/mcp/untrusted-words.ts';
import { heldBytes } from '../../support/collect-garbage.ts';
import { makeHome } from '../../support/home.ts';
import { lentTime } from '../../support/lent-time.ts';
import { hasEnded, numbersIn, until } from '../../support/processes.ts';

interface Peer {
  readonly transport: StdioTransport;
  readonly messages: JSONRPCMessage[];
  readonly errors: Error[];
  readonly warnings: string[];
  readonly closes: () => number;
  readonly stderr: () => string;
  readonly closed: Promise<void>;
}

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' } as const;

function peer(t: Test, settings: Partial<StdioSettings> & Pick<StdioSettings, 'plan'>): Peer {
  const messages: JSONRPCMessage[] = [];
  const errors: Error[] = [];
  const warnings: string[] = [];
  let stderr = '';
  let closes = 0;
  const transport = createStdioTransport({
    server: 'files',
    cwd: process.cwd(),
    log: { log: () => {}, warnOnce: (_key, message) => void warnings.push(message) },
    onStderr: (chunk) => {
      stderr += chunk.toString();
    },
    ...settings,
  });
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      closes += 1;
      resolve();
    };
  });
  transport.onmessage = (message) => void messages.push(message);
  transport.onerror = (error) => void errors.push(error);
  t.teardown(() => transport.close());
  return { transport, messages, errors, warnings, closes: () => closes, stderr: () => stderr, closed };
}

function sh(script: string, env: Readonly<Record<string, string>> = {}): StdioSettings['plan'] {
  return { kind: 'stdio', command: 'sh', args: ['-c', script, 'sh'], env };
}

t.test('ERA-3 · a real server is listed and called over stdio', async (t) => {
  const { transport, closes } = peer(t, {
    plan: { kind: 'stdio', command: process.execPath, args: [everything, 'stdio'], env: {} },
  });
  const client = new Client({ name: 'spec', version: '1' });
  await client.connect(transport);

  const result = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
  const pid = transport.pid ?? 0;
  t.match(result.content, [{ type: 'text', text: /hello/ }]);
  t.ok(pid > 0 && !hasEnded(pid));

  await client.close();
  t.ok(hasEnded(pid));
  t.equal(closes(), 1);
});

t.test('ERA-1 · a stateless client falls back to a legacy server on the same child', async (t) => {
  const { transport } = peer(t, {
    plan: { kind: 'stdio', command: process.execPath, args: [everything, 'stdio'], env: {} },
  });
  const client = new Client({ name: 'spec', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  t.equal(client.getProtocolEra(), 'legacy');
});

t.test('LIF-9 · close ends a child that ignores SIGTERM, and its children, once', async (t) => {
  const home = makeHome(t);
  const { transport, closes } = peer(t, {
    plan: sh(
      "trap '' TERM; (trap '' TERM; exec sleep 600) & echo $! >>pids; echo $$ >>pids; while :; do sleep 1; done",
    ),
    cwd: home.path,
    graceMs: 50,
  });
  await transport.start();
  await until(() => numbersIn(`${home.path}/pids`).length === 2);

  await Promise.all([transport.close(), transport.close()]);

  t.same(numbersIn(`${home.path}/pids`).map(hasEnded), [true, true], 'both are gone when close resolves');
  t.ok(hasEnded(transport.pid ?? 0));
  await transport.close();
  t.equal(closes(), 1);
});

t.test('LIF-9 · close lets a child end by itself when its input ends', async (t) => {
  const home = makeHome(t);
  const { transport } = peer(t, { plan: sh('cat >/dev/null; echo 1 >>bye'), cwd: home.path, graceMs: 60_000 });
  await transport.start();
  await transport.close();
  t.same(numbersIn(`${home.path}/bye`), [1]);
  t.match(transport.whyClosed(), /it was closed/);
});

t.test('LIF-9 · SIGTERM comes before SIGKILL', async (t) => {
  const home = makeHome(t);
  const { transport } = peer(t, {
    plan: sh("trap 'echo 1 >>bye; exit' TERM; echo 1 >>ready; while :; do sleep 0.01; done"),
    cwd: home.path,
    graceMs: 1_000,
  });
  const time = lentTime(t);
  await transport.start();
  await until(() => numbersIn(`${home.path}/ready`).length === 1);
  const closed = transport.close();
  // Once: from SIGTERM on it has all the time that it needs.
  time.pass(1_000);
  await closed;
  t.same(numbersIn(`${home.path}/bye`), [1]);
});

t.test('LIF-9 · children that a child leaves behind end with it, and the end is reported at once', async (t) => {
  const home = makeHome(t);
  const { transport, closed, closes } = peer(t, {
    plan: sh('sleep 600 & echo $! >>pids; echo usage; echo the reason >&2; exit 3'),
    cwd: home.path,
    graceMs: 60_000,
  });
  await transport.start();
  await closed;
  t.ok(numbersIn(`${home.path}/pids`).every(hasEnded));
  t.match(transport.whyClosed(), /^it exited with code 3; it said: (usage\nthe reason|the reason\nusage)$/);
  await transport.close();
  t.equal(closes(), 1);
});

t.test('LIF-7 · of a child that names its fault before a page of its usage, the fault is in the reason', async (t) => {
  const { transport, closed } = peer(t, {
    plan: sh('echo "Error: No access token was provided." >&2; printf "%3000s" usage >&2; exit 1'),
    cwd: makeHome(t).path,
  });
  await transport.start();
  await closed;
  t.match(lastWords(transport.whyClosed() ?? ''), /it said: Error: No access token was provided\. usage$/);
});

t.test('LIF-7 · LIF-9 · a child that closes its output, and lives on, is ended with the reason', async (t) => {
  const home = makeHome(t);
  const { transport, closed } = peer(t, {
    plan: sh('echo $$ >>pids; echo why >&2; exec >&-; exec sleep 600'),
    cwd: home.path,
    graceMs: 60_000,
  });
  await transport.start();

  await closed;

  t.equal(transport.whyClosed(), 'it closed its standard output; it said: why');
  t.ok(numbersIn(`${home.path}/pids`).every(hasEnded));
});

t.test('LIF-9 · a child that waits for all of its children waits for none of ours', async (t) => {
  const plan = sh('read -r children </proc/$$/task/$$/children; [ -z "$children" ] && exit 7');
  const { transport, closed } = peer(t, { plan, cwd: '/', graceMs: 60_000 });
  await transport.start();
  await closed;
  t.equal(transport.exitStatus(), 7);
});

t.test('LIF-9 · the group dies with a parent that SIGKILL ends', async (t) => {
  const home = makeHome(t);
  const module = new URL('../../../actors/mcp/stdio-transport.js', import.meta.url).href;
  const script = `
    import { createStdioTransport } from ${JSON.stringify(module)};
    const transport = createStdioTransport({
      server: 'files', cwd: ${JSON.stringify(home.path)}, onStderr: () => {}, log: { log() {}, warnOnce() {} },
      plan: { kind: 'stdio', command: 'sh', env: {}, args: ['-c',
        "trap '' TERM HUP; (trap '' TERM HUP; exec sleep 600) & echo $! >>pids; echo $$ >>pids; cat"] },
    });
    await transport.start();
    console.log(transport.pid);
  `;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => void parent.kill('SIGKILL'));
  const [printed] = (await once(parent.stdout, 'data')) as [Buffer];
  const leader = Number(printed.toString());
  await until(() => numbersIn(`${home.path}/pids`).length === 2);
  t.notOk(hasEnded(leader));

  parent.kill('SIGKILL');

  await until(() => [leader, ...numbersIn(`${home.path}/pids`)].every(hasEnded));
});

t.test('LIF-9 · a line without an end is cut off with the cap named', async (t) => {
  const home = makeHome(t);
  const { transport, errors, closed } = peer(t, {
    plan: sh('while head -c 1000000 /dev/zero; do echo 1 >>taken; done'),
    cwd: home.path,
    maxMessageBytes: 20_000_000,
    graceMs: 1_000,
  });
  const before = heldBytes();
  await transport.start();
  await closed;
  t.match(errors, [
    { message: /mcp server "files": it wrote a message of more than 20000000 bytes: ask it for less at a time/ },
  ]);
  t.match(transport.whyClosed(), /more than 20000000 bytes/);
  t.equal(numbersIn(`${home.path}/taken`).length, 20, 'no more is read than the cap and what a pipe holds');
  t.ok(heldBytes() - before < 4_000_000, 'and nothing of it is kept');
  t.ok(hasEnded(transport.pid ?? 0));
});

t.test('ERA-3 · a message of exactly the cap passes, whatever chunks it comes in', async (t) => {
  const text = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/x', params: { text: 'ä'.repeat(300_000) } });
  const cap = Buffer.byteLength(text);
  const { transport, messages, closed } = peer(t, { plan: sh('cat'), maxMessageBytes: cap });
  await transport.start();
  await transport.send(JSON.parse(text));
  await transport.send(ping);
  await until(() => messages.length === 2);
  t.equal(JSON.stringify(messages[0]), text);
  t.same(messages[1], ping);
  void transport.close();
  await closed;
});

t.test('ERA-3 · lines that are no messages are skipped, reported once and kept in the log', async (t) => {
  const script = `n=0; while [ $n -lt 150 ]; do n=$((n+1)); echo "banner $n"; done; echo; echo '{"level":30}'; echo ' {"jsonrpc":"2.0","id":1,"method":"ping"}'; cat`;
  const { transport, messages, warnings, errors, stderr } = peer(t, { plan: sh(script) });
  await transport.start();
  await until(() => messages.length === 1);
  t.same(messages, [ping]);
  t.same(warnings, [
    'mcp server "files": writes lines to its standard output that are no messages; they are in its log',
  ]);
  t.match(stderr(), /^banner 1\n[\s\S]*banner 150\n\{"level":30\}\n$/);
  t.same(errors, []);
});

t.test(
  'LIF-14 · a child that writes a message nested hundreds of thousands deep is ended, with that reason',
  async (t) => {
    const nested = (bracket: string): string => `head -c 300000 /dev/zero | tr '\\0' '${bracket}'`;
    const deep = `printf '{"jsonrpc":"2.0","id":1,"result":{"x":'; ${nested('[')}; ${nested(']')}; echo '}}'`;
    const { transport, messages, closed } = peer(t, { plan: sh(`${deep}; exec cat`) });
    await transport.start();
    await closed;
    t.equal(transport.whyClosed(), 'it wrote a message that is nested more than 131072 deep');
    t.same(messages, []);
  },
);

t.test('ERA-3 · a message behind a byte order mark is read', async (t) => {
  const script = `printf '\\357\\273\\277${JSON.stringify(ping)}\\n'; cat`;
  const { transport, messages, warnings } = peer(t, { plan: sh(script) });
  await transport.start();
  await transport.send({ ...ping, id: 2 });
  await until(() => messages.length === 2);
  t.same(messages, [ping, { ...ping, id: 2 }]);
  t.same(warnings, []);
});

t.test('ERA-3 · the last message before a child ends is read', async (t) => {
  const { transport, messages, closed } = peer(t, { plan: sh(`echo '${JSON.stringify(ping)}'; exit 0`) });
  await transport.start();
  await closed;
  t.same(messages, [ping]);
});

t.test('ERA-3 · LIF-14 · the answer of a child that ends behind many lines is read, rests or not', async (t) => {
  const line = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message' });
  const script = `yes '${line}' | head -n 1000; echo '${JSON.stringify(ping)}'; exit 0`;
  const { transport, messages, closed } = peer(t, { plan: sh(script) });
  await transport.start();
  await closed;
  t.equal(messages.length, 1_001);
  t.same(messages.at(-1), ping);
});

t.test('LIF-7 · a missing command differs from a child that ended', async (t) => {
  for (const [plan, cwd, code] of [
    [{ kind: 'stdio', command: 'no-such-command', args: [], env: {} }, '/', 'ENOENT'],
    [{ kind: 'stdio', command: '/etc/passwd', args: [], env: {} }, '/', 'EACCES'],
    [sh('exit'), '/no-such-folder', 'ENOTDIR'],
    [sh('exit', { TOKEN: 'very\0secret' }), '/', 'ERR_INVALID_ARG_VALUE'],
  ] as const) {
    const { transport, closes } = peer(t, { plan, cwd });
    const thrown = await transport.start().catch((error: unknown) => error);
    t.ok(thrown instanceof ConnectError);
    t.match(thrown, { failure: { kind: 'spawn', code }, message: /^mcp server "files": / });
    t.notMatch(thrown, { message: /secret/ });
    t.equal(transport.pid, null);
    await transport.close();
    t.equal(closes(), 1);
  }
});

t.test(
  'LIF-10 · a child sees the allow-list and its own variables, and its last words do not quote them',
  async (t) => {
    process.env.AGENT_SPEC_HIDDEN = 'hidden';
    t.teardown(() => Reflect.deleteProperty(process.env, 'AGENT_SPEC_HIDDEN'));
    const script = 'echo "[$AGENT_SPEC_HIDDEN] [$TOKEN]" >&2; exit 1';
    const { transport, closed, stderr } = peer(t, { plan: sh(script, { TOKEN: 'top-secret' }) });
    await transport.start();
    await closed;
    t.equal(stderr(), '[] [top-secret]\n');
    t.equal(transport.whyClosed(), 'it exited with code 1; it said: [] [[redacted]]');
  },
);

t.test('LIF-10 · words reach the command untouched by any shell', async (t) => {
  const words = ['$(touch x)', '`id`', ';', '*', "it's", '', '--', 'ä\n'];
  const { transport, closed, stderr } = peer(t, {
    plan: {
      kind: 'stdio',
      command: process.execPath,
      args: ['-e', 'process.stderr.write(JSON.stringify(process.argv.slice(1)))', '--', ...words],
      env: {},
    },
  });
  await transport.start();
  await closed;
  t.same(JSON.parse(stderr()), words);
});

t.test('TRU-2 · a message to a child that has ended or does not read is refused', async (t) => {
  const gone = peer(t, { plan: sh('exit 0') });
  await gone.transport.start();
  await gone.closed;
  await t.rejects(gone.transport.send(ping), { code: 'NOT_CONNECTED' });

  const deaf = peer(t, { plan: sh('sleep 600'), graceMs: 50 });
  await deaf.transport.start();
  const big = { jsonrpc: '2.0', method: 'notifications/x', params: { text: 'x'.repeat(3_000_000) } } as const;
  const sent = t.rejects(deaf.transport.send(big), { code: 'CONNECTION_CLOSED' });
  await deaf.transport.close();
  await sent;
});

t.test('TRU-4 · what shared a write that broke may have been sent, and what waited behind it was not', async (t) => {
  const home = makeHome(t);
  const { transport } = peer(t, {
    plan: sh('until [ -e go ]; do sleep 0.02; done; read -r line; kill -9 $$'),
    cwd: home.path,
  });
  await transport.start();
  const big = { ...ping, params: { text: 'x'.repeat(3_000_000) } };
  const together = [transport.send(ping), transport.send(big)];
  await new Promise(setImmediate);
  const behind = transport.send(ping);
  home.write('go', '');

  const codes = await Promise.all(
    [...together, behind].map((sent) =>
      sent.then(
        () => 'sent',
        (error: { readonly code: string }) => error.code,
      ),
    ),
  );

  t.same(codes, ['CONNECTION_CLOSED', 'CONNECTION_CLOSED', 'SEND_FAILED']);
  await t.rejects(transport.send(ping), { code: 'NOT_CONNECTED' });
});

t.test('LIF-9 · a child that does not read is ended before what it is sent fills the memory', async (t) => {
  const deaf = peer(t, { plan: sh('sleep 600'), graceMs: 50 });
  await deaf.transport.start();
  const big = { jsonrpc: '2.0', method: 'notifications/x', params: { text: 'x'.repeat(3_000_000) } } as const;
  const sent = Array.from({ length: 10 }, () => deaf.transport.send(big).catch((error: Error) => error.message));
  await deaf.closed;
  t.ok((await Promise.all(sent)).every((message) => /took no input|is not running/.test(String(message))));
  t.match(deaf.transport.whyClosed(), /^it does not read what it is sent/);
});

t.test('LIF-9 · a transport starts once', async (t) => {
  const { transport } = peer(t, { plan: sh('cat'), graceMs: 50 });
  await transport.start();
  await t.rejects(transport.start(), { code: 'ALREADY_CONNECTED' });
});

t.test('LIF-14 · whatever floods, one turn hands over no more than its share', async (t) => {
  const message = '{"jsonrpc":"2.0","method":"notifications/message"}';
  for (const line of [message, '{}', 'words', '{"half":']) {
    let inTurn = 0;
    let max = 0;
    let all = 0;
    const count = (lines: number): void => {
      if (inTurn === 0) {
        setImmediate(() => {
          inTurn = 0;
        });
      }
      inTurn += lines;
      all += lines;
      max = Math.max(max, inTurn);
    };
    const { transport } = peer(t, {
      plan: { kind: 'stdio', command: 'yes', args: [line], env: {} },
      // It does not end by itself, and floods until it is ended.
      graceMs: 10,
      onStderr: (chunk) => count(chunk.toString().split('\n').length - 1),
    });
    transport.onmessage = () => count(1);
    await transport.start();
    await until(() => all >= 1_000);
    // The last piece of rubbish may go beyond the share.
    t.ok(max < 2 * maxLinesInTurn, `${line}: ${max} in one turn`);
    await transport.close();
  }
});
