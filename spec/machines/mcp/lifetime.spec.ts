import t from 'tap';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import { keepaliveIntervalMs, readProbeFailure } from '../../../machines/mcp/lifetime.ts';

t.test('LIF-4 · the period has a floor of 5 s, a default of 180 s over HTTP and none for stdio', (t) => {
  const rows = [
    ['stdio', undefined, undefined],
    ['http', undefined, 180_000],
    ['sse', undefined, 180_000],
    ['stdio', 60_000, 60_000],
    ['http', 60_000, 60_000],
    ['stdio', 1_000, 5_000],
    ['http', 4_999, 5_000],
    ['http', 5_000, 5_000],
    ['http', 0, 5_000],
  ] as const;
  for (const [kind, given, expected] of rows) t.equal(keepaliveIntervalMs(kind, given), expected, `${kind} ${given}`);
  t.end();
});

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
