import t from 'tap';
import { readPlainAnswers } from '../../../actors/mcp/plain-answers.ts';
import { fc } from '../../support/property.ts';

const request = { jsonrpc: '2.0', id: 7, method: 'tools/call' };

t.test('LIF-13 · TRU-2 · a JSON answer is that of its request, and loses no message beside it', async (t) => {
  const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  const error = { code: -32_000, message: 'No disk' };
  const answer = { jsonrpc: '2.0', id: 7, result: {} };
  const read = async (given: unknown, posted: object = request): Promise<unknown> => {
    const fetch = readPlainAnswers(async () => new Response(JSON.stringify(given)));
    return [await (await fetch('http://peer', { method: 'POST', body: JSON.stringify(posted) })).json()].flat();
  };
  for (const given of [answer, { ...answer, id: '7' }, [message, { ...answer, id: 1 }, answer]]) {
    t.same(await read(given), [given].flat());
    t.same(await read(given, { method: 'tools/call', params: {}, jsonrpc: '2.0', id: 7 }), [given].flat());
  }
  for (const id of [null, 'x', 1])
    t.same(await read([message, { jsonrpc: '2.0', id, error }]), [message, { jsonrpc: '2.0', id: 7, error }]);
  for (const given of [[], message, { ...answer, id: 1 }, { ...answer, id: null }]) await t.rejects(read(given));
});

t.test(
  'FLT-4 · LIF-13 · a message of a stream may write null for a member, and every other line passes as it is',
  async (_t) => {
    const result = { content: [{ type: 'text', text: '"error": null' }], structuredContent: { a: null } };
    const error = { code: -32_601, message: 'No' };
    const message = { jsonrpc: '2.0', method: 'notifications/message', params: { data: null } };
    const data = (given: unknown): string => `data: ${JSON.stringify(given)}`;
    const rows: readonly (readonly [string, string?])[] = [
      [data({ jsonrpc: '2.0', id: 7, result })],
      [data(message)],
      [': "error": null'],
      ['event: message'],
      ['data: {"error": null'],
      ['data: ü\u2028"params": []'],
      ['id: {"id":null}'],
      // A message may have several lines.
      ['data: {"id": null, "params": []}'],
      ['data: {"jsonrpc": "2.0", "id": 7, "result": {"structuredContent": {"id": null, "params": []}}}'],
      [''],
      [
        data({ jsonrpc: '2.0', id: 7, method: null, params: null, result: { ...result, _meta: null }, error: null }),
        data({ jsonrpc: '2.0', id: 7, result }),
      ],
      [data({ jsonrpc: '2.0', id: 8, result: [] }), data({ jsonrpc: '2.0', id: 8, result: {} })],
      [data({ ...message, id: null, params: { data: null, _meta: 3 } }), data(message)],
      [data({ jsonrpc: '2.0', id: null, result: null, error }), data({ jsonrpc: '2.0', id: 7, error })],
      [data({ jsonrpc: '2.0', error }), data({ jsonrpc: '2.0', error, id: 7 })],
      [data({ jsonrpc: '2.0', id: 8, error })],
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...rows), fc.constantFrom('\n', '\r', '\r\n')), { maxLength: 12 }),
        fc.array(fc.nat(400), { maxLength: 8 }),
        fc.constantFrom('', 'data: {"id":null'),
        async (lines, cuts, last) => {
          const given = Buffer.from(lines.map(([[line], end]) => line + end).join('') + last);
          const places = [0, ...cuts.map((cut) => Math.min(cut, given.length)).sort((a, b) => a - b), given.length];
          const body = ReadableStream.from(places.slice(1).map((to, at) => given.subarray(places[at], to)));
          const headers = { 'content-type': 'Text/Event-Stream; charset=utf-8' };
          const fetch = readPlainAnswers(async () => new Response(body, { headers, status: 201 }));
          const answer = await fetch('http://peer', { method: 'POST', body: JSON.stringify(request) });
          const expected = lines.map(([[line, plain = line], end]) => plain + end).join('') + last;
          return answer.status === 201 && (await answer.text()).replaceAll('data:{', 'data: {') === expected;
        },
      ),
    );
  },
);
