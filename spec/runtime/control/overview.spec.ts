import t, { type Test } from 'tap';
import { absentPool } from '../../../machines/base/pool.ts';
import type { ApprovalRow } from '../../../runtime/control/contract/approvals.ts';
import type { Overview } from '../../../runtime/control/contract/overview.ts';
import { createOverview, type OverviewPorts } from '../../../runtime/control/overview.ts';

/** An overview of a gateway without servers and targets, and a watcher that is awaited. */
function stage(t: Test, more: Partial<OverviewPorts> & { readonly nodes?: unknown; readonly inForce?: unknown }) {
  const { nodes, inForce, ...ports } = more;
  const daemon = {
    mcp: { list: () => [], approvals: () => [] },
    deliveryService: { targets: () => [] },
    status: () => ({ config: {}, webhook: {}, journal: 'ready' }),
    deliveries: async () => [{ status: 'failed' }],
  };
  const overview = createOverview({
    pools: () => ({ deliveries: absentPool('deliveries'), groups: absentPool('groups'), runs: absentPool('runs') }),
    host: () => ({ daemon, nodes, inForce }) as never,
    keeper: { journal: () => undefined, watch: () => () => {} },
    events: {
      count: async () => ({ all: { total: 0 } as never, routes: [] }),
      countRoutes: async () => ({ countedFromMs: 0, routes: [] }),
    },
    recent: { calls: { read: () => undefined }, deliveries: { read: () => undefined } } as never,
    load: () => ({ running: 0, waiting: 5, isMore: (profile) => profile !== 'work' }),
    concurrency: () => 1,
    runsThatWait: () => new Map(),
    onStep: () => () => {},
    redact: (record) => record,
    nowMs: Date.now,
    ...ports,
  });
  const seen: Overview[] = [];
  let heard = (): void => {};
  // The beats alone keep no process alive.
  const alive = setInterval(() => {}, 1_000);
  let leave = (): void => {};
  t.teardown(() => {
    leave();
    clearInterval(alive);
  });
  return {
    overview,
    seen,
    watch() {
      leave = overview.watch({ range: '1h' }, (one) => {
        seen.push(one);
        heard();
      });
    },
    next: () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      }),
  };
}

t.test(
  'INS-4 · SCA-3 · an overview waits for no other gateway, and shows its questions once they are known',
  async (t) => {
    const question = {
      id: 'q1',
      kind: 'tool',
      server: 'hub',
      profile: 'default',
      tool: 'mcp__hub__merge',
      message: '',
      asked_at: '2026-11-25T03:00:00.000Z',
      expires_at: '2026-11-25T04:00:00.000Z',
    } as ApprovalRow;
    let known: readonly ApprovalRow[] | Promise<undefined> = new Promise<undefined>(() => {});
    const { seen, watch, next } = stage(t, { nodes: { questionsOfOthers: () => known } });
    const first = next();
    watch();
    await first;
    t.equal(seen[0]?.needs.total, 0);
    const second = next();
    known = [question];
    await second;
    t.match(seen[1]?.needs, { total: 1, rows: [{ id: 'q1', kind: 'approval' }] });
    const third = next();
    known = Promise.resolve(undefined);
    await third;
    t.equal(seen[2]?.needs.total, 0, 'what is not known any more is not shown');
  },
);

t.test(
  'INS-4 · a long history is counted in short pieces, which take half of the time until all is counted',
  async (t) => {
    let ms = 0;
    t.intercept(performance, 'now', { value: () => ms });
    let total = 0;
    const limits = new Set<number | undefined>();
    const { overview, seen, watch, next } = stage(t, {
      events: {
        async count(_range, _profile, maxMs) {
          limits.add(maxMs);
          total += 1;
          ms += 400;
          return { all: { total, ...(total < 3 ? { counted_from: 'then' } : {}) } as never, routes: [] };
        },
        async countRoutes(_range, _profile, maxMs) {
          limits.add(maxMs);
          return { countedFromMs: 0, routes: [] };
        },
      },
    });
    watch();
    for (let piece = 1; piece <= 3; piece += 1) {
      const shown = next();
      if (piece > 1) ms += 150;
      await shown;
      t.equal(seen.at(-1)?.events.total, piece);
    }
    t.strictSame([...limits], [250]);
    await overview.read({ range: '1h' });
    t.strictSame([...limits], [250, undefined], 'what is asked once is counted for a second');
  },
);

t.test(
  'INS-4 · the work for an overview grows with its routes, and with those that have events or fail, not with a product',
  async (t) => {
    const size = 200;
    let reads = 0;
    const named = (key: string, index: number) =>
      Object.defineProperty({ profile: 'default' }, key, {
        enumerable: true,
        get() {
          reads += 1;
          return `r${index}`;
        },
      });
    const indexes = [...Array(size).keys()];
    const configured = indexes.map((index) => ({
      route: Object.assign(named('name', index), { enabled: true, sender: 'github' }),
    }));
    const counted = indexes.map((index) => Object.assign(named('route', index), { total: 1, counts: { failed: 1 } }));
    const inForce = { sources: { configured, subscriptions: new Map() }, home: { diagnostics: [] } };
    const { overview } = stage(t, {
      inForce: () => inForce,
      events: {
        count: async () => ({ all: { total: size } as never, routes: counted as never }),
        countRoutes: async () => ({ countedFromMs: 0, routes: counted as never }),
      },
    });
    t.match(await overview.read({ range: '1h' }), {
      open: { queued: 5, more_queued: true },
      needs: { total: size },
      routes: { total: size, rows: [{ name: 'r0', events: 1, health: 'failing' }] },
    });
    t.ok(reads <= 10 * size, `${reads} looks at the names of ${size} routes and counts`);
    t.notOk('more_queued' in (await overview.read({ range: '1h', profile: 'work' })).open, 'none of it on disk alone');
  },
);
