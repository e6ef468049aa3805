import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import t from 'tap';
import { deliverInTurn, reportEndedStreams, streamEndedCode } from '../../../actors/mcp/adapt-transport.ts';

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

/** Collects what the client would be given. */
function heard(transport: Transport): JSONRPCMessage[] {
  const messages: JSONRPCMessage[] = [];
  const before = transport.onmessage;
  transport.onmessage = (message, extra) => {
    before?.(message, extra);
    messages.push(message);
  };
  return messages;
}

t.test('TRU-2 · a stream that ends without the answer is told once', async (t) => {
  const transport = fakeTransport();
  const told = reportEndedStreams(transport);
  const messages = heard(transport);
  await transport.send(request);
  t.equal(told(), false);

  transport.endStream();
  transport.endStream();

  t.match(messages, [{ id: 7, error: { code: streamEndedCode } }]);
  t.equal(messages.length, 1);
  t.equal(told(), true);
});

t.test('TRU-2 · a stream that ends after its answer is nothing', async (t) => {
  const transport = fakeTransport();
  const told = reportEndedStreams(transport);
  const messages = heard(transport);
  await transport.send(request);
  transport.onmessage?.(response);

  transport.endStream();

  t.same(messages, [response]);
  t.equal(told(), false);
});

t.test('FLT-4 · whoever watches its own stream hears of it instead', async (t) => {
  const transport = fakeTransport();
  reportEndedStreams(transport);
  const messages = heard(transport);
  const ends: string[] = [];
  await transport.send(request, { onRequestStreamEnd: () => ends.push('end') });

  transport.endStream();

  t.same(ends, ['end']);
  t.same(messages, []);
});

t.test('SRV-3 · messages that come together are given one a turn, in order', async (t) => {
  const transport = fakeTransport();
  const order: string[] = [];
  transport.onmessage = (message) => {
    const name = 'method' in message ? message.method : 'result';
    order.push(name);
    void Promise.resolve().then(() => order.push(`after ${name}`));
  };
  deliverInTurn(transport);

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
  transport.onerror = (error) => errors.push(error.message);
  transport.onmessage = (message) => {
    if ('method' in message) throw new Error('cannot read it');
    seen.push(message);
  };
  deliverInTurn(transport);

  transport.onmessage({ jsonrpc: '2.0', method: 'one' });
  transport.onmessage(response);
  await new Promise((resolve) => setImmediate(resolve));

  t.same(errors, ['cannot read it']);
  t.same(seen, [response]);
});
