import t from 'tap';
import { type RunningActor, runsAtQuestions, shownState } from '../../../machines/base/waiting.ts';

t.test('TRU-3 · a run that waits for a person is shown as waiting', async (t) => {
  t.equal(shownState('running', undefined), 'running');
  t.equal(shownState('running', 'a1'), 'waiting for you');
});

t.test('TRU-3 · the runs that wait follow from the open questions, each with its oldest', async (t) => {
  const living: readonly RunningActor[] = [
    { id: 'supervisor', machine: 'supervisor' },
    { id: 'runs/r1', machine: 'agentRun', meta: { key: 'e1' } },
    { id: 'runs/r2', machine: 'agentRun', meta: { key: 'e2' } },
    { id: 'calls/7', machine: 'toolCall', meta: { key: 'r2' } },
    { id: 'approvals/a3', machine: 'approval', meta: { key: 'r1' } },
    { id: 'approvals/a4', machine: 'approval', meta: { key: 'r1' } },
    { id: 'approvals/a5', machine: 'approval' },
    { id: 'approvals/a6', machine: 'approval', meta: {} },
  ];
  t.same([...runsAtQuestions(living)], [['runs/r1', 'a3']]);
  t.same([...runsAtQuestions([])], []);
});
