import t from 'tap';
import type { TargetRow } from '../../../runtime/control/contract/deliveries.ts';
import type { CountedRoute } from '../../../runtime/control/contract/events.ts';
import type { Health } from '../../../runtime/control/contract/overview.ts';
import type { ServerRow } from '../../../runtime/control/contract/servers.ts';
import { routeHealth, serverHealth, targetHealth, topOf } from '../../../runtime/control/overview-health.ts';

const route = { name: 'deploys', profile: 'default', enabled: true };
const bucket = (delivered: number, failed: number) => ({ at: '', delivered, ignored: 0, open: 0, failed });
const counted = (delivered: number, failed: number): CountedRoute => ({
  route: 'deploys',
  profile: 'default',
  last_at: '2026-11-25T03:00:00.000Z',
  total: delivered + failed,
  counts: { delivered, ignored: 0, open: 0, failed },
  buckets: [bucket(delivered, 0), bucket(0, 0), bucket(0, failed), bucket(0, 0)],
});

t.test('INS-4 · a table has six rows, failing ones first, the others by name, and counts all', (t) => {
  const row = (name: string, health: Health) => ({ name, health });
  const rows = [
    row('f', 'healthy'),
    row('e', 'off'),
    row('d', 'retrying'),
    row('c', 'waiting'),
    row('b', 'quiet'),
    row('z', 'failing'),
    row('a', 'healthy'),
  ];
  t.same(
    { ...topOf(rows), rows: topOf(rows).rows.map(({ name }) => name) },
    { total: 7, rows: ['z', 'c', 'd', 'a', 'b', 'e'] },
  );
  t.end();
});

t.test('INS-4 · a route fails by the rule of its list, whatever failed in the range of the overview', (t) => {
  const well = { failing: false, held: false, retrying: 0 };
  const failing = { failing: true, held: false, retrying: 0 };
  t.equal(routeHealth(route, counted(1, 1), failing).health, 'failing');
  t.equal(routeHealth(route, counted(1, 9), well).health, 'healthy');
  t.equal(routeHealth(route, undefined, failing).health, 'failing');
  t.equal(routeHealth(route, counted(2, 1), { failing: false, held: false, retrying: 1 }).health, 'retrying');
  t.equal(routeHealth(route, undefined, well).health, 'quiet');
  t.equal(routeHealth(route, counted(2, 0), { failing: false, held: true, retrying: 1 }).health, 'waiting');
  t.equal(routeHealth({ ...route, enabled: false }, counted(0, 1), failing).health, 'off');
  t.match(routeHealth({ ...route, sender: 'stripe' }, counted(3, 1), well), {
    source: 'Stripe',
    events: 4,
    failed: 1,
    trend: [
      [4, 1],
      [0, 0],
    ],
    last_at: '2026-11-25T03:00:00.000Z',
  });
  t.end();
});

t.test(
  'INS-4 · servers and targets are as their connections, and a target fails while deliveries to it wait for a person',
  (t) => {
    const row = (state: string): ServerRow => ({
      name: 's',
      profile: 'default',
      state,
      transport: 'stdio',
      era: null,
      tools: 3,
      since: '',
    });
    const none = { count: 0, failed: 0 };
    t.same(
      ['failed', 'parked', 'needsLogin', 'backingOff', 'connected', 'lazy', 'disabled'].map(
        (state) => serverHealth(row(state), none).health,
      ),
      ['failing', 'failing', 'waiting', 'retrying', 'healthy', 'healthy', 'off'],
    );
    const target: TargetRow = {
      name: 'slack',
      target: 'slack',
      title: 'Slack',
      profile: 'default',
      state: 'connected',
      since: '',
    };
    t.match(targetHealth(target, 0, { count: 3, failed: 1, median_ms: 5 }), {
      title: 'Slack',
      health: 'healthy',
      sent: 2,
      failed: 1,
      median_ms: 5,
    });
    t.equal(targetHealth(target, 1, none).health, 'failing');
    t.equal(targetHealth({ ...target, state: 'failed' }, 0, none).health, 'failing');
    t.end();
  },
);
