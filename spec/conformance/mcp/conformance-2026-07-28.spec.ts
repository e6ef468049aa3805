import t from 'tap';
import { checkRevision } from './check-revision.ts';
import { runConformance } from './run-suite.ts';

t.test('ERA-1 · ERA-3 · the required scenarios of 2026-07-28 pass', (t) => checkRevision(t, '2026-07-28'));

t.test('a client that says nothing passes nothing', async (t) => {
  const [result] = await runConformance({
    revision: '2026-07-28',
    clientCommand: 'true',
    scenarios: ['http-standard-headers'],
    clientTimeoutMs: 30_000,
    atOnce: 1,
  });
  t.same(result?.succeeded, 0);
  t.not(result?.problems.length, 0);
});
