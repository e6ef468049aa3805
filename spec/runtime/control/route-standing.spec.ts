import t from 'tap';
import { routeStandings } from '../../../runtime/control/route-standing.ts';
import type { DaemonView } from '../../../runtime/control/view.ts';

const nowMs = Date.parse('2026-01-02T00:00:00Z');
const counts = { delivered: 3, ignored: 0, open: 0, failed: 0 };
const counted = { route: 'r', profile: 'default', total: 3, counts, last_at: '2026-01-01T23:00:00Z' };

t.test(
  'INS-4 · the states of routes cost one reading of a long history, and say since when it is counted',
  async (t) => {
    const limits: unknown[] = [];
    let countedFromMs = nowMs - 3_600_000;
    const daemon = {
      async countRoutes(_range: unknown, _profile: unknown, maxMs: unknown) {
        limits.push(maxMs);
        return { countedFromMs, routes: [counted] };
      },
      deliveryService: { list: async () => [] },
    } as unknown as DaemonView;

    const partly = (await routeStandings(daemon, nowMs))({ name: 'r' });

    t.match(partly, { mark: 'healthy', last_24h: { total: 3, counted_from: '2026-01-01T23:00:00.000Z' } });
    t.strictSame(limits, [undefined, 0, 0, 0], 'the others use what the first has read');
    countedFromMs = nowMs - 86_400_000;
    t.strictSame((await routeStandings(daemon, nowMs))({ name: 'r' }).last_24h, { total: 3, failed: 0 });
  },
);
