import t from 'tap';
import type { EventObject } from 'xstate';
import { getSimplePaths } from 'xstate/graph';
import { type ApprovalInput, approvalMachine } from '../../machines/mcp/approval.machine.ts';

const input: ApprovalInput = {
  id: 'a1',
  profile: 'default',
  server: 's',
  kind: 'tool',
  tool: 'mcp__s__t',
  message: 'Writes',
  detail: {},
  timeoutMs: 300_000,
  askedAtMs: 0,
};
const events: readonly EventObject[] = [
  { type: 'approval.grant', by: 'cli', values: { name: 'Ada' } } as EventObject,
  { type: 'approval.deny', by: 'page' } as EventObject,
  { type: 'approval.withdraw' },
  { type: 'xstate.after.patience.approval.asked' },
];

t.test('TRU-3 · every state is reached, and the first answer stands', (t) => {
  const paths = getSimplePaths(approvalMachine, { input, events } as never);
  t.same(new Set(paths.map(({ state }) => state.value)), new Set(Object.keys(approvalMachine.config.states ?? {})));
  for (const { state, steps } of paths) t.ok(steps.length <= 2, `one event settles ${String(state.value)}`);
  t.end();
});

t.test('TRU-1 · TRU-3 · only a grant approves, and it says by whom', (t) => {
  for (const { state } of getSimplePaths(approvalMachine, { input, events } as never)) {
    const { granted, by, values } = state.context;
    t.equal(granted, state.value === 'approved', String(state.value));
    t.equal(by, state.value === 'approved' ? 'cli' : state.value === 'denied' ? 'page' : null, String(state.value));
    t.same(values, state.value === 'approved' ? { name: 'Ada' } : null, String(state.value));
  }
  t.end();
});
