import t from 'tap';
import type { GatewayStatus, NodeRow } from '../../../../../runtime/control/contract/gateway.ts';
import {
  commitWords,
  rateOfNode,
  rateWords,
  recoveredOf,
  standbyWords,
  stateOfGone,
  stateOfNode,
  workOfNode,
} from '../../../../../runtime/inspector/page/data/node-words.ts';

const row = (status?: Partial<GatewayStatus>, more: Partial<NodeRow> = {}): NodeRow => ({
  node: 'eu-1',
  session: 's1',
  leader: false,
  self: false,
  silent_ms: 4_200,
  ...more,
  // Only what the words are made of.
  ...(status === undefined
    ? {}
    : {
        status: {
          state: 'up.running',
          webhook: { enabled: true, url: 'http://127.0.0.1:1' },
          journal: 'ready',
          uptime_seconds: 7_200,
          actors: {},
          ...status,
        } as GatewayStatus,
      }),
});

t.test('SCA-3 · the state of a gateway, listed or gone, in words and with a mark', (t) => {
  const rows: readonly (readonly [NodeRow, string, string])[] = [
    [row({}), 'resting', 'Serving'],
    [row({ state: 'up.reloading' }), 'resting', 'Serving'],
    [row({ state: 'up.draining' }), 'working', 'Draining'],
    [row({ state: 'booting' }), 'working', 'Starting'],
    [row({ state: 'restarting' }), 'retrying', 'Restarting'],
    [row({ state: 'failed' }), 'failed', 'Failed'],
    [
      row({ webhook: { enabled: true, url: null, fault: 'port 8644 is taken' } as never }),
      'failed',
      'Not serving: port 8644 is taken',
    ],
    [row({ journal: 'the disk is full' }), 'failed', 'Not serving: the disk is full'],
    [row(), 'retrying', 'No answer for 4 s'],
  ];
  for (const [given, standing, words] of rows) t.same(stateOfNode(given), { standing, words });
  t.same(stateOfGone(row()), { standing: 'failed', words: 'Lost' });
  t.same(stateOfGone(row({ state: 'up.draining' })), { standing: 'ended', words: 'Stopped' });
  t.same(stateOfGone(row({})), { standing: 'failed', words: 'Stopped or lost' });
  t.end();
});

t.test('SCA-3 · the work of a gateway and its requests a minute; none are invented', (t) => {
  t.equal(workOfNode(row({ actors: { agentRun: 1, delivery: 2, toolCall: 5 } })), '1 run, 2 deliveries');
  t.equal(workOfNode(row({})), 'none');
  t.equal(workOfNode(row()), undefined);

  const minutes = Array.from({ length: 60 }, (_, at) => (at < 48 ? 0 : 15));
  t.equal(rateOfNode(row({ requests_by_minute: minutes })), 3);
  t.equal(rateOfNode(row({ requests_by_minute: minutes, uptime_seconds: 12 * 60 })), 15, 'since its start');
  t.equal(rateOfNode(row({ requests_by_minute: [...minutes.fill(0, 0, 59)], uptime_seconds: 10 })), 15);
  t.equal(rateOfNode(row({})), undefined);
  t.same([0, 0.04, 2.66, 9.96, 140.4, 2_400].map(rateWords), ['0', '0', '2.7', '10', '140', '2,400']);
  t.end();
});

t.test('SCA-3 · how long commits take, and who waits for them', (t) => {
  t.equal(commitWords({ median: 3.1, p95: 9 }), '3 ms median · 9 ms at the 95th percentile');
  t.equal(standbyWords({ connected: 0 }), 'no standby');
  t.equal(standbyWords({ connected: 1, awaited: 'eu-b' }), '1 standby; commits wait for eu-b');
  t.equal(standbyWords({ connected: 2 }), '2 standbys');
  t.end();
});

t.test('SCA-3 · recovered work is listed newest first, and no two rows have the same key', (t) => {
  const work = {
    at: '2026-01-01T00:00:00.000Z',
    kind: 'delivery',
    from: 'eu-9',
    profile: 'default',
    route: 'r',
  } as const;
  const twice = { ...work, event: 'e1', target: 'slack' };
  const newer = { ...twice, at: '2026-01-02T00:00:00.000Z' };
  const listed = recoveredOf([
    row({ recovered: [twice, twice] }),
    row({ recovered: [newer, twice] }, { node: 'eu-2' }),
    row(),
  ]);

  t.same(
    listed.map(({ at, by }) => [at, by]),
    [
      [newer.at, 'eu-2'],
      [work.at, 'eu-1'],
      [work.at, 'eu-1'],
      [work.at, 'eu-2'],
    ],
  );
  t.equal(new Set(listed.map(({ key }) => key)).size, 4);
  t.end();
});
