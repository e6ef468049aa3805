import fc from 'fast-check';
import t from 'tap';
import type { ConnectFailure } from '../../../machines/mcp/connect-failure.ts';
import {
  type ConnectionAge,
  keepaliveDue,
  keepaliveIntervalMs,
  readProbeFailure,
  recycleDue,
} from '../../../machines/mcp/lifetime.ts';

function age(given: Partial<ConnectionAge>): ConnectionAge {
  return { nowMs: 0, connectedAtMs: 0, lastUsedAtMs: 0, inFlight: 0, idleTimeoutMs: 0, maxLifetimeMs: 0, ...given };
}

t.test('LIF-5 · a child is recycled when idle or old, and 0 means never', (t) => {
  const rows: readonly (readonly [Partial<ConnectionAge>, unknown])[] = [
    [{ nowMs: 1e12 }, { kind: 'never' }],
    [
      { nowMs: 999, idleTimeoutMs: 1_000 },
      { kind: 'in', ms: 1 },
    ],
    [
      { nowMs: 1_000, idleTimeoutMs: 1_000 },
      { kind: 'now', why: 'idle' },
    ],
    [
      { nowMs: 1_500, lastUsedAtMs: 900, idleTimeoutMs: 1_000 },
      { kind: 'in', ms: 400 },
    ],
    [
      { nowMs: 1_500, connectedAtMs: 1_200, lastUsedAtMs: 10, idleTimeoutMs: 1_000 },
      { kind: 'in', ms: 700 },
    ],
    [
      { nowMs: 5_000, lastUsedAtMs: 4_999, maxLifetimeMs: 5_000 },
      { kind: 'now', why: 'age' },
    ],
    [
      { nowMs: 4_000, lastUsedAtMs: 4_000, maxLifetimeMs: 5_000 },
      { kind: 'in', ms: 1_000 },
    ],
    [
      { nowMs: 4_900, lastUsedAtMs: 4_800, idleTimeoutMs: 1_000, maxLifetimeMs: 5_000 },
      { kind: 'in', ms: 100 },
    ],
    [
      { nowMs: 4_000, lastUsedAtMs: 3_900, idleTimeoutMs: 200, maxLifetimeMs: 5_000 },
      { kind: 'in', ms: 100 },
    ],
    [
      { nowMs: 1_000, idleTimeoutMs: 1_000, maxLifetimeMs: 1_000 },
      { kind: 'now', why: 'idle' },
    ],
    [
      { nowMs: 9_000, lastUsedAtMs: 100, idleTimeoutMs: 1_000, maxLifetimeMs: 5_000 },
      { kind: 'now', why: 'idle' },
    ],
  ];
  for (const [given, expected] of rows) t.same(recycleDue(age(given)), expected, JSON.stringify(given));
  t.end();
});

t.test('LIF-5 · nothing is recycled while a call is in flight', (t) => {
  const time = fc.nat();
  fc.assert(
    fc.property(
      fc.record({ nowMs: time, connectedAtMs: time, lastUsedAtMs: time, idleTimeoutMs: time, maxLifetimeMs: time }),
      (given) => {
        return recycleDue({ ...given, inFlight: 1 }).kind !== 'now';
      },
    ),
  );
  t.end();
});

t.test('LIF-5 · asked again when it said so, it says now, or names a later time that comes nearer', (t) => {
  const time = fc.integer({ min: 0, max: 80_000_000 });
  fc.assert(
    fc.property(time, time, time, time, (nowMs, lastUsedAtMs, idleTimeoutMs, maxLifetimeMs) => {
      const given = age({ nowMs, lastUsedAtMs, idleTimeoutMs, maxLifetimeMs });
      const due = recycleDue(given);
      if (due.kind !== 'in') return true;
      const at = Math.max(nowMs, nowMs < lastUsedAtMs ? lastUsedAtMs : nowMs) + due.ms;
      return due.ms > 0 && recycleDue({ ...given, nowMs: at }).kind === 'now';
    }),
  );
  t.end();
});

t.test('LIF-5 · a wait never exceeds what a timer can count', (t) => {
  t.same(recycleDue(age({ maxLifetimeMs: 30 * 86_400_000 })), { kind: 'in', ms: 86_400_000 });
  t.same(keepaliveDue({ nowMs: 0, lastHeardAtMs: 0, inFlight: 0, intervalMs: 1e12 }), { kind: 'in', ms: 86_400_000 });
  t.end();
});

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

t.test('LIF-4 · a probe is due after a silent period, and skipped while a call is in flight', (t) => {
  const rows = [
    [{ nowMs: 1e9, lastHeardAtMs: 0, inFlight: 0, intervalMs: undefined }, { kind: 'never' }],
    [
      { nowMs: 4_999, lastHeardAtMs: 0, inFlight: 0, intervalMs: 5_000 },
      { kind: 'in', ms: 1 },
    ],
    [{ nowMs: 5_000, lastHeardAtMs: 0, inFlight: 0, intervalMs: 5_000 }, { kind: 'now' }],
    [
      { nowMs: 5_000, lastHeardAtMs: 4_000, inFlight: 0, intervalMs: 5_000 },
      { kind: 'in', ms: 4_000 },
    ],
    [
      { nowMs: 9_000, lastHeardAtMs: 0, inFlight: 2, intervalMs: 5_000 },
      { kind: 'in', ms: 5_000 },
    ],
    [
      { nowMs: 0, lastHeardAtMs: 9_000, inFlight: 0, intervalMs: 5_000 },
      { kind: 'in', ms: 5_000 },
    ],
  ] as const;
  for (const [given, expected] of rows) t.same(keepaliveDue(given), expected, JSON.stringify(given));
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
