import t from 'tap';
import type { ApprovalRow } from '../../../runtime/control/contract/approvals.ts';
import { questionsEverywhere } from '../../../runtime/control/questions-elsewhere.ts';

t.test('SCA-3 · TRU-3 · a run that waits at another gateway waits here too, once it is known', async (t) => {
  const row: ApprovalRow = {
    id: 'a2',
    kind: 'tool',
    server: 'deployer',
    profile: 'default',
    tool: 'deploy',
    run: 'r2',
    message: 'may I',
    asked_at: '2026-01-01T00:00:00.000Z',
    expires_at: '2026-01-01T00:05:00.000Z',
    node: 'other',
  };
  let known: readonly ApprovalRow[] | Promise<undefined> = Promise.resolve(undefined);
  const own = { ofRun: () => [], runsThatWait: () => new Map([['r1', 'a1']]) };
  const questions = questionsEverywhere(own, () => ({ questionsOfOthers: () => known }));
  t.same([...questions.runsThatWait()], [['r1', 'a1']]);

  known = [row, { ...row, id: 'a3' }];

  t.same(
    [...questions.runsThatWait()],
    [
      ['r1', 'a1'],
      ['r2', 'a2'],
    ],
    'each with its oldest question',
  );
  t.match(questions.ofRun('r2')[0], { id: 'a2', tool: 'deploy', askedAtMs: Date.UTC(2026, 0), timeoutMs: 300_000 });
  t.same(questions.ofRun('r1'), []);
});
