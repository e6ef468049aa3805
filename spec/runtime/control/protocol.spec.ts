import t from 'tap';
import { readMessage } from '../../../runtime/control/protocol.ts';

t.test('CLI-3 · whatever a line holds, it is a message, and an error keeps a readable id', (t) => {
  const request = (rest: object): string => JSON.stringify({ jsonrpc: '2.0', ...rest });
  const deep = (depth: number): string =>
    `{"jsonrpc":"2.0","id":1,"method":"a","params":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
  const rows: readonly (readonly [string, object])[] = [
    ['rubbish', { kind: 'malformed', id: null, error: { code: -32_700 } }],
    ['[]', { kind: 'malformed', id: null, error: { code: -32_600, message: /batches/ } }],
    [`[${request({ id: 1, method: 'a' })}]`, { kind: 'malformed', id: null, error: { code: -32_600 } }],
    ['5', { kind: 'malformed', id: null, error: { code: -32_600 } }],
    ['{"id":1,"method":"a"}', { kind: 'malformed', id: 1, error: { code: -32_600 } }],
    [request({ id: 7, method: 'a', params: [1] }), { kind: 'malformed', id: 7, error: { code: -32_602 } }],
    [request({ id: 'x', method: 'a', params: 'x' }), { kind: 'malformed', id: 'x', error: { code: -32_602 } }],
    [request({ id: {}, method: 'a' }), { kind: 'malformed', id: null, error: { code: -32_600 } }],
    [request({ id: true, method: 'a' }), { kind: 'malformed', id: null, error: { code: -32_600 } }],
    [request({ id: 1, method: 5 }), { kind: 'malformed', id: 1, error: { code: -32_600 } }],
    [request({ id: 1 }), { kind: 'malformed', id: 1, error: { code: -32_600 } }],
    [request({ method: 'a' }), { kind: 'notification', method: 'a' }],
    [request({ id: 1, method: 'a' }), { kind: 'request', request: { id: 1, method: 'a', params: {} } }],
    [request({ id: null, method: 'a' }), { kind: 'request', request: { id: null } }],
    [request({ id: 1, result: null }), { kind: 'result', id: 1, result: null }],
    [request({ id: 1, error: { code: 1, message: 'no' } }), { kind: 'error', id: 1, error: { code: 1 } }],
    [deep(199), { kind: 'request', request: { id: 1 } }],
    [
      deep(200),
      { kind: 'malformed', id: 1, error: { code: -32_602, message: 'the request is nested more than 200 deep' } },
    ],
    [deep(20_000), { kind: 'malformed', id: 1, error: { code: -32_602 } }],
  ];
  for (const [line, message] of rows) t.match(readMessage(line), message, line.slice(0, 200));
  t.end();
});
