import t from 'tap';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { readProbeFailure } from '../../../machines/mcp/lifetime.ts';

t.test('LIF-4 · a server that answers lives; one that knows no ping is asked with tools/list from then on', (t) => {
  const rows: readonly (readonly [ConnectFailure, unknown])[] = [
    [
      { kind: 'rpc', code: -32601, message: '' },
      { kind: 'alive', next: 'tools/list' },
    ],
    [
      { kind: 'http', status: 404, message: '', rpcCode: -32601 },
      { kind: 'alive', next: 'tools/list' },
    ],
    [
      { kind: 'rpc', code: -32603, message: '' },
      { kind: 'alive', next: 'ping' },
    ],
    [
      { kind: 'http', status: 429, message: '' },
      { kind: 'alive', next: 'ping' },
    ],
    [
      { kind: 'http', status: 400, message: '', rpcCode: -32600 },
      { kind: 'alive', next: 'tools/list' },
    ],
    [
      { kind: 'http', status: 500, message: '', rpcCode: -32603 },
      { kind: 'alive', next: 'tools/list' },
    ],
    [{ kind: 'http', status: 401, message: '', rpcCode: -32001 }, { kind: 'dead' }],
    [{ kind: 'http', status: 503, message: '', rpcCode: -32000 }, { kind: 'dead' }],
    [{ kind: 'http', status: 404, message: '' }, { kind: 'dead' }],
    [{ kind: 'http', status: 401, message: '' }, { kind: 'dead' }],
    [{ kind: 'http', status: 503, message: '' }, { kind: 'dead' }],
    [{ kind: 'timeout', afterMs: 1 }, { kind: 'dead' }],
    [{ kind: 'network', message: '' }, { kind: 'dead' }],
    [{ kind: 'exited', status: 0 }, { kind: 'dead' }],
  ];
  for (const [failure, expected] of rows) t.same(readProbeFailure('ping', failure), expected, JSON.stringify(failure));
  t.same(readProbeFailure('tools/list', { kind: 'rpc', code: -32601, message: '' }), {
    kind: 'alive',
    next: 'tools/list',
  });
  t.end();
});

t.test('LIF-4 · TRU-2 · an error about the session ends it, one about the method does not', (t) => {
  const gone: ConnectFailure = { kind: 'http', status: 404, message: 'Session not found', rpcCode: -32001 };
  t.same(readProbeFailure('ping', gone, true), { kind: 'expired' });
  t.same(readProbeFailure('ping', { ...gone, rpcCode: -32601 }, true), { kind: 'alive', next: 'tools/list' });
  t.end();
});
