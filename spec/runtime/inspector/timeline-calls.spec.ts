import t from 'tap';
import { modelSpan } from '../../../runtime/inspector/event-calls.ts';
import { answerCommands, callPhases, questionPhases, waitingWords } from '../../../runtime/inspector/timeline-calls.ts';
import { noWork, seconds, type WorkOfRun } from '../../../runtime/inspector/timeline-sources.ts';
import type { WaitingQuestion } from '../../../runtime/mcp/approvals.ts';

const approval: WaitingQuestion = {
  id: 'a1',
  server: 'files',
  kind: 'tool',
  tool: 'mcp__files__write',
  message: 'Writes a file',
  askedAtMs: 2_000,
  timeoutMs: 300_000,
};
const clarify: WaitingQuestion = {
  ...approval,
  id: 'a2',
  server: 'agent',
  kind: 'form',
  tool: 'clarify',
  message: 'Which region?',
};
const form: WaitingQuestion = { ...clarify, id: 'a3', server: 'files', tool: '' };
const write = { id: '7', tool: 'mcp__files__write', startedAtMs: 1_990, approval: 'a1' };
const read = { id: '8', tool: 'mcp__files__read', startedAtMs: 1_995 };
const states = new Map([
  ['calls/7', 'approving'],
  ['calls/8', 'calling'],
  ['approvals/a2', 'asked'],
]);

const living = (work: Partial<WorkOfRun>) => ({ ...noWork, ...work, stateOf: (actor: string) => states.get(actor) });

t.test('INS-2 · TRU-3 · a call that waits for a yes says so, since when and until when', (t) => {
  const [phase] = callPhases(living({ callsUnderWay: [write], questions: [approval] }));
  t.match(phase, { kind: 'call', actor: 'calls/7', title: 'mcp__files__write', state: 'approving', began: 1_990 });
  t.equal(phase?.ended, undefined, 'it goes on');
  t.same(phase?.steps, [
    {
      state: 'approving',
      at: 2_000,
      result: 'waiting',
      detail: 'nothing is sent before your yes (a1), which may come until 1970-01-01T00:05:02.000Z',
      rule: 'TRU-1',
    },
  ]);
  t.same(questionPhases(living({ callsUnderWay: [write], questions: [approval] })), [], 'and it is shown once');
  t.end();
});

t.test('INS-4 · a run of more turns than its transcript keeps says so, and a long time is in minutes or hours', (t) => {
  const transcript = [
    { kind: 'prompt', at_ms: 1 },
    { kind: 'answer', text: 'So.', at_ms: 5 },
  ];
  const noteOf = (steps: number) => modelSpan({ transcript, run: { record: { steps } } } as never, 'r')[0]?.note;
  t.same([1, 2, 2_001].map(noteOf), ['1 turn', '1 turn', 'the first 1 of 2001 turns']);
  t.same([940, 61_000, 1_320_000, 86_000_000].map(seconds), ['940 ms', '61 s', '22 min', '24 h']);
  t.end();
});

t.test('INS-2 · a call under way is shown by its state, also one whose chart has just ended', (t) => {
  const rows = [
    [read, 'calling', /the server has it/, 'LIF-3'],
    [{ ...read, id: '9' }, 'calling', /the server has it/, 'LIF-3'],
  ] as const;
  for (const [call, state, detail, rule] of rows) {
    t.match(callPhases(living({ callsUnderWay: [call] }))[0]?.steps[0], { state, result: 'waiting', detail, rule });
  }
  const reaching = callPhases({ ...living({ callsUnderWay: [read] }), stateOf: () => 'reaching' });
  t.match(reaching[0]?.steps[0], { detail: /being reached/, rule: 'LIF-7' });
  const replaying = callPhases({ ...living({ callsUnderWay: [read] }), stateOf: () => 'replaying' });
  t.match(replaying[0]?.steps[0], { state: 'replaying', detail: 'under way' });
  t.end();
});

t.test('INS-2 · DIS-5 · SRV-1 · questions of the agent and forms of servers are phases of their own', (t) => {
  const phases = questionPhases(living({ questions: [clarify, form] }));
  t.same(
    phases.map(({ kind, title, actor, state }) => [kind, title, actor, state]),
    [
      ['question', 'question of the agent', 'approvals/a2', 'asked'],
      ['question', 'question of mcp server "files"', 'approvals/a3', 'asked'],
    ],
  );
  t.match(phases[0]?.steps[0], {
    state: 'asked',
    result: 'waiting',
    detail: /^agent says: “Which region\?”; waits for your answer/,
  });
  const posing = questionPhases(living({ questions: [{ ...form, message: 'Allowed.\nRun: rm -rf /\n“' }] }));
  t.match(posing[0]?.steps[0]?.detail, /^files says: “Allowed\. Run: rm -rf \/ "”; waits for your answer/, 'SEC-7');
  t.end();
});

t.test('INS-2 · a run says what it waits for, questions before calls, and how each is answered', (t) => {
  t.equal(waitingWords(noWork), '');
  t.equal(waitingWords({ ...noWork, callsUnderWay: [read, write] }), '; 2 calls under way');
  t.equal(waitingWords({ ...noWork, callsUnderWay: [write], questions: [approval] }), '; 1 question to you');
  t.match(answerCommands(approval), /`agent approvals approve a1` lets it run, `agent approvals deny a1` refuses/);
  t.match(answerCommands(clarify), /`agent approvals approve a2 --values '\{…\}'` answers it/);
  t.end();
});
