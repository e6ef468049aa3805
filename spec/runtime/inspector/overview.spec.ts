import t from 'tap';
import { createActor, createMachine } from 'xstate';
import type { ApprovalRow } from '../../../runtime/control/contract/approvals.ts';
import type { Overview } from '../../../runtime/control/contract/overview.ts';
import { createOverview, type OverviewPorts } from '../../../runtime/inspector/overview.ts';

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
    const daemon = {
      mcp: { list: () => [], approvals: () => [] },
      sendings: { targets: () => [] },
      status: () => ({ config: {}, webhook: {}, journal: 'ready' }),
    };
    const overview = createOverview({
      root: () => createActor(createMachine({})).start(),
      host: () => ({ daemon, nodes: { questionsOfOthers: () => known } }) as never,
      keeper: { journal: () => undefined, watch: () => () => {} },
      events: { count: async () => ({ all: { total: 0 } as never, routes: [] }), countRoutes: async () => [] },
      recent: { calls: { read: () => undefined }, deliveries: { read: () => undefined } } as never,
      load: () => ({ running: 0, waiting: 0 }),
      concurrency: () => 1,
      runsThatWait: () => new Map(),
      onStep: () => () => {},
      redact: (record) => record,
      nowMs: Date.now,
    } satisfies OverviewPorts);
    const seen: Overview[] = [];
    let heard = (): void => {};
    const next = () =>
      new Promise<void>((resolve) => {
        heard = resolve;
      });
    const first = next();
    const leave = overview.watch({ range: '1h' }, (one) => {
      seen.push(one);
      heard();
    });
    // The beats alone keep no process alive.
    const alive = setInterval(() => {}, 1_000);
    t.teardown(() => {
      leave();
      clearInterval(alive);
    });
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
