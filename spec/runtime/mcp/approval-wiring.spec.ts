import t from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import type { ApprovalInput } from '../../../machines/mcp/approval.machine.ts';
import type { Approvals } from '../../../runtime/mcp/approvals.ts';
import { wireApproval } from '../../../runtime/mcp/approvals.ts';

const input: ApprovalInput = {
  id: 'a1',
  profile: 'work',
  server: 's',
  run: 'r1',
  kind: 'tool',
  tool: 'mcp__s__write',
  message: 'a message of the server',
  detail: { path: 'an argument' },
  timeoutMs: 1_000,
  askedAtMs: 0,
};
const fields = { server: 's', profile: 'work', run: 'r1', actor: 'approvals/a1' };

/** A question that is asked, and what its log and whoever asked hear. */
function ask(given: Partial<ApprovalInput> = {}) {
  const lines: unknown[] = [];
  const told: unknown[] = [];
  const clock = new SimulatedClock();
  const machine = wireApproval({
    approvals: () =>
      ({
        announced: ({ id }: { id: string }) => void told.push(id),
        settled: (_: string, { verdict }: { verdict: string }) => void told.push(verdict),
      }) as unknown as Approvals,
    log: { log: (...line) => void lines.push(line), warnOnce: () => {} },
  });
  const actor = createActor(machine, { input: { ...input, ...given }, clock }).start();
  return { lines, told, clock, send: actor.send };
}

t.test('OBS-1 · TRU-3 · the log keeps what was asked, and who let it run', (t) => {
  const yes = ask();
  yes.send({ type: 'approval.grant', by: 'page', values: null });
  t.same(yes.told, ['a1', 'approved']);
  t.same(yes.lines, [
    ['info', 'the call of mcp__s__write waits for a person', fields],
    ['info', 'the call of mcp__s__write was approved', { ...fields, by: 'page' }],
  ]);

  const no = ask({ kind: 'form', tool: '' });
  no.send({ type: 'approval.deny', by: 'cli' });
  t.match(no.lines[1], ['info', 'the form of mcp server "s" was denied', { by: 'cli' }]);

  const nobody = ask({ kind: 'form', tool: 'clarify' });
  nobody.clock.increment(1_000);
  t.match(nobody.lines[1], ['warn', 'the question of clarify was not answered in time', { by: undefined }]);

  const gone = ask();
  gone.send({ type: 'approval.withdraw' });
  t.same([gone.told, gone.lines.length], [['a1'], 1]);
  t.end();
});

t.test('OBS-1 · neither the words of a server nor what a person filled in are in a line', (t) => {
  const { lines, send } = ask({ kind: 'form', tool: '', detail: { title: 'a word of the form' } });
  send({ type: 'approval.grant', by: 'cli', values: { name: 'what was filled in' } });
  t.notMatch(JSON.stringify(lines), /message of the server|word of the form|filled in/);
  t.end();
});
