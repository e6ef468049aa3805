import t, { type Test } from 'tap';
import { createCallLanes } from '../../../actors/mcp/call-lanes.ts';
import type { CallOutcome } from '../../../actors/mcp/call-outcome.ts';
import type { Session } from '../../../actors/mcp/session.ts';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ApprovalInput } from '../../../machines/mcp/approval.machine.ts';
import type { CallInput, CallOutput } from '../../../machines/mcp/tool-call.machine.ts';
import { type Approvals, createApprovals } from '../../../runtime/mcp/approvals.ts';
import { type CallRequest, type Calls, createCalls } from '../../../runtime/mcp/calls.ts';
import { createReach } from '../../../runtime/mcp/reach.ts';
import { createRegistry } from '../../../runtime/mcp/registry.ts';
import { createRedactor } from '../../../runtime/redact.ts';
import { wireApproval } from '../../../runtime/wiring/approval.ts';
import { wireToolCall } from '../../../runtime/wiring/tool-call.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { turn } from '../../support/turns.ts';
import { fakeWard, startWard } from '../../support/wards.ts';

/** What a session was given, and how the spec ends it. */
interface Sent {
  readonly how: string;
  readonly args: JsonObject;
  settle(outcome: CallOutcome): void;
}

const tools = [
  {
    name: 'write',
    description: 'Writes with hunter2hunter2.',
    inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
  { name: 'read', annotations: { readOnlyHint: true } },
];
const request: CallRequest = { profile: 'work', name: 'mcp__s__write', args: { path: 'a' }, caller: 'run', run: 'r1' };
const well: CallOutcome = { kind: 'result', result: { content: [{ type: 'text', text: 'done' }] } };

/** One server, its call chart wired to real tables; the session itself is the spec's. */
function stage(t: Test, entry: JsonObject = {}, { state = 'connected' } = {}) {
  const settings = settingsOf({ command: 'x', ...entry } as never, 's');
  const log: string[] = [];
  const logger = { log: (_: string, text: string) => void log.push(text), warnOnce: () => {} };
  const registry = createRegistry(logger);
  registry.configure([settings]);
  registry.learn('s', { tools, capabilities: { tools: {}, resources: {} } });
  const connections = fakeWard<object>(() => ({
    value: state,
    context: { session: 3, breaker: { kind: 'closed', failures: 0 } },
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
  } as unknown as Session;
  const live = { session: session as Session | undefined, known: true };
  const redactor = createRedactor();
  redactor.learn('hunter2hunter2');
  const approvals: Approvals = createApprovals(
    startWard<ApprovalInput>(
      t,
      compile(wireApproval({ approvals: () => approvals, log: { log: () => {}, warnOnce: () => {} } })),
    ),
    () => 0,
  );
  const reach = createReach({ connections: connections.handle, calls: () => ward(), nowMs: () => 0 } as never);
  const calls: Calls = createCalls(
    () => ward(),
    () => 0,
  );
  const ward = startWard<CallInput>(
    t,
    compile(
      wireToolCall({
        calls,
        approvals,
        reach,
        lanes: createCallLanes(),
        sessions: {
          get: (key: string) => (key === 's@work' ? live.session : undefined),
          lose: (key: string, how: unknown, of: unknown) => void told.push(['lost', key, how, of === session]),
        } as never,
        registry: (profile) => (profile === 'work' && live.known ? registry : undefined),
        settings: () => settings,
        connections: connections.handle as never,
        demandScope: (...scope) => void told.push(['scope', ...scope]),
        redactor,
        nowMs: () => 5,
        log: logger,
      }),
    ),
    { onDone: (key: string, output: unknown) => calls.settled(key, output as CallOutput) },
  );
  const heard = (): readonly { readonly type: string }[] => connections.living('s@work')?.heard.splice(0) ?? [];
  return { calls, approvals, reach, sent, cancelled, told, heard, log, live };
}

t.test(
  'LIF-13 · LIF-8 · a call goes to the session of its connection, which hears of its beginning and end',
  async (t) => {
    const { calls, sent, heard } = stage(t);
    const answer = calls.start(request);
    await turn();
    t.match(sent, [{ how: 'tool write', args: { path: 'a' } }]);
    t.same(heard(), [{ type: 'call.began', atMs: 5 }]);
    t.equal(calls.runAt('s@work'), 'r1', 'what the server asks now belongs to the run');
    sent[0]?.settle(well);
    t.match(await answer, { kind: 'result', result: { content: [{ type: 'text', text: 'done' }], isError: false } });
    t.same(heard(), [{ type: 'call.ended', session: 3, reading: { kind: 'answered' } }]);
    t.equal(calls.runAt('s@work'), undefined);

    const listing = calls.start({ ...request, name: 'mcp__s__list_resources', args: {} });
    await turn();
    t.equal(sent[1]?.how, 'utility list_resources');
    sent[1]?.settle(well);
    await listing;
  },
);

t.test(
  'LIF-13 · NAM-1 · what no registry knows, or does not fit the schema, is refused before anything is sent',
  async (t) => {
    const { calls, sent, heard } = stage(t);
    const rows: readonly (readonly [Partial<CallRequest>, string, RegExp])[] = [
      [{ name: 'mcp__s__gone' }, 'unknown_tool', /no tool is named "mcp__s__gone"; `agent mcp tools`/],
      [{ profile: 'default' }, 'unknown_tool', /no tool is named/],
      [{ args: {} }, 'invalid_arguments', /^mcp__s__write: .*path/],
      [{ args: { path: 5 } }, 'invalid_arguments', /path/],
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
        /refuses the credentials; run `agent mcp login s --profile work`/,
        closed,
        [['lost', 's@work', { kind: 'broken', why: 'its credentials are refused' }, true]],
      ],
      [
        { kind: 'needsScope', scope: 'files:write' },
        'needs_login',
        /needs the scope "files:write"; run `agent mcp login/,
        closed,
        [['scope', 'work', 's', 'files:write']],
      ],
      [{ kind: 'needsScope', scope: undefined }, 'needs_login', /needs the scope ""/, closed, []],
      [
        { kind: 'expired' },
        'outcome_uncertain',
        /its session had expired/,
        closed,
        [['lost', 's@work', { kind: 'expired' }, true]],
      ],
      [
        { kind: 'lost', dispatched: true, why: 'its command ended' },
        'outcome_uncertain',
        /\(its command ended\); the tool may have run/,
        { kind: 'transportFailed', nowMs: 5 },
        [['lost', 's@work', { kind: 'broken', why: 'its command ended' }, true]],
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

  const unsent = stage(t);
  unsent.live.session = undefined;
  const answer = unsent.calls.start(request);
  for (let again = 0; again < 20; again += 1) await turn();
  t.match(await answer, { fault: { code: 'server_unavailable', message: /lost before the call/ } });
  t.same(unsent.heard(), [], 'no connection hears of a call that it never had');
});

t.test(
  'LIF-11 · LIF-3 · calls take turns on a server that says nothing else; one given up is taken back',
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
  'LIF-13 · a result is cut to what one may hold, and the log tells; a tool that goes meanwhile is told',
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
    t.match(await waits, { fault: { code: 'unknown_tool', message: /is gone/ } });
    for (let again = 0; again < 5; again += 1) await turn();
    sent[2]?.settle(well);
    t.match(await after, { kind: 'result' }, 'one that has its turn is sent as it was resolved');
  },
);
