import t, { type Test } from 'tap';
import type { CallOutcome } from '../../../actors/mcp/call-outcome.ts';
import { createCallQueues } from '../../../actors/mcp/call-queues.ts';
import { threadTimeMs } from '../../../actors/mcp/schema-time.ts';
import type { Session } from '../../../actors/mcp/session.ts';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ApprovalInput } from '../../../machines/mcp/approval.machine.ts';
import type { CallInput, CallOutput } from '../../../machines/mcp/tool-call.machine.ts';
import { type Approvals, createApprovals, wireApproval } from '../../../runtime/mcp/approvals.ts';
import { type CallRequest, type Calls, createCalls } from '../../../runtime/mcp/calls.ts';
import { createReach } from '../../../runtime/mcp/reach.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { wireToolCall } from '../../../runtime/mcp/tool-calls.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { fakePool, startPool } from '../../support/pools.ts';
import { turn } from '../../support/turns.ts';

/** What a session was given, and how the spec ends it. */
interface Sent {
  readonly how: string;
  readonly args: JsonObject;
  settle(outcome: CallOutcome): void;
}

const tools = [
  {
    name: 'write',
    // The second one crosses the end of what a question shows.
    description: `Writes with hunter2hunter2.${'x'.repeat(1_964)}hunter2hunter2`,
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'bare' },
  { name: 'unusable', inputSchema: { type: 'object', properties: { path: { $ref: '#/$defs/gone' } } } },
];
const request: CallRequest = { profile: 'work', name: 'mcp__s__write', args: { path: 'a' }, caller: 'run', run: 'r1' };
const well: CallOutcome = { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } };

/** One server, its call chart wired to real tables; the session itself is the spec's. */
function stage(
  t: Test,
  entry: JsonObject = {},
  { state = 'connected', tools: count = 2, cpuTimeMs = threadTimeMs, problem = undefined as string | undefined } = {},
) {
  const settings = settingsOf((entry.url === undefined ? { command: 'x', ...entry } : entry) as never, 's');
  const log: string[] = [];
  const logger = { log: (_: string, text: string) => void log.push(text), warnOnce: () => {} };
  const registry = createRegistry(logger);
  registry.configure([settings]);
  registry.learn('s', { tools, capabilities: { tools: {}, resources: {} } });
  const connections = fakePool<object>(() => ({
    value: state,
    context: { session: 3, server: 's', profile: 'work', tools: count, breaker: { kind: 'closed', failures: 0 } },
  }));
  connections.handle().spawn('s@work', {} as never);
  const sent: Sent[] = [];
  const cancelled: number[] = [];
  const told: unknown[] = [];
  const given = (how: string, args: JsonObject, settle: (outcome: CallOutcome) => void): (() => void) => {
    const at = sent.push({ how, args, settle }) - 1;
    return () => {
      cancelled.push(at);
      settle({ kind: 'cancelled' });
    };
  };
  const session = {
    call: (tool: string, args: JsonObject, _: unknown, settle: never) => given(`tool ${tool}`, args, settle),
    callUtility: (name: string, args: JsonObject, _: unknown, settle: never) => given(`utility ${name}`, args, settle),
    ask: (method: string, args: JsonObject, _: unknown, settle: never) => given(`ask ${method}`, args, settle),
  } as unknown as Session;
  const live = { session: session as Session | undefined, known: true };
  const redactor = createRedactor();
  redactor.learn('hunter2hunter2');
  const approvals: Approvals = createApprovals(
    startPool<ApprovalInput>(
      t,
      compile(wireApproval({ approvals: () => approvals, log: { log: () => {}, warnOnce: () => {} } })),
    ),
    () => 0,
    '',
  );
  const reach = createReach({
    connections: connections.handle,
    calls: () => pool(),
    configured: () => true,
    steadyMs: () => 0,
  } as never);
  const calls: Calls = createCalls(
    () => pool(),
    () => 0,
    approvals.withdraw,
  );
  const pool = startPool<CallInput>(
    t,
    compile(
      wireToolCall({
        calls,
        rules: () => [],
        approvals,
        reach,
        queues: createCallQueues(),
        sessions: {
          get: (key: string) => (key === 's@work' ? live.session : undefined),
          lose: (key: string, how: unknown, of: unknown) => void told.push(['lost', key, how, of === session]),
        } as never,
        registry: (profile) => (profile === 'work' && live.known ? registry : undefined),
        settings: () => settings,
        connections: connections.handle as never,
        demandScope: (...scope) => void told.push(['scope', ...scope]),
        loginProblem: (profile, server) => (profile === 'work' && server === 's' ? problem : undefined),
        grantedScope: () => 'files:read files:write',
        redactor,
        nowMs: () => 0,
        steadyMs: () => 5,
        cpuTimeMs,
        log: logger,
      }),
    ),
    { onDone: (key: string, output: unknown) => calls.settled(key, output as CallOutput) },
  );
  const heard = (): readonly { readonly type: string }[] => connections.living('s@work')?.heard.splice(0) ?? [];
  return { calls, approvals, reach, registry, connections, sent, cancelled, told, heard, log, live };
}

t.test(
  'LIF-13 · LIF-8 · a call goes to the session of its connection, which hears of its beginning and end',
  async (t) => {
    const { calls, sent, heard } = stage(t);
    const answer = calls.start(request);
    await turn();
    t.match(sent, [{ how: 'tool write', args: { path: 'a' } }]);
    t.same(heard(), [{ type: 'call.began', atMs: 5 }]);
    sent[0]?.settle(well);
    t.match(await answer, { kind: 'result', result: { content: [{ type: 'text', text: 'done' }], isError: false } });
    t.same(heard(), [{ type: 'call.ended', session: 3, reading: { kind: 'answered' } }]);

    const listing = calls.start({ ...request, name: 'mcp__s__list_resources', args: {} });
    await turn();
    t.equal(sent[1]?.how, 'utility list_resources');
    sent[1]?.settle(well);
    await listing;

    const asked = calls.start({ ...request, name: 'mcp__s__list_resources', method: 'resources/list', args: {} });
    await turn();
    t.equal(sent[2]?.how, 'ask resources/list');
    sent[2]?.settle({ kind: 'result', result: { resources: [{ uri: 'a://b', name: 'b' }] } });
    t.match(await asked, {
      kind: 'result',
      result: { structuredContent: { resources: [{ uri: 'a://b', name: 'b' }] } },
    });
    t.match(
      await calls.start({ ...request, method: 'resources/list' }),
      { kind: 'fault', fault: { code: 'unknown_tool' } },
      'a tool of the server is no utility',
    );
  },
);

t.test('NAM-1 · CLI-2 · a tool called by its own name names the registered ones', async (t) => {
  const { calls, registry } = stage(t);
  const names = ['s', 'a', 'b', 'c'];
  registry.configure(names.map((name) => settingsOf({ command: 'x' } as never, name)));
  for (const [index, name] of names.entries()) {
    // The first server alone has the first tool, two have the second, and all have the last.
    const own = ['only', 'get-sum', 'three'].slice(index);
    registry.learn(name, { tools: own.concat('all').map((tool) => ({ name: tool })), capabilities: { tools: {} } });
  }
  for (const [name, cure] of [
    ['only', 'did you mean "mcp__s__only"?'],
    ['get-sum', 'did you mean "mcp__s__get_sum" or "mcp__a__get_sum"?'],
    ['get_sum', 'did you mean "mcp__s__get_sum" or "mcp__a__get_sum"?'],
    ['all', '`agent mcp tools` lists them'],
  ] as const) {
    const message = `no tool is named "${name}"; ${cure}`;
    t.match(await calls.start({ ...request, name }), { fault: { code: 'unknown_tool', message } }, name);
  }
});

t.test(
  'LIF-13 · NAM-1 · what no registry knows, or does not fit the schema, is refused before anything is sent',
  async (t) => {
    const { calls, sent, heard } = stage(t);
    const rows: readonly (readonly [Partial<CallRequest>, string, RegExp])[] = [
      [{ name: 'mcp__s__gone' }, 'unknown_tool', /no tool is named "mcp__s__gone"; `agent mcp tools`/],
      [{ profile: 'default' }, 'unknown_tool', /no tool is named/],
      [{ allows: () => false }, 'unknown_tool', /"mcp__s__write" among those that are offered; `agent mcp tools`/],
      [{ name: 'mcp__s__gone', allows: () => true }, 'unknown_tool', /"mcp__s__gone" among those that are offered/],
      [{ args: {} }, 'invalid_arguments', /^mcp__s__write: .*path/],
      [{ args: { path: 5 } }, 'invalid_arguments', /path/],
      [{ name: 'mcp__s__bare' }, 'invalid_schema', /a schema that cannot be used: it is missing/],
      [
        { name: 'mcp__s__unusable' },
        'invalid_schema',
        /not run.*mcp server "s".*can't resolve reference #\/\$defs\/gone/,
      ],
    ];
    for (const [change, code, message] of rows)
      t.match(await calls.start({ ...request, ...change }), { kind: 'fault', fault: { code, message } });
    t.same([sent, heard()], [[], []]);
  },
);

t.test(
  'TRU-1 · TRU-3 · OBS-1 · an untrusted tool that may change something is asked about first, without secrets',
  async (t) => {
    const { calls, approvals, sent } = stage(t, { trust: 'untrusted' });
    const denied = calls.start({ ...request, args: { path: 'hunter2hunter2' } });
    const [question] = approvals.list();
    t.match(question, { server: 's', profile: 'work', tool: 'mcp__s__write', kind: 'tool' });
    t.equal(question?.expires_at, '1970-01-01T00:05:00.000Z', 'it waits for five minutes');
    const shown = approvals.show(String(question?.id));
    t.match(JSON.stringify(shown), /Writes with \[redacted\]/);
    t.notMatch(JSON.stringify(shown), /hunter2/);
    t.same(
      calls.ofRun('r1').map(({ approval }) => approval),
      [question?.id],
    );
    t.same(sent, [], 'nothing is sent before the yes');
    approvals.answer(String(question?.id), false, 'me');
    t.match(await denied, { fault: { code: 'approval_denied' } });

    const granted = calls.start(request);
    approvals.answer(String(approvals.list()[0]?.id), true, 'me');
    await turn();
    sent[0]?.settle(well);
    t.match(await granted, { kind: 'result' });

    const stop = new AbortController();
    const withdrawn = calls.start({ ...request, signal: stop.signal });
    t.equal(approvals.list().length, 1);
    stop.abort();
    t.match(await withdrawn, { fault: { code: 'cancelled' } });
    t.same(approvals.list(), [], 'nobody is asked any more');

    const reading = calls.start({ ...request, name: 'mcp__s__read', args: {} });
    await turn();
    t.equal(sent[1]?.how, 'tool read', 'what only reads is not asked about');
    sent[1]?.settle(well);
    await reading;
  },
);

t.test('LIF-6 · LIF-7 · a call waits for its connection and wakes it', async (t) => {
  const { calls, sent, heard, reach } = stage(t, {}, { state: 'lazy' });
  const answer = calls.start(request);
  t.same([heard(), sent], [[{ type: 'server.wake' }], []]);
  reach.reached('s@work');
  await turn();
  sent[0]?.settle(well);
  t.match(await answer, { kind: 'result' });
});

t.test(
  'TRU-2 · LIF-3 · LIF-8 · OAU-6 · every outcome has its fault, its word to the connection and its loss',
  async (t) => {
    const closed = { kind: 'answered' };
    const rows: readonly (readonly [CallOutcome, code: string, message: RegExp, reading: unknown, told: unknown])[] = [
      [{ kind: 'refused', message: 'error -1: no' }, 'rpc_error', /"s": mcp__s__write: error -1: no$/, closed, []],
      [
        { kind: 'unusable', why: 'content is no list' },
        'outcome_uncertain',
        /"s": mcp__s__write has no result \(content is no list\); the tool may have run/,
        closed,
        [],
      ],
      [
        { kind: 'timedOut', afterMs: 3_000 },
        'timed_out',
        /no answer in 3 s and was cancelled; raise timeout/,
        null,
        [],
      ],
      [{ kind: 'cancelled' }, 'cancelled', /was cancelled/, null, []],
      [
        { kind: 'unauthorized' },
        'needs_login',
        /refuses the credentials; check headers$/,
        closed,
        [['lost', 's@work', { kind: 'broken', why: 'its credentials are refused' }, true]],
      ],
      [
        { kind: 'unauthorized', namesOauth: true },
        'needs_login',
        /the credentials; it logs in by OAuth: set auth: oauth in its entry, then run `agent mcp login s --profile work`$/,
        closed,
        [['lost', 's@work', { kind: 'broken', why: 'its credentials are refused' }, true]],
      ],
      [
        { kind: 'needsScope', scope: 'files:write' },
        'needs_login',
        /needs the scope "files:write"; put a token that has it into headers$/,
        closed,
        [['scope', 'work', 's', 'files:write']],
      ],
      [
        { kind: 'unsent', why: 'mcp server "s": its access token cannot be renewed now' },
        'server_unavailable',
        /^mcp server "s": mcp__s__write was not run: its access token cannot be renewed now$/,
        null,
        [],
      ],
      [
        { kind: 'needsScope', scope: undefined },
        'needs_login',
        /needs a scope that the server does not name/,
        closed,
        [],
      ],
      [
        { kind: 'expired' },
        'outcome_uncertain',
        /its session had expired/,
        closed,
        [['lost', 's@work', { kind: 'expired' }, true]],
      ],
      [
        { kind: 'unclear', why: 'it answered HTTP 500 oops', behind: false },
        'outcome_uncertain',
        /"s": mcp__s__write has no result \(it answered HTTP 500 oops\); the tool may have run/,
        closed,
        [],
      ],
      [
        { kind: 'unclear', why: 'it answered HTTP 502', behind: true },
        'outcome_uncertain',
        /HTTP 502/,
        { kind: 'transportFailed', nowMs: 5 },
        [],
      ],
      [
        { kind: 'lost', dispatched: true, why: 'its command ended' },
        'outcome_uncertain',
        /\(its command ended\); the tool may have run/,
        { kind: 'transportFailed', nowMs: 5 },
        [['lost', 's@work', { kind: 'broken', why: 'its command ended' }, true]],
      ],
      [
        { kind: 'lost', dispatched: true, why: 'it was reloaded', closedHere: true },
        'outcome_uncertain',
        /\(it was reloaded\)/,
        null,
        [['lost', 's@work', { kind: 'broken', why: 'it was reloaded' }, true]],
      ],
    ];
    for (const [outcome, code, message, reading, losses] of rows) {
      const { calls, sent, told, heard } = stage(t);
      const answer = calls.start(request);
      await turn();
      sent[0]?.settle(outcome);
      t.match(await answer, { kind: 'fault', fault: { code, message } }, code);
      t.match(heard().at(-1), { type: 'call.ended', reading }, `${code}: what the breaker hears`);
      t.same(told, losses, `${code}: what follows`);
      t.equal(sent.length, 1, `${code}: sent once`);
    }
  },
);

t.test(
  'OAU-8 · a call that is refused names the login, and why the last one does not work if that is known',
  async (t) => {
    for (const [problem, why] of [
      ['its tokens cannot be renewed: revoked', ': its tokens cannot be renewed: revoked'],
      [undefined, ''],
    ] as const) {
      const { calls, sent } = stage(t, { url: 'https://hub.example/mcp', auth: 'oauth' }, { problem });
      const answer = calls.start(request);
      await turn();
      sent[0]?.settle({ kind: 'unauthorized' });
      const message = `mcp server "s": needs a login${why}; run \`agent mcp login s --profile work\``;
      t.match(await answer, { fault: { code: 'needs_login', message } });
    }
  },
);

t.test(
  'TRU-2 · LIF-8 · a session that is lost under many calls is one failure, and each call goes again',
  async (t) => {
    const { calls, sent, heard } = stage(t, { supports_parallel_tool_calls: true });
    const reading = Array.from({ length: 8 }, () => calls.start({ ...request, name: 'mcp__s__read', args: {} }));
    await turn();
    for (const { settle } of sent.splice(0)) settle({ kind: 'lost', dispatched: true, why: 'gone' });
    const ends = heard().filter(({ type }) => type === 'call.ended') as readonly { readonly reading?: unknown }[];
    t.same(
      ends.map(({ reading }) => reading),
      [{ kind: 'transportFailed', nowMs: 5 }, ...Array.from({ length: 7 }, () => null)],
    );
    await turn();
    t.equal(sent.length, 8);
    for (const { settle } of sent) settle(well);
    for (const answer of await Promise.all(reading)) t.match(answer, { kind: 'result' });
  },
);

t.test('TRU-2 · what was lost goes again where it was never sent or only reads, once', async (t) => {
  const lost: CallOutcome = { kind: 'lost', dispatched: true, why: 'gone' };
  const { calls, sent } = stage(t);
  const reading = calls.start({ ...request, name: 'mcp__s__read', args: {} });
  await turn();
  sent[0]?.settle(lost);
  await turn();
  t.equal(sent.length, 2);
  sent[1]?.settle(lost);
  t.match(await reading, { kind: 'fault' });
  t.equal(sent.length, 2, 'not a third time');

  const unclear: CallOutcome = { kind: 'unclear', why: 'it answered HTTP 500', behind: false };
  for (const last of [unclear, well]) {
    const { calls, sent, told } = stage(t);
    const reading = calls.start({ ...request, name: 'mcp__s__read', args: {} });
    await turn();
    sent[0]?.settle(unclear);
    await turn();
    t.equal(sent.length, 2, 'an answer of no use may be asked for again');
    sent[1]?.settle(last);
    const fault = {
      code: 'outcome_uncertain',
      message: /has no result \(it answered HTTP 500\), twice; .* call it again$/,
    };
    t.match(await reading, last === well ? { kind: 'result' } : { kind: 'fault', fault });
    t.same([sent.length, told], [2, []], 'once, and the session stays');
  }

  const unsent = stage(t);
  unsent.live.session = undefined;
  const answer = unsent.calls.start(request);
  for (let again = 0; again < 20; again += 1) await turn();
  t.match(await answer, { fault: { code: 'server_unavailable', message: /lost before the call/ } });
  t.same(unsent.heard(), [], 'no connection hears of a call that it never had');
});

t.test(
  'LIF-11 · LIF-3 · calls take turns on a server that says nothing else; a cancelled one is taken back',
  async (t) => {
    const { calls, sent, cancelled } = stage(t);
    const stop = new AbortController();
    const first = calls.start({ ...request, signal: stop.signal });
    const second = calls.start(request);
    await turn();
    t.equal(sent.length, 1);
    stop.abort();
    t.match(await first, { fault: { code: 'cancelled' } });
    t.same(cancelled, [0], 'on the wire too');
    for (let again = 0; again < 5; again += 1) await turn();
    t.equal(sent.length, 2);
    sent[1]?.settle(well);
    t.match(await second, { kind: 'result' });

    const wide = stage(t, { supports_parallel_tool_calls: true });
    const both = [wide.calls.start(request), wide.calls.start(request)];
    await turn();
    t.equal(wide.sent.length, 2);
    for (const { settle } of wide.sent) settle(well);
    await Promise.all(both);
  },
);

t.test(
  'LIF-13 · a result is cut to its limit, and the log says so; a tool that goes meanwhile is reported',
  async (t) => {
    const { calls, sent, log, live } = stage(t, { max_result_chars: 1_000 });
    const answer = calls.start(request);
    await turn();
    const content = [{ type: 'text', text: 'x'.repeat(3_000) }, { type: 'text' }];
    sent[0]?.settle({ kind: 'result', result: { content } });
    const given = JSON.stringify(await answer);
    t.match(given, /x{900}/);
    t.ok(given.length < 2_000);
    t.match(log, [/^mcp server "s": mcp__s__write: /]);

    const waits = calls.start(request);
    const after = calls.start(request);
    await turn();
    live.known = false;
    sent[1]?.settle({ kind: 'lost', dispatched: false, why: 'x' });
    t.match(await waits, { fault: { code: 'unknown_tool', message: /does not list it any more/ } });
    t.match(await after, { fault: { code: 'unknown_tool' } }, 'one that waited for its turn too');
    t.equal(sent.length, 2);
  },
);

/** The one tool of a server that lists anew, as it is afterwards. */
const both = { name: 'both', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
const bothCall: CallRequest = { ...request, name: 'mcp__s__both', args: { path: 'a' } };

t.test('TRU-1 · LIF-13 · what a server lists once it is reached decides, not what it listed before', async (t) => {
  const needsQ = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] };
  const rows: readonly (readonly [
    string,
    listed: readonly JsonObject[],
    code: string | undefined,
    RegExp | undefined,
  ])[] = [
    ['it lists the same', [both], undefined, undefined],
    ['it lists the tool no more', [], 'unknown_tool', /both was not run: mcp server "s" does not list it any more/],
    ['it takes other arguments', [{ ...both, inputSchema: needsQ }], 'invalid_arguments', /q/],
    [
      'it does not only read any more',
      [{ name: 'both', inputSchema: { type: 'object' } }],
      'approval_denied',
      /denied/,
    ],
  ];
  for (const [what, listed, code, message] of rows) {
    const { calls, approvals, registry, reach, sent } = stage(t, { trust: 'untrusted' }, { state: 'lazy' });
    registry.learn('s', { tools: [both], capabilities: { tools: {} } });
    const answer = calls.start(bothCall);
    t.same([sent, approvals.list()], [[], []], 'it waits');
    registry.learn('s', { tools: listed, capabilities: { tools: {} } });
    reach.reached('s@work');
    await turn();
    const [question] = approvals.list();
    t.equal(question !== undefined, code === 'approval_denied', `${what}: who is asked`);
    t.equal(sent.length, code === undefined ? 1 : 0, `${what}: what is sent`);
    approvals.answer(String(question?.id), false, 'me');
    sent[0]?.settle(well);
    t.match(await answer, code === undefined ? { kind: 'result' } : { fault: { code, message } }, what);
  }

  // After a restart of the gateway, while it connects, its tools are those of its last listing.
  const { calls, registry, reach, sent } = stage(t, {}, { state: 'connecting', tools: 0 });
  registry.learn('s', { tools: [{ ...both, inputSchema: needsQ }], capabilities: { tools: {} } });
  const [answer, wrong] = [calls.start(bothCall), calls.start({ ...bothCall, args: { path: 7 } })];
  const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
  registry.learn('s', { tools: [{ ...both, inputSchema }], capabilities: { tools: {} } });
  reach.reached('s@work');
  await turn();
  sent[0]?.settle(well);
  t.match(await answer, { kind: 'result' }, 'arguments that only its new listing takes');
  t.match(await wrong, { fault: { code: 'invalid_arguments', message: /path/ } });
});

t.test('TRU-1 · FLT-4 · a listing that comes while a person thinks, or in a queue, is heeded too', async (t) => {
  const { calls, approvals, registry, sent } = stage(t, { trust: 'untrusted' });
  const asked = calls.start(request);
  registry.learn('s', { tools: [], capabilities: { tools: {} } });
  approvals.answer(String(approvals.list()[0]?.id), true, 'me');
  t.match(await asked, { fault: { code: 'unknown_tool' } });

  registry.learn('s', { tools: [both], capabilities: { tools: {} } });
  const first = calls.start(bothCall);
  const queued = calls.start(bothCall);
  await turn();
  t.equal(sent.length, 1);
  registry.learn('s', { tools: [{ ...both, annotations: {} }], capabilities: { tools: {} } });
  sent[0]?.settle(well);
  t.match(await first, { kind: 'result' });
  for (let again = 0; again < 5; again += 1) await turn();
  t.equal(sent.length, 1, 'the second is asked about now');
  approvals.answer(String(approvals.list()[0]?.id), true, 'me');
  for (let again = 0; again < 5; again += 1) await turn();
  sent[1]?.settle(well);
  t.match(await queued, { kind: 'result' }, 'and goes on after the yes');
});

t.test('TRU-1 · a yes is for the tool as it was described; one that changes again is refused', async (t) => {
  const rows: readonly (readonly [string, JsonObject])[] = [
    ['its description', { description: 'Writes, and deletes everything.' }],
    ['its annotations', { annotations: { destructiveHint: true } }],
    ['its schema', { inputSchema: { type: 'object', properties: { path: { type: 'string' }, all: {} } } }],
  ];
  for (const [what, change] of rows) {
    const { calls, approvals, registry, sent } = stage(t, { trust: 'untrusted' });
    const list = (tool: JsonObject): void => void registry.learn('s', { tools: [tool], capabilities: { tools: {} } });
    const yes = (): void => void approvals.answer(String(approvals.list()[0]?.id), true, 'me');
    const [write = {}] = tools as readonly JsonObject[];
    const steady = calls.start(request);
    list({ ...write });
    yes();
    await turn();
    t.equal(sent.length, 1, `${what}: the same once more is the same`);
    sent[0]?.settle(well);
    t.match(await steady, { kind: 'result' });

    const changed = calls.start(request);
    list({ ...write, ...change });
    yes();
    await turn();
    t.same([sent.length, approvals.list().length], [1, 1], `${what}: asked anew`);
    yes();
    await turn();
    sent[1]?.settle(well);
    t.match(await changed, { kind: 'result' }, what);

    const restless = calls.start(request);
    list(write);
    yes();
    list({ ...write, ...change });
    yes();
    t.match(await restless, {
      fault: { code: 'server_unavailable', message: /changed it again after it was approved/ },
    });
    t.same([sent.length, approvals.list()], [2, []], what);
  }
});

t.test('TRU-3 · an entry that changes ends the calls that wait for it, and takes their questions back', async (t) => {
  const { calls, approvals, sent } = stage(t, { trust: 'untrusted' });
  const asked = calls.start(request);
  calls.retire('other', 'removed');
  t.equal(approvals.list().length, 1);
  calls.retire('s@work', 'changed');
  t.match(await asked, { fault: { code: 'server_unavailable', message: /its entry was changed while mcp__s__write/ } });
  t.same([approvals.list(), sent], [[], []]);

  const full = stage(t);
  const both = [full.calls.start(request), full.calls.start(request)] as const;
  await turn();
  full.calls.retire('s@work', 'removed');
  t.match(await both[1], { fault: { code: 'server_unavailable', message: /removed/ } }, 'what waits for its turn');
  full.sent[0]?.settle({ kind: 'lost', dispatched: true, why: 'its entry was removed' });
  t.match(await both[0], { fault: { code: 'outcome_uncertain', message: /\(its entry was removed\)/ } });
});

t.test('LIF-6 · FLT-4 · SEC-4 · a name is waited for while its server connects for the first time', async (t) => {
  const { calls, connections, registry, reach, sent } = stage(t, {}, { state: 'connecting', tools: 0 });
  registry.forget('s');
  t.match(await calls.start({ ...request, name: 'mcp__other__write' }), { fault: { code: 'unknown_tool' } });
  const offered = { code: 'unknown_tool', message: /"mcp__s__write" among those that are offered/ };
  t.match(await calls.start({ ...request, allows: () => false }), { fault: offered }, 'not lent, so not waited for');
  let isLent = true;
  const notLent = calls.start({ ...request, allows: () => isLent });
  isLent = false;
  const waits = calls.start(request);
  const typo = calls.start({ ...request, name: 'mcp__s__wriet' });
  registry.learn('s', { tools, capabilities: { tools: {} } });
  reach.reached('s@work');
  await turn();
  sent[0]?.settle(well);
  t.match(await waits, { kind: 'result' });
  t.match(await notLent, { fault: offered }, 'judged again by the tool that was found');
  t.match(await typo, {
    fault: { code: 'unknown_tool', message: /no tool is named "mcp__s__wriet"; did you mean "mcp__s__write"\?$/ },
  });
  registry.forget('s');
  const unreached = calls.start(request);
  reach.unreachable('s@work', 'mcp server "s": cannot be reached');
  t.match(await unreached, { fault: { code: 'server_unavailable', message: /cannot be reached/ } });
  const loggedOut = calls.start(request);
  reach.unreachable('s@work', 'mcp server "s": needs a login', 'needs_login');
  t.match(await loggedOut, { fault: { code: 'needs_login', message: /needs a login/ } });
  connections.move('s@work', 'needsLogin');
  t.match(await calls.start(request), {
    fault: { code: 'needs_login', message: /no tool is named "mcp__s__write" yet: mcp server "s"/ },
  });
  connections.move('s@work', 'parked');
  t.match(await calls.start(request), {
    fault: { code: 'server_unavailable', message: /no tool is named "mcp__s__write" yet: mcp server "s"/ },
  });
  t.match(await calls.start({ ...request, allows: () => false }), { fault: offered }, 'nothing is said of the server');
});

t.test(
  'LIF-13 · a schema that takes too long stays refused, and costs no more time when it is listed again',
  async (t) => {
    // By a clock that counts the time of every process, no machine is too busy to give the check all of its own.
    const { calls, registry } = stage(t, {}, { cpuTimeMs: () => performance.now() });
    const parts = Array.from({ length: 60 }, (_, at) => [
      `d${at}`,
      { allOf: Array(2).fill({ $ref: `#/$defs/d${at + 1}` }) },
    ]);
    const list = (): void => {
      const $defs = Object.fromEntries([...parts, ['d60', {}]]);
      const inputSchema = { type: 'object', properties: { path: { $ref: '#/$defs/d0' } }, $defs };
      registry.learn('s', { tools: [{ name: 'write', inputSchema }], capabilities: { tools: {} } });
    };
    const codeOf = async (): Promise<string | undefined> => {
      const answer = await calls.start(request);
      return answer.kind === 'fault' ? answer.fault.code : undefined;
    };
    list();
    t.equal(await codeOf(), 'invalid_schema');
    const codes: unknown[] = [];
    for (let listing = 0; listing < 12; listing += 1) {
      list();
      codes.push(await codeOf());
    }
    t.same(codes, Array(12).fill('invalid_schema'));
  },
);
