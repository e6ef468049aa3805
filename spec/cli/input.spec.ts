import t from 'tap';
import { completeLines } from '../../cli/serve/input.ts';

async function read(...parts: readonly Buffer[]): Promise<string> {
  const input = completeLines();
  for (const part of parts) input.write(part);
  input.end();
  return (await input.toArray()).join('');
}

t.test('CLI-5 · an id of many digits among the arguments of a call is that id, not the nearest number', async (t) => {
  const call = (id: string, args: string): string =>
    `{"id":${id},"method":"tools/call","params":{"name":"x","arguments":${args},"_meta":{"progressToken":${id}}}}\n`;

  const calls = [call('1152921504606846976', '{"id":1234567890123456789,"n":2}'), call('3', '{"n":2}')];

  const text = await read(Buffer.from(calls.join('')));

  const [first = ''] = text.split('\n');
  t.same(JSON.parse(first), {
    id: 2 ** 60,
    method: 'tools/call',
    params: { name: 'x', arguments: { id: '1234567890123456789', n: 2 }, _meta: { progressToken: 2 ** 60 } },
  });
  t.equal(text.slice(first.length + 1), calls[1]);
  const others = '{"id":1234567890123456789}\n1234567890123456789 is no JSON\n';
  t.equal(await read(Buffer.from(others)), others);
});

t.test('CLI-5 · lines arrive complete, however they were cut', async (t) => {
  const bytes = Buffer.from('{"a":"ü"}\n{"b":2}\n{"c"');
  const cuts = [7, 9, 10, 14].map((end, index, ends) => bytes.subarray(ends[index - 1] ?? 0, end));

  t.equal(await read(...cuts, bytes.subarray(14)), '{"a":"ü"}\n{"b":2}\n');
});

t.test('CLI-5 · what a client writes as null counts as absent, but not among the arguments of a call', async (t) => {
  const read1 = async (message: object): Promise<unknown> =>
    JSON.parse(await read(Buffer.from(`${JSON.stringify(message)}\n`)));
  const capabilities = { roots: null, sampling: [], experimental: {} };
  const clientInfo = { name: 'x', title: null, version: '1' };
  const begun = { id: 1, method: 'initialize', params: { capabilities, clientInfo, _meta: null } };
  t.strictSame(await read1(begun), {
    id: 1,
    method: 'initialize',
    params: { capabilities: { sampling: {}, experimental: {} }, clientInfo: { name: 'x', version: '1' } },
  });
  t.strictSame(await read1({ id: 2, method: 'tools/list', params: null }), { id: 2, method: 'tools/list' });
  const list = { id: 2, method: 'tools/list', params: { cursor: null, _meta: { progressToken: null } } };
  t.strictSame(await read1(list), { ...list, params: { _meta: {} } });
  const call = (args: unknown): object => ({ id: 3, method: 'tools/call', params: { name: 'x', arguments: args } });
  const own = { a: null, b: [], _meta: { c: null } };
  t.strictSame(await read1(call(own)), call(own));
  t.strictSame(await read1(call([])), call({}));
  t.strictSame(await read1(call(null)), { id: 3, method: 'tools/call', params: { name: 'x' } });
});

t.test('CLI-5 · a batch is read as its messages', async (t) => {
  const messages = [{ id: 1, method: 'ping', params: null }, { method: 'x' }];
  const text = await read(Buffer.from(`${JSON.stringify(messages)}\n[]\n`));
  t.equal(text, '{"id":1,"method":"ping"}\n{"method":"x"}\n[]\n');
  const call = '{"id":1,"method":"tools/call","params":{"name":"x","arguments":{"id":1234567890123456789}}}';
  t.equal(await read(Buffer.from(`[${call}]\n`)), `${call.replace(/\d{19}/, '"$&"')}\n`);
});

t.test('CLI-5 · LIF-13 · a message that is nested too deep to be written again is left to the gateway', async (t) => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  const call = `{"id":1,"method":"tools/call","params":{"name":"x","_meta":null,"arguments":{"a":${deep}}}}\n`;
  t.ok((await read(Buffer.from(`${call}[${call.trim()}]\n`))) === `${call}[${call.trim()}]\n`);
});
