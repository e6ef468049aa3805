import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import t from 'tap';
import {
  deliverInTurn,
  type Handler,
  lineUp,
  reportEndedStreams,
  streamEndedCode,
} from '../../../actors/mcp/adapt-transport.ts';

interface FakeTransport extends Transport {
  /** Ends the stream of the last request. */
  endStream(): void;
}

function fakeTransport(): FakeTransport {
  let end: (() => void) | undefined;
  return {
    start: async () => {},
    close: async () => {},
    send: async (_message, options) => {
      end = options?.onRequestStreamEnd;
    },
    endStream: () => end?.(),
  };
}

const request: JSONRPCMessage = { jsonrpc: '2.0', id: 7, method: 'tools/call' };
const response: JSONRPCMessage = { jsonrpc: '2.0', id: 7, result: {} };

/** Collects what the client would be given behind the handler. */
function heard(transport: Transport, handler: Handler): JSONRPCMessage[] {
  const messages: JSONRPCMessage[] = [];
  lineUp(transport, handler);
  transport.onmessage = (message) => void messages.push(message);
  return messages;
}

t.test('FLT-4 · SRV-3 · handlers see messages in their order, whichever function takes them last', async (t) => {
  const transport = fakeTransport();
  const seen: string[] = [];
  const named = (name: string): Handler => ({
    receive(message, extra, next) {
      seen.push(name);
      next(message, extra);
    },
    send(message, options, next) {
      seen.push(`${name} sends`);
      return next(message, options);
    },
  });
  const putBefore = lineUp(transport, named('first'));
  putBefore([named('third'), {}, named('fourth')]);
  t.equal(transport.onmessage, undefined);

  transport.onmessage = () => void seen.push('discovery');
  transport.onmessage(response);
  putBefore([named('second')]);
  const found = transport.onmessage;
  transport.onmessage = (message) => {
    found(message);
    seen.push('client');
  };
  transport.onmessage(response);
  await transport.send(request);

  const before = ['first', 'third', 'fourth', 'discovery'];
  const sends = ['fourth sends', 'third sends', 'second sends', 'first sends'];
  t.same(seen, [...before, 'first', 'second', 'third', 'fourth', 'discovery', 'client', ...sends]);
});

t.test('TRU-2 · a stream that ends without the answer is reported once', async (t) => {
  const transport = fakeTransport();
  const ended = reportEndedStreams(transport);
  const messages = heard(transport, ended);
  await transport.send(request);
  t.equal(ended.hasReported(), false);

  transport.endStream();
  transport.endStream();

  t.match(messages, [{ id: 7, error: { code: streamEndedCode } }]);
  t.equal(messages.length, 1);
  t.equal(ended.hasReported(), true);
});

t.test('TRU-2 · a stream that ends after its answer is nothing', async (t) => {
  const transport = fakeTransport();
  const ended = reportEndedStreams(transport);
  const messages = heard(transport, ended);
  await transport.send(request);
  transport.onmessage?.(response);

  transport.endStream();

  t.same(messages, [response]);
  t.equal(ended.hasReported(), false);
});

t.test('FLT-4 · a caller with a stream of its own gets the change there instead', async (t) => {
  const transport = fakeTransport();
  const messages = heard(transport, reportEndedStreams(transport));
  const ends: string[] = [];
  await transport.send(request, { onRequestStreamEnd: () => ends.push('end') });

  transport.endStream();

  t.same(ends, ['end']);
  t.same(messages, []);
});

t.test('SRV-3 · messages that come together are given one a turn, in order', async (t) => {
  const transport = fakeTransport();
  const order: string[] = [];
  lineUp(transport, deliverInTurn(transport));
  transport.onmessage = (message) => {
    const name = 'method' in message ? message.method : 'result';
    order.push(name);
    void Promise.resolve().then(() => order.push(`after ${name}`));
  };

  transport.onmessage({ jsonrpc: '2.0', method: 'one' });
  transport.onmessage({ jsonrpc: '2.0', method: 'two' });
  transport.onmessage(response);
  await new Promise((resolve) => setImmediate(resolve));

  t.same(order, ['one', 'after one', 'two', 'after two', 'result', 'after result']);
});

t.test('SRV-3 · a client that fails at one message is given the next', async (t) => {
  const transport = fakeTransport();
  const seen: unknown[] = [];
  const errors: unknown[] = [];
  lineUp(transport, deliverInTurn(transport));
  transport.onerror = (error) => errors.push(error.message);
  transport.onmessage = (message) => {
    if ('method' in message) throw new Error('cannot read it');
    seen.push(message);
  };

  transport.onmessage({ jsonrpc: '2.0', method: 'one' });
  transport.onmessage(response);
  await new Promise((resolve) => setImmediate(resolve));

  t.same(errors, ['cannot read it']);
  t.same(seen, [response]);
});
