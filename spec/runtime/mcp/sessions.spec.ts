import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { fileDocuments } from '../../../actors/documents.ts';
import type { Listing, Session } from '../../../actors/mcp/session.ts';
import { createCredentials } from '../../../actors/oauth/credentials.store.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ConnectionEvent } from '../../../machines/mcp/server-connection.machine.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { connectionKey, createSessions } from '../../../runtime/mcp/sessions.ts';
import { makeHome } from '../../support/home.ts';
import { lendTime } from '../../support/lent-time.ts';
import { faults, redirectTo } from '../../support/mcp/faults.ts';
import { started } from '../../support/mcp/http-peer.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { stdioPeer } from '../../support/mcp/stdio-peer.ts';
import { hasEnded, numbersIn, until } from '../../support/processes.ts';

const log = { log: () => {}, warnOnce: () => {} };
const declined = { kind: 'answered', result: { action: 'decline' } } as const;
const never = (): AbortSignal => new AbortController().signal;
const first = { server: 's', profile: 'default', session: 1 };

function stage(t: Test, entry: JsonObject | undefined, more: object = {}) {
  const home = makeHome(t);
  const registry = createRegistry(log);
  const told: ConnectionEvent[] = [];
  const busy = { ms: 0 };
  const remembered: string[][] = [];
  let settings = entry === undefined ? undefined : settingsOf(entry, 's');
  if (settings !== undefined) registry.configure([settings]);
  const sessions = createSessions({
    settings: () => settings,
    registry: () => registry,
    cache: () => ({
      write: (_: unknown, { tools }: Listing) => {
        remembered.push(tools.map(({ name }) => String(name)));
        return Promise.resolve();
      },
    }),
    logFolder: () => join(home.path, 'logs'),
    requests: () => ({ elicit: () => Promise.resolve(declined), sample: () => Promise.resolve(declined) }),
    send: (_: string, event: ConnectionEvent) => void told.push(event),
    credentials: () => createCredentials(join(home.path, 'mcp-tokens'), fileDocuments),
    env: {},
    userHome: home.path,
    homeOf: () => home.path,
    isAwaited: () => false,
    version: '1.2.3',
    gateway: () => 'here',
    nowMs: () => 0,
    random: () => 0.25,
    redact: (text: string) => text,
    busyMs: () => busy.ms,
    log,
    ...more,
  } as never);
  t.teardown(async () => {
    await sessions.close({ ...first, why: null });
    await sessions.closeFiles();
  });
  const become = (next: JsonObject | undefined): void => {
    settings = next && settingsOf(next, 's');
  };
  return { sessions, registry, told, remembered, home, become, busy };
}

t.test('LIF-7 · LIM-5 · an attempt that fails in the gateway itself says why, and is tried again', async (t) => {
  for (const [thrown, why] of [
    [new Error('a flaw'), 'a flaw'],
    [
      Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }),
      'EMFILE: too many open files; restart the gateway if this continues',
    ],
  ] as const) {
    const credentials = () => {
      throw thrown;
    };
    const { sessions } = stage(t, { command: 'x' }, { credentials });
    t.same(await sessions.connect(first, never()), {
      kind: 'refused',
      after: 'retry',
      why: `mcp server "s": the gateway cannot connect it: ${why}`,
      chance: 0.25,
    });
  }
});

t.test('LIF-1 · LIF-6 · a connect registers the tools, remembers them and has a session', async (t) => {
  const peer = await started(t, { tools: ['one', 'two'] });
  const { sessions, registry, remembered, told } = stage(t, {
    url: peer.url,
    tools: { resources: false, prompts: false },
  });
  t.same(await sessions.connect(first, never()), { kind: 'connected', era: 'legacy', tools: 2 });
  t.ok(sessions.get('s'));
  t.same(
    registry.all().map(({ tool }) => tool),
    ['one', 'two'],
  );
  t.same(remembered, [['one', 'two']]);
  await sessions.close({ ...first, why: null });
  t.equal(sessions.get('s'), undefined);
  t.same(told, [], 'closing is no loss');
  t.equal(registry.all().length, 2, 'the tools stay');
});

t.test('LIF-7 · a failed connect says what follows and why, and the chance of its wait', async (t) => {
  const peer = await started(t);
  const { sessions } = stage(t, { url: peer.url });
  peer.set({ ...faults.serverError });
  t.match(await sessions.connect(first, never()), {
    kind: 'refused',
    after: 'retry',
    why: /^mcp server "s": .*HTTP 500/,
    chance: 0.25,
  });
  peer.set({ ...faults.unauthorized });
  t.match(await sessions.connect({ ...first, session: 2 }, never()), { kind: 'refused', after: 'failed' });

  const oauth = stage(t, { url: peer.url, auth: 'oauth' });
  t.match(await oauth.sessions.connect(first, never()), { kind: 'refused', after: 'needsLogin' });
  peer.set(redirectTo('http://sso.example/in'));
  t.match(await oauth.sessions.connect(first, never()), { kind: 'refused', after: 'needsLogin' });
  peer.set();
  t.match(await oauth.sessions.connect(first, never()), { kind: 'connected' }, 'without a token');
  const tokens = { accessToken: 'sound', issuer: 'https://as.example', clientId: 'c', url: peer.url };
  await createCredentials(join(oauth.home.path, 'mcp-tokens'), fileDocuments).saveTokens('s', tokens);
  peer.set({ ...faults.unauthorized });
  t.match(await oauth.sessions.connect(first, never()), { after: 'needsLogin', waitMs: 300_000 }, 'it may pass');
  peer.set(redirectTo('http://sso.example/in'));
  t.match(await oauth.sessions.connect(first, never()), { kind: 'refused', after: 'parked' });

  // The same in the next run of the gateway, from the stored listing.
  const listing = { tools: [{ name: 'one', inputSchema: {} }], capabilities: {} };
  const restarted = stage(t, { url: peer.url });
  restarted.registry.learn('s', listing);
  t.match(await restarted.sessions.connect(first, never()), { kind: 'refused', after: 'parked' }, 'a redirect');
  const next = stage(t, { url: peer.url, auth: 'oauth' });
  next.registry.learn('s', listing);
  await createCredentials(join(next.home.path, 'mcp-tokens'), fileDocuments).saveTokens('s', tokens);
  peer.set({ ...faults.unauthorized });
  t.match(await next.sessions.connect(first, never()), { after: 'needsLogin', waitMs: 300_000 }, 'it may pass');

  const gone = stage(t, undefined);
  t.match(await gone.sessions.connect(first, never()), {
    kind: 'refused',
    after: 'failed',
    why: /not configured any more/,
  });
});

t.test('LIF-1 · a session that ends by itself is reported once, with its number and a log to read', async (t) => {
  const peer = stdioPeer('die-after-list');
  const { sessions, told } = stage(t, { command: peer.command, args: peer.args });
  await sessions.connect({ ...first, session: 7 }, never());
  const live = sessions.get('s');
  await until(() => told.length > 0);
  t.match(told, [{ type: 'session.closed', session: 7, why: /read `agent mcp logs s`$/, chance: 0.25 }]);
  t.equal(sessions.get('s'), undefined);
  if (live !== undefined) sessions.lose('s', { kind: 'expired' }, live);
  t.equal(told.length, 1);
});

t.test('TRU-2 · a call that finds the session expired or broken says so to the chart', async (t) => {
  for (const [how, event] of [
    [{ kind: 'expired' }, { type: 'session.expired', session: 1 }],
    [
      { kind: 'broken', why: 'HTTP 502' },
      { type: 'session.closed', session: 1, why: 'HTTP 502', chance: 0.25 },
    ],
  ] as const) {
    const peer = await started(t);
    const { sessions, told } = stage(t, { url: peer.url });
    await sessions.connect(first, never());
    const live = sessions.get('s') as Session;
    sessions.lose('s', how, live);
    sessions.lose('s', how, live);
    t.same(told, [event]);
    t.equal(sessions.get('s'), undefined);
  }
});

t.test('TRU-2 · a connection hears of the loss of a session before the calls that end with it', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const { sessions, told } = stage(t, { url: peer.url, transport: 'sse' });
  await sessions.connect(first, never());
  const live = sessions.get('s');
  const heard: (readonly [string, number])[] = [];
  live?.call('slow', {}, { onProgress: undefined, traceparent: undefined } as never, ({ kind }) => {
    heard.push([kind, told.length]);
  });
  await until(() => peer.executions('slow') === 1);

  peer.dropStreams();

  await until(() => heard.length > 0);
  t.same(heard, [['lost', 1]]);
});

t.test('LIF-4 · a ping without an answer loses the session; one with an answer does nothing', async (t) => {
  const peer = await started(t);
  const { sessions, told } = stage(t, { url: peer.url });
  await sessions.connect(first, never());
  sessions.ping('s');
  await until(() => peer.seen('ping').length === 1);
  t.same(told, []);
  await peer.stop();
  sessions.ping('s');
  await until(() => told.length > 0);
  t.match(told, [{ type: 'session.closed', session: 1, why: /liveness ping/ }]);
  sessions.ping('s');
});

t.test('FLT-4 · a changed list is registered, remembered and counted', async (t) => {
  const peer = await started(t, { tools: ['one'] });
  const { sessions, registry, told, remembered } = stage(t, {
    url: peer.url,
    tools: { resources: false, prompts: false },
  });
  await sessions.connect(first, never());
  await until(async () => {
    // Until the stream of the client is open, what the server says is lost.
    if (told.length === 0) await peer.setTools(['one', 'two']);
    return told.length > 0;
  });
  t.match(told[0], { type: 'tools.listed', tools: 2 });
  t.same(
    registry.all().map(({ tool }) => tool),
    ['one', 'two'],
  );
  t.same(remembered.at(-1), ['one', 'two']);
});

t.test('ERA-1 · what the server took last time is tried first, until its entry changes', async (t) => {
  const [modern, legacy] = [await started(t, { kind: 'modern' }), await started(t)];
  const { sessions, become } = stage(t, { url: modern.url });
  let seen = 0;
  const handshakes = (): readonly (string | undefined)[] => {
    const all = [...modern.requests, ...legacy.requests].map(({ rpc }) => rpc);
    const found = all.filter((rpc) => rpc === 'initialize' || rpc === 'server/discover');
    const fresh = found.slice(seen);
    seen = found.length;
    return fresh;
  };

  await sessions.connect(first, never());
  t.same(handshakes(), ['initialize', 'server/discover']);
  await sessions.connect({ ...first, session: 2 }, never());
  t.same(handshakes(), ['server/discover']);
  become({ url: legacy.url });
  await sessions.connect({ ...first, session: 3 }, never());
  t.same(handshakes(), ['initialize'], 'another server may be behind another entry');
});

t.test('LIF-9 · a new connect and a close leave no child of an earlier one', async (t) => {
  const home = makeHome(t);
  const pidFile = join(home.path, 'pids');
  const peer = stdioPeer('legacy', { pidFile });
  const { sessions, told } = stage(t, { command: peer.command, args: peer.args });
  await sessions.connect(first, never());
  await sessions.connect({ ...first, session: 2 }, never());
  const [one = 0, two = 0] = numbersIn(pidFile);
  t.same([hasEnded(one), hasEnded(two)], [true, false]);
  await sessions.close({ ...first, why: null });
  t.same([hasEnded(two), told], [true, []]);
});

t.test('LIF-9 · LIF-12 · a second close and a new connect wait for the child that ends slowly or hangs', async (t) => {
  const stubborn = async () => {
    const pidFile = join(makeHome(t).path, 'pids');
    const peer = stdioPeer(['stubborn'], { pidFile });
    const { sessions } = stage(t, { command: peer.command, args: peer.args });
    await sessions.connect(first, never());
    return { sessions, pids: () => numbersIn(pidFile) };
  };
  type Stubborn = Awaited<ReturnType<typeof stubborn>>;
  const hasNoSuccessorBefore = async ({ pids }: Stubborn, why: string): Promise<void> => {
    await until(() => pids().length === 2);
    const [old = 0, next = 0] = pids();
    t.equal(hasEnded(old), true, why);
    // Its end, which takes four seconds too, proves nothing.
    process.kill(next, 'SIGKILL');
  };
  const closedTwice = async ({ sessions, pids }: Stubborn): Promise<void> => {
    const earlier = sessions.close({ ...first, why: 'it was reloaded' });
    await until(() => sessions.get('s') === undefined);
    await sessions.close({ ...first, why: 'its entry was changed' });
    t.equal(hasEnded(pids()[0] ?? 0), true, 'a second close');
    await earlier;
  };
  const connectedAgain = async (one: Stubborn): Promise<void> => {
    const closing = one.sessions.close({ ...first, why: 'it was reloaded' });
    await until(() => one.sessions.get('s') === undefined);
    const started = one.sessions.connect({ ...first, session: 2 }, never());
    await hasNoSuccessorBefore(one, 'a new connect');
    await Promise.all([closing, started]);
  };
  const lost = async (one: Stubborn): Promise<void> => {
    one.sessions.lose('s', { kind: 'broken', why: 'it did not answer the liveness ping' });
    const next = one.sessions.connect({ ...first, session: 2 }, never());
    await hasNoSuccessorBefore(one, 'the successor of one that hangs');
    await next;
  };
  await Promise.all([closedTwice, connectedAgain, lost].map(async (of) => of(await stubborn())));
});

t.test(
  'LIF-7 · after a start that took too long npx prefers what is installed, until the server is connected',
  async (t) => {
    const { command, args } = stdioPeer([]);
    const starts = join(makeHome(t).path, 'starts');
    const script = `echo "$npm_config_prefer_offline." >>${starts}; [ "$npm_config_prefer_offline" ] || exec cat >/dev/null; exec "$@"`;
    const { sessions } = stage(t, { command: 'sh', args: ['-c', script, 'sh', command, ...args] });
    const time = lendTime({ runs: true });
    t.teardown(() => time.giveBack());
    const began = () => (existsSync(starts) ? readFileSync(starts, 'utf8').split('.\n').slice(0, -1) : []);
    for (const [index, is] of ['', 'true', ''].entries()) {
      const connecting = sessions.connect({ ...first, session: index + 1 }, never());
      await until(() => began().length > index);
      if (is === '') time.pass(60_000);
      t.match(await connecting, is === '' ? { kind: 'refused', why: /no answer in 60 s/ } : { kind: 'connected' });
      await sessions.close({ ...first, session: index + 1, why: null });
    }
    t.same(began(), ['', 'true', '']);
  },
);

t.test('LIF-9 · INS-1 · what a crashed connection leaves is closed, and what is left at the end too', async (t) => {
  const pidFile = join(makeHome(t).path, 'pids');
  const peer = stdioPeer('legacy', { pidFile });
  const { sessions, told } = stage(t, { command: peer.command, args: peer.args });
  await sessions.connect(first, never());
  sessions.drop('s');
  await until(() => hasEnded(numbersIn(pidFile)[0] ?? 0));
  t.equal(sessions.get('s'), undefined);

  await sessions.connect({ ...first, session: 2 }, never());
  await sessions.closeAll();
  t.equal(hasEnded(numbersIn(pidFile)[1] ?? 0), true);
  t.same([sessions.get('s'), told], [undefined, []], 'closing is no loss');
});

t.test('LIF-9 · a close during an attempt waits for it, and nothing of it is left', async (t) => {
  const pidFile = join(makeHome(t).path, 'pids');
  const peer = stdioPeer('silent', { pidFile });
  const { sessions, home } = stage(t, { command: peer.command, args: peer.args });
  const stop = new AbortController();
  const attempt = sessions.connect(first, stop.signal);
  await until(() => numbersIn(pidFile).length > 0);
  stop.abort();
  await sessions.close({ ...first, why: null });
  t.match(await attempt, { kind: 'refused', why: 'stopped' });
  await sessions.closeFiles();
  const log = join(home.path, 'logs', 's.log');
  t.notMatch(existsSync(log) ? readFileSync(log, 'utf8') : '', /no answer in/, 'the server did nothing wrong');
  t.equal(hasEnded(numbersIn(pidFile)[0] ?? 0), true);
  t.equal(sessions.get('s'), undefined);
});

t.test('LIF-10 · SRV-3 · standard error and log messages go to the server’s log', async (t) => {
  const peer = stdioPeer(['chatty=10']);
  const { sessions, home } = stage(t, { command: peer.command, args: peer.args });
  await sessions.connect(first, never());
  sessions.get('s')?.call('log', { text: 'half done' }, {}, () => {});
  // Two streams: either may be written down first.
  const text = (): string => {
    try {
      return readFileSync(join(home.path, 'logs', 's.log'), 'utf8');
    } catch {
      return '';
    }
  };
  await until(() => text().includes('half done') && text().includes('eeeeeeeeee\n'));
  t.pass('whichever is written down first');
});

t.test('LIF-10 · LIF-12 · the log of a removed server is closed', { skip: process.platform !== 'linux' }, async (t) => {
  const peer = stdioPeer(['chatty=10']);
  const { sessions, home } = stage(t, { command: peer.command, args: peer.args });
  const log = join(home.path, 'logs', 's.log');
  const isOpen = (): boolean =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === log;
      } catch {
        // The descriptor of this very listing.
        return false;
      }
    });
  await sessions.connect(first, never());
  await until(isOpen);
  await sessions.close({ ...first, why: null });
  t.ok(isOpen(), 'it may connect again');
  sessions.forget('default', 's');
  await sessions.closeFiles();
  t.notOk(isOpen());
  t.match(readFileSync(log, 'utf8'), /eeeeeeeeee/);
});

t.test('OAU-9 · a server of another profile has a key of its own', (t) => {
  t.equal(connectionKey('default', 's'), 's');
  t.equal(connectionKey('work', 's'), 's@work');
  t.end();
});

t.test('FLT-4 · a changed list that cannot be listed is tried again without a further change', async (t) => {
  const peer = await started(t, { tools: ['one'] });
  const lines: string[] = [];
  const { sessions, registry, told } = stage(
    t,
    { url: peer.url, tools: { resources: false, prompts: false } },
    { log: { ...log, log: (_: string, line: string) => void lines.push(line) } },
  );
  await sessions.connect(first, never());
  let failed = false;
  peer.set({
    ...faults.serverError,
    body: `${'no '.repeat(50_000)}\n`,
    on: 'tools/list',
    times: 1,
    when: () => {
      failed = true;
      return true;
    },
  });
  // Until the stream of the client is open, what the server says is lost.
  await until(async () => {
    if (!failed) await peer.setTools(['one', 'two']);
    return failed;
  });
  await until(() => told.length > 0);
  t.match(told[0], { type: 'tools.listed', tools: 2 });
  t.equal(registry.all().length, 2);
  const [words = ''] = lines.filter((line) => line.includes('cannot be listed'));
  t.match(words, /stay as they were: .*no no/);
  t.ok(words.length < 1_000 && !words.includes('\n'), 'whatever the server answers with');
});

t.test('FLT-4 · what changes while it is listed for the first time is listed again', async (t) => {
  const peer = await started(t, { kind: 'sse', tools: ['one', 'two'], pageSize: 1 });
  const entry = { url: peer.url, transport: 'sse', tools: { resources: false, prompts: false } };
  const { sessions, registry, told } = stage(t, entry);
  let pages = 0;
  // Its first page is out, its second is not, and the word of the change comes between them.
  peer.work.beforeList = () => {
    pages += 1;
    if (pages === 2) void peer.setTools(['one', 'two', 'three']);
  };
  await sessions.connect(first, never());
  await until(() => told.length > 0);
  t.match(told, [{ type: 'tools.listed', tools: 3 }]);
  t.equal(registry.all().length, 3);
});

t.test(
  'FLT-4 · TRU-2 · a session that the server forgot is found out by a listing too, and costs no attempt',
  async (t) => {
    const peer = await started(t, { tools: ['one'] });
    const { sessions, told } = stage(t, { url: peer.url });
    await sessions.connect(first, never());
    await until(async () => {
      // Until the stream of the client is open, what the server says is lost.
      await peer.setTools(['one', 'two']);
      return told.length > 0;
    });
    await peer.expireSessions();
    await until(() => told.some(({ type }) => type !== 'tools.listed'));
    t.same(told.at(-1), { type: 'session.expired', session: 1 });
    t.equal(sessions.get('s'), undefined);
  },
);

t.test('LIF-14 · a listing that is dear to read is made again the later, but within a minute', async (t) => {
  const rows = [
    { costMs: 0, pauseMs: 1_000 },
    { costMs: 300, pauseMs: 6_000 },
    { costMs: 30_000, pauseMs: 60_000 },
  ];
  for (const { costMs, pauseMs } of rows) {
    const time = lendTime({ runs: false });
    t.teardown(() => time.giveBack());
    const peer = await started(t, { kind: 'sse', tools: ['one'] });
    const entry = { url: peer.url, transport: 'sse', tools: { resources: false, prompts: false } };
    const { sessions, told, busy } = stage(t, entry);
    await sessions.connect(first, never());
    const relisted = (count: number) => until(() => told.length === count);
    peer.work.beforeList = () => {
      busy.ms += costMs;
    };
    await peer.setTools(['one', 'two']);
    await relisted(1);

    await peer.setTools(['one', 'two', 'three']);
    await sessionHeard(sessions);
    time.pass(pauseMs - 1);
    await sessionHeard(sessions);
    t.equal(told.length, 1, `${costMs} ms`);
    time.pass(1);
    await relisted(2);
    time.giveBack();
  }
});

/** What the server sent before is read by then. */
async function sessionHeard(sessions: { get(key: string): Session | undefined }): Promise<void> {
  await sessions.get('s')?.ping();
}
