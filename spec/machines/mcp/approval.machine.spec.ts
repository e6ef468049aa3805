import t from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import { type ApprovalContext, approvalMachine } from '../../../machines/mcp/approval.machine.ts';

function question() {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const machine = approvalMachine.provide({
    actions: {
      announce: () => void told.push('announce'),
      reportAnswer: ({ context }) => void told.push(`answer by ${context.by}`),
    },
  });
  const actor = createActor(compile(machine), {
    clock,
    input: {
      id: 'a1',
      profile: 'default',
      server: 's',
      kind: 'tool',
      tool: 'mcp__s__t',
      message: '',
      detail: {},
      timeoutMs: 300_000,
      askedAtMs: 0,
    },
  });
  actor.start();
  const seen = () => actor.getSnapshot() as unknown as { value: string; context: ApprovalContext };
  return { clock, told, actor, seen };
}

t.test('TRU-3 · a question is announced once and ends when its time is over', (t) => {
  const { clock, told, seen } = question();
  clock.increment(299_999);
  t.equal(seen().value, 'asked');
  clock.increment(1);
  t.equal(seen().value, 'timedOut');
  t.same(told, ['announce', 'answer by null']);
  t.end();
});

t.test('TRU-1 · the first answer stands: no second word and no clock changes it', (t) => {
  const { clock, told, actor, seen } = question();
  clock.increment(299_999);
  actor.send({ type: 'approval.deny', by: 'page' });
  actor.send({ type: 'approval.grant', by: 'cli', values: null });
  clock.increment(1_000_000);
  t.equal(seen().value, 'denied');
  t.equal(seen().context.granted, false);
  t.same(told, ['announce', 'answer by page']);
  t.end();
});

t.test('TRU-3 · a question that is withdrawn answers no call', (t) => {
  const { clock, told, actor, seen } = question();
  actor.send({ type: 'approval.withdraw' });
  clock.increment(300_000);
  t.equal(seen().value, 'withdrawn');
  t.same(told, ['announce']);
  t.end();
});
