import t from 'tap';
import { createRunAgent } from '../../../actors/dispatch/run-agent.ts';
import type { Logger } from '../../../actors/ports.ts';
import type { EventRecord, RunRecord } from '../../../machines/webhook/record.ts';

const silent: Logger = { log: () => {}, warnOnce: () => {} };
const never = new AbortController().signal;

t.test('DIS-3 · DIS-4 · DIS-6 · a run gathers skill, prompt and note, and is bounded in time', async (t) => {
  // The time limit of a run does not keep a process alive by itself.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const event = { deliveryId: 'd', event: 'e', prompt: 'do', skills: ['none', 'review'] } as unknown as EventRecord;
  const prompts: string[] = [];
  const runAgent = createRunAgent({
    event: (key) => (key === 'e1' ? event : undefined),
    runnerOf: () => ({
      run: ({ prompt }, signal) => {
        prompts.push(prompt);
        if (prompts.length === 1) return Promise.resolve({ kind: 'responded', response: '' });
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ kind: 'failed', reason: 'stopped' })),
        );
      },
      timeoutMs: 20,
      skill: (name) => (name === 'review' ? 'Be kind.' : undefined),
    }),
    log: silent,
  });
  const record = { eventKey: 'e1', profile: 'default', route: 'r', superseded: 2, attempt: 1 } as unknown as RunRecord;
  t.same(await runAgent('k', record, never), { kind: 'responded', response: '' }, 'an empty response is a response');
  t.match(prompts, [/^Be kind\.\n\ndo\n\n\[Note: 2 earlier events/]);
  t.match(await runAgent('k', record, never), { kind: 'failed', reason: /longer than 0.02 s/ });
  t.match(await runAgent('k', { ...record, eventKey: 'gone' }, never), {
    kind: 'failed',
    reason: /not in the journal/,
  });
});
