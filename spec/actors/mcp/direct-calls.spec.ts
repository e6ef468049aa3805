import { type JSONRPCMessage, ProtocolError, SdkError, type Transport } from '@modelcontextprotocol/client';
import t from 'tap';
import { lineUp } from '../../../actors/mcp/adapt-transport.ts';
import { createDirectCalls, type DirectAnswer } from '../../../actors/mcp/direct-calls.ts';
import { createOpenCalls } from '../../../actors/mcp/open-calls.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { until } from '../../support/processes.ts';
import { fc } from '../../support/property.ts';
import { turn } from '../../support/turns.ts';

/** A transport of which both ends are held here. */
function stage(timeoutMs = 60_000, more: Partial<Transport> = {}) {
  const sent: JsonObject[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  /** Of a listing that is requested for a call's stream, and of what resumes that stream. */
  const others: unknown[] = [];
  const passed: JSONRPCMessage[] = [];
  const headers: unknown[] = [];
  let endStream: (() => void) | undefined;
  let refusal: Error | undefined;
  const transport: Transport = {
    ...more,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send: (message, options) => {
      sent.push(message as unknown as JsonObject);
      signals.push(open.signalOf({ body: JSON.stringify(message) }));
      others.push([
        open.signalOf({ body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
        open.signalOf({ headers: { 'last-event-id': '1' } }) === signals.at(-1),
        open.signalOf(undefined),
      ]);
      headers.push((options as { readonly headers?: unknown } | undefined)?.headers);
      endStream = (options as { readonly onRequestStreamEnd?: () => void } | undefined)?.onRequestStreamEnd;
      return refusal === undefined ? Promise.resolve() : Promise.reject(refusal);
    },
  };
  const open = createOpenCalls();
  if (transport.hasPerRequestStream === true) open.tieByStream();
  const calls = createDirectCalls({ transport, isCut: () => false }, timeoutMs, open);
  lineUp(transport, calls);
  transport.onmessage = (message) => void passed.push(message);
  const told: DirectAnswer[] = [];
  const call = (more: object = {}) =>
    calls.call({ tool: 'echo', args: { a: 1 }, onProgress: undefined, traceparent: undefined, ...more }, (answer) =>
      told.push(answer),
    );
  return {
    calls,
    sent,
    passed,
    headers,
    signals,
    others,
    told,
    call,
    say: (message: object) => transport.onmessage?.({ jsonrpc: '2.0', ...message } as JSONRPCMessage),
    endStream: () => endStream?.(),
    refuse: (error: Error) => {
      refusal = error;
    },
    lastId: () => sent.findLast(({ method }) => method === 'tools/call')?.id as number,
  };
}

t.test('LIF-13 · a call is one request, and its answer is reported once; other messages pass', (t) => {
  const { call, say, sent, told, passed, lastId } = stage();
  call();
  t.same(sent, [{ jsonrpc: '2.0', id: lastId(), method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } } }]);
  say({ id: 0, result: {} });
  say({ id: 1, method: 'roots/list' });
  say({ method: 'notifications/message', params: { level: 'info', data: 'x' } });
  say({ method: 'notifications/progress', params: { progressToken: 3, progress: 1 } });
  t.equal(passed.length, 4, 'the client has the rest');
  say({ id: lastId(), result: { content: [] } });
  say({ id: lastId(), result: { content: [] } });
  t.same(told, [{ kind: 'result', result: { content: [] } }]);
  t.equal(passed.length, 5, 'an answer too many is the client’s to wonder about');
  t.end();
});

t.test('LIF-13 · a server that answers with the id as text is understood', (t) => {
  const { call, say, told, lastId } = stage();
  call();
  say({ id: String(lastId()), result: {} });
  t.same(told, [{ kind: 'result', result: {} }]);
  t.end();
});

t.test('LIF-13 · structured content that is null is none', (t) => {
  const { call, say, told, lastId } = stage();
  call();
  say({ id: lastId(), result: { content: [], structuredContent: null } });
  t.same(told, [{ kind: 'result', result: { content: [] } }]);
  t.end();
});

t.test('LIF-13 · an error of the server and an answer of no shape are failures, whatever they hold', (t) => {
  const rows: readonly (readonly [object, RegExp])[] = [
    [{ error: { code: -32_602, message: 'no such thing' } }, /no such thing/],
    [{ error: { code: 'x' } }, /^/],
    [{ result: { content: 'text' } }, /no list of blocks/],
    [{ result: [] }, /no list of blocks/],
    [{ result: null }, /no list of blocks/],
    [{}, /no list of blocks/],
  ];
  for (const [answer, words] of rows) {
    const { call, say, told, lastId } = stage();
    call();
    say({ id: lastId(), ...answer });
    t.match(told, [{ kind: 'failed', thrown: { message: words } }], JSON.stringify(answer));
  }
  t.end();
});

t.test('LIF-13 · no message makes it throw, and no call is answered by another one’s id', (t) => {
  fc.assert(
    fc.property(fc.object(), (message) => {
      const { call, say, told, lastId } = stage();
      call();
      say({ method: 'notifications/progress', params: message });
      say({ method: 'notifications/progress', ...message });
      say({ ...message, id: 5 });
      t.same(told, []);
      say({ result: message, id: lastId() });
      t.equal(told.length, 1);
    }),
    { numRuns: 50 },
  );
  t.end();
});

t.test('SRV-3 · progress goes to its call alone, and before the result that comes with it', (t) => {
  const { call, say, sent, told, passed, lastId } = stage();
  const seen: unknown[] = [];
  call({ onProgress: (progress: unknown) => void seen.push([progress, told.length]) });
  const token = lastId();
  t.match(sent[0], { params: { _meta: { progressToken: token } } });
  say({ method: 'notifications/progress', params: { progressToken: token, progress: 1, total: 2, message: 'half' } });
  say({ method: 'notifications/progress', params: { progressToken: token, progress: 'much' } });
  say({ id: token, result: {} });
  t.same(seen, [[{ progress: 1, total: 2, message: 'half' }, 0]]);
  say({ method: 'notifications/progress', params: { progressToken: token, progress: 2 } });
  t.equal(passed.length, 1, 'of a call that is over it is nobody’s');
  t.end();
});

t.test('OBS-1 · the trace travels in the message and in the header', (t) => {
  const { call, sent, headers } = stage();
  call({ traceparent: '00-1-2-01' });
  t.match(sent[0], { params: { _meta: { traceparent: '00-1-2-01' } } });
  t.same(headers, [{ traceparent: '00-1-2-01' }]);
  t.end();
});

t.test('LIF-3 · a call that takes too long is cancelled on the wire, each in its own time', async (t) => {
  const { call, say, sent, told, lastId } = stage(20);
  call();
  const first = lastId();
  call();
  say({ id: lastId(), result: {} });
  await until(() => told.length > 1);
  t.match(told[1], { kind: 'failed', thrown: { code: 'REQUEST_TIMEOUT' } });
  t.match(sent.at(-1), { method: 'notifications/cancelled', params: { requestId: first } });
  call();
  await until(() => told.length > 2);
  t.match(told[2], { thrown: { code: 'REQUEST_TIMEOUT' } }, 'the clock runs again for the next');
});

t.test('LIF-3 · a cancelled call ends at once, also at the server; an answered call is not cancelled', (t) => {
  const { call, say, sent, told, lastId } = stage();
  const cancel = call();
  const id = lastId();
  cancel();
  cancel();
  t.same(told, [{ kind: 'cancelled' }]);
  t.same(
    sent
      .filter(({ method }) => method === 'notifications/cancelled')
      .map(({ params }) => (params as JsonObject).requestId),
    [id],
  );
  const late = call();
  say({ id: lastId(), result: {} });
  late();
  t.equal(sent.filter(({ method }) => method === 'notifications/cancelled').length, 1);
  t.end();
});

t.test('LIF-3 · the request of a cancelled call is ended where each call has its own; no other is', (t) => {
  for (const hasPerRequestStream of [true, false]) {
    const { call, say, signals, others, lastId } = stage(60_000, { hasPerRequestStream });
    const given = call();
    call();
    const answered = call();
    say({ id: lastId(), result: {} });
    given();
    answered();
    t.same(
      signals.map((signal) => signal?.aborted),
      hasPerRequestStream ? [true, false, false, undefined] : [undefined, undefined, undefined, undefined],
    );
    for (const each of others) t.same(each, [undefined, true, undefined], 'but what resumes its stream');
  }
  t.end();
});

t.test('TRU-2 · a send that fails, a stream that ends and a connection that closes are reported as such', async (t) => {
  const { calls, call, refuse, endStream, told } = stage();
  call();
  endStream();
  t.ok((told[0] as { thrown?: unknown }).thrown instanceof ProtocolError);
  call();
  call();
  calls.closed();
  t.same(
    told.slice(1).map((answer) => (answer as { thrown?: SdkError }).thrown?.code),
    ['CONNECTION_CLOSED', 'CONNECTION_CLOSED'],
  );
  refuse(new SdkError('SEND_FAILED' as never, 'it has ended'));
  call();
  await turn();
  t.match(told[3], { kind: 'failed', thrown: { code: 'SEND_FAILED' } });
});
