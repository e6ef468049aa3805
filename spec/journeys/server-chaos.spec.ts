/** Servers that fail at every point of their life, in every way: each failure is told, bounded and its server's own. */

import t from 'tap';
import { type Behaviour, type Fault, faults, type SeenRequest } from '../support/mcp/faults.ts';
import { type CallAnswer, child, entryOf, eventually, isWell, startGateway, wordsOf } from '../support/mcp/gateway.ts';
import { type HttpPeer, started } from '../support/mcp/http-peer.ts';

const hang: Fault = { kind: 'hang', at: 'before-head' };
const hangMidway: Fault = { kind: 'hang', at: 'after-head' };
const reset: Fault = { kind: 'reset', at: 'before-head' };
const resetAfter: Fault = { kind: 'reset', at: 'after-request' };
const resetMidway: Fault = { kind: 'reset', at: 'mid-body' };
const endStream: Fault = { kind: 'end-stream' };
const hangs = (fault: Fault | undefined): boolean => fault?.kind === 'hang';

t.test(
  'LIF-3 · LIF-7 · a connect that fails ends in its state, with the reason, and the next one may succeed',
  async (t) => {
    const retried = ['backingOff', 'connecting', 'parked'];
    const rows: readonly (readonly [string, Fault, readonly string[], RegExp])[] = [
      ['401', faults.unauthorized, ['failed'], /HTTP 401.*check headers$/],
      ['403', faults.forbidden, ['failed'], /HTTP 403.*check headers/],
      ['404', faults.notFound, ['failed'], /HTTP 404.*check url/],
      ['429', faults.tooMany, retried, /HTTP 429/],
      ['500', faults.serverError, retried, /HTTP 500/],
      ['html', faults.html, ['failed'], /is not an MCP endpoint.*text\/html/],
      ['hang', hang, retried, /no answer in 600 s.*raise connect_timeout/],
      ['midway', hangMidway, retried, /no answer in 600 s/],
      ['reset', reset, retried, /cannot be reached/],
      ['cut', resetMidway, retried, /cannot be reached|no answer in/],
      ['ended', endStream, retried, /cannot be reached|no answer in/],
    ];
    const points = [
      ['http', 'initialize'],
      ['http', 'tools/list'],
      ['modern', 'server/discover'],
      ['modern', 'tools/list'],
      ['sse', 'initialize'],
    ] as const;
    const made: {
      name: string;
      peer: HttpPeer;
      on: string;
      states: readonly string[];
      why: RegExp;
      bounded: boolean;
    }[] = [];
    for (const [kind, on] of points) {
      for (const [what, fault, states, why] of rows) {
        // A post of SSE is answered by 202 and by its stream: these have nothing to act on.
        if (kind === 'sse' && (fault.kind === 'end-stream' || fault === hangMidway || fault === faults.html)) continue;
        const peer = await started(t, { kind });
        peer.set({ ...fault, on } as Behaviour);
        // The others must not need it.
        const bounded = String(why).includes('no answer');
        // After a handshake, or at the address that SSE names, it means that the session is gone, and the next one may last.
        const isSessionGone = what === '404' && (kind === 'sse' || (kind === 'http' && on === 'tools/list'));
        made.push({
          name: `${kind}-${on.replace('/', '-')}-${what}`,
          peer,
          on,
          states: isSessionGone ? retried : states,
          why: isSessionGone ? /does not know the session/ : why,
          bounded,
        });
      }
    }
    const gateway = await startGateway(
      t,
      {
        healthy: child(t).entry,
        ...Object.fromEntries(
          made.map(({ name, peer, bounded }) => [
            name,
            entryOf(peer, {
              connect_timeout: bounded ? 600 : 86_400,
              protocol: peer.kind === 'modern' ? 'stateless' : 'legacy',
            }),
          ]),
        ),
      },
      { timePasses: true },
    );
    await gateway.reaches('healthy', 'connected');
    await isWell(t, gateway);
    for (const { peer, on, bounded } of made) if (bounded) await eventually(() => peer.seen(on).length > 0);
    await gateway.daemon.pass(600_000);
    for (const { name, peer, states, why } of made) {
      const row = await eventually(async () => {
        const found = await gateway.server(name);
        return found?.error === undefined ? undefined : found;
      });
      t.ok(states.includes(row.state), `${name} is ${row.state}`);
      t.match(row.error, why, name);
      t.equal(row.tools, 0);
      if (row.state === 'failed') {
        // A stream that was opened beside the connect may be heard of later.
        const requests = peer.seen('POST').length;
        t.equal(
          (await gateway.call(`mcp__${name.replaceAll('-', '_')}__echo`, { text: 'x' })).error?.code,
          'server_unavailable',
        );
        t.equal(peer.seen('POST').length, requests, `${name}: nothing more is tried`);
      }
      peer.set();
      await gateway.control.call('mcp.reconnect', { server: name });
    }
    // Some hang in their next try already, which began before their server was well.
    await gateway.daemon.pass(600_000);
    for (const { name } of made) {
      t.match(await gateway.reaches(name, 'connected'), { tools: 14 }, `${name} has recovered`);
    }
    await isWell(t, gateway);
  },
);

interface CallRow {
  readonly what: string;
  readonly fault: Fault;
  /** What a read-only call and any other come to, and how often the other was executed. */
  readonly echo: string;
  readonly note: string;
  readonly executed: number;
}

const callRows: readonly CallRow[] = [
  { what: '401', fault: faults.unauthorized, echo: '[needs_login]', note: '[needs_login]', executed: 0 },
  { what: '403', fault: faults.forbidden, echo: '[rpc_error]', note: '[rpc_error]', executed: 0 },
  { what: '429', fault: faults.tooMany, echo: '[rpc_error]', note: '[rpc_error]', executed: 0 },
  { what: '500', fault: faults.serverError, echo: 'hi', note: '[outcome_uncertain]', executed: 0 },
  { what: 'a web page', fault: faults.html, echo: 'hi', note: '[outcome_uncertain]', executed: 0 },
  { what: 'a reset before the answer', fault: reset, echo: 'hi', note: '[outcome_uncertain]', executed: 0 },
  { what: 'a reset after the execution', fault: resetAfter, echo: 'hi', note: '[outcome_uncertain]', executed: 1 },
  { what: 'a reset in the answer', fault: resetMidway, echo: 'hi', note: '[outcome_uncertain]', executed: 1 },
  { what: 'a stream that ends without it', fault: endStream, echo: 'hi', note: '[outcome_uncertain]', executed: 1 },
  { what: 'silence', fault: hang, echo: '[timed_out]', note: '[timed_out]', executed: 0 },
  { what: 'silence after the head', fault: hangMidway, echo: '[timed_out]', note: '[timed_out]', executed: 1 },
];

for (const kind of ['http', 'modern'] as const) {
  t.test(`calls on ${kind} that fail`, async (t) => {
    const peers = await Promise.all(callRows.map(() => started(t, { kind })));
    const nameOf = (index: number) => `s${index}`;
    const gateway = await startGateway(
      t,
      {
        healthy: child(t).entry,
        ...Object.fromEntries(
          peers.map((peer, index) => [
            nameOf(index),
            // The time of all of them passes.
            entryOf(peer, { timeout: hangs(callRows[index]?.fault) ? 60 : 86_400 }),
          ]),
        ),
      },
      { timePasses: true },
    );
    await gateway.reaches('healthy', 'connected');
    await Promise.all(
      callRows.map(({ what, fault, echo, note, executed }, index) =>
        t.test(`TRU-2 · LIF-3 · ${kind}: ${what} instead of a result`, async (t) => {
          const peer = peers[index] as HttpPeer;
          const server = nameOf(index);
          await gateway.reaches(server, 'connected');

          const failing = async (tool: string): Promise<CallAnswer> => {
            const before = peer.seen('tools/call').length;
            peer.set({ ...fault, on: 'tools/call', times: 1 } as Behaviour);
            const answer = gateway.call(`mcp__${server}__${tool}`, { text: 'hi' });
            if (hangs(fault)) {
              await eventually(() => peer.seen('tools/call').length > before);
              await gateway.daemon.pass(60_000);
            }
            return answer;
          };
          t.equal(wordsOf(await failing('echo')), echo, 'read-only');
          const answer = await failing('write_note');
          t.equal(wordsOf(answer), note, answer.error?.message ?? 'not read-only');
          t.equal(peer.executions('write_note'), executed, 'executions');
          peer.set();
          t.equal(wordsOf(await gateway.call(`mcp__${server}__echo`, { text: 'on' })), 'on', 'it goes on');
          t.equal(peer.executions('write_note'), executed, 'and was never repeated');
        }),
      ),
    );
    await isWell(t, gateway);
  });
}

for (const kind of ['http', 'sse'] as const) {
  for (const status of [404, 400] as const) {
    t.test(`TRU-2 · a session of ${kind} that is forgotten with ${status}`, async (t) => {
      const peer = await started(t, { kind });
      const gateway = await startGateway(t, { peer: entryOf(peer) });
      await gateway.reaches('peer', 'connected');

      await peer.expireSessions(status);
      const read = await gateway.call('mcp__peer__echo', { text: 'again' });
      await peer.expireSessions(status);
      const wrote = await gateway.call('mcp__peer__write_note', { text: 'x' });

      t.equal(wordsOf(read), 'again', 'a read-only call is replayed');
      // With SSE the stream breaks, and the daemon may have connected anew before the call; then it is sent once.
      if (kind === 'http') t.equal(wrote.error?.code, 'outcome_uncertain');
      t.ok(peer.executions('write_note') <= 1);
      t.equal(peer.executions('write_note'), wrote.error === undefined ? 1 : 0);
      t.equal(wordsOf(await gateway.call('mcp__peer__write_note', { text: 'y' })).slice(0, 4), 'note');
    });
  }
}

t.test(
  'TRU-2 · LIF-11 · parallel calls on a session that is forgotten are each replayed, and one fresh session serves them',
  async (t) => {
    const peer = await started(t);
    const gateway = await startGateway(t, { peer: entryOf(peer, { supports_parallel_tool_calls: true }) });
    await gateway.reaches('peer', 'connected');

    for (let round = 0; round < 3; round += 1) {
      const before = peer.seen('initialize').length;
      await peer.expireSessions();
      const words = ['a', 'b', 'c', 'd', 'e'].map((word) => `${word}${round}`);
      const answers = await Promise.all(words.map((text) => gateway.call('mcp__peer__echo', { text })));

      t.same(answers.map(wordsOf), words);
      t.equal(peer.seen('initialize').length, before + 1, 'one fresh session');
    }
  },
);

t.test('TRU-2 · LIF-8 · one lost connection under eight calls that only read is no eight failures', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer, { supports_parallel_tool_calls: true }) });
  await gateway.reaches('peer', 'connected');
  const lost = new Set<string>();
  // The first try of each, whoever is sent again before the last of them comes.
  const isFirst = ({ body }: SeenRequest): boolean => {
    const call = JSON.stringify((body as { readonly params: { readonly arguments: object } }).params.arguments);
    return lost.size < lost.add(call).size;
  };
  peer.set({ ...reset, on: 'tools/call', when: isFirst });
  const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const answers = await Promise.all(words.map((text) => gateway.call('mcp__peer__echo', { text })));
  t.same(answers.map(wordsOf), words);
});

t.test('LIF-8 · LIF-12 · a reload that cuts off many calls leaves the breaker closed', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer, { supports_parallel_tool_calls: true }) });
  await gateway.reaches('peer', 'connected');
  const slow = Array.from({ length: 6 }, () => gateway.call('mcp__peer__slow'));
  await eventually(() => (peer.work.slow.length === 6 ? true : undefined));
  await gateway.control.call('mcp.reconnect', { server: 'peer' });
  await eventually(() => (peer.work.slow.length === 12 ? true : undefined));
  t.equal(wordsOf(await gateway.call('mcp__peer__echo', { text: 'on' })), 'on');
  peer.releaseSlow();
  for (const answer of await Promise.all(slow)) t.equal(wordsOf(answer), 'released', 'it only reads, and went again');
});

t.test('TRU-2 · a call that breaks takes no other call of its server with it', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer, { supports_parallel_tool_calls: true }) });
  await gateway.reaches('peer', 'connected');
  const slow = gateway.call('mcp__peer__slow');
  await eventually(() => (peer.work.slow.length === 1 ? true : undefined));

  peer.set({ ...reset, on: 'tools/call', times: 1 });
  t.equal((await gateway.call('mcp__peer__write_note', { text: 'x' })).error?.code, 'outcome_uncertain');
  await eventually(() => (peer.seen('initialize').length === 2 ? true : undefined));
  t.equal(wordsOf(await gateway.call('mcp__peer__echo', { text: 'anew' })), 'anew', 'on a fresh session');
  t.equal(peer.sessions, 2, 'the old one stays for the call that it has');
  peer.releaseSlow();

  t.equal(wordsOf(await slow), 'released');
  t.equal(peer.work.slow.length, 1);
  await eventually(() => (peer.sessions === 1 ? true : undefined));
});
