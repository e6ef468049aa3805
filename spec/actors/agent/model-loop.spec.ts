import t, { type Test } from 'tap';
import { type LoopOutcome, type RunTools, runModelLoop } from '../../../actors/agent/model-loop.ts';
import type { Turn } from '../../../machines/agent/model-talk.ts';
import type { TranscriptEntry } from '../../../machines/agent/transcript.ts';
import { type ModelReply, startModelServer } from '../../support/model-server.ts';

const look = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } };
const seen: RunTools = { offers: [look], call: () => Promise.resolve({ text: 'seen', isError: false }) };

interface Looped {
  readonly outcome: LoopOutcome;
  readonly turns: readonly Turn[];
  readonly told: readonly TranscriptEntry[];
  readonly heard: string;
}

async function loop(t: Test, script: readonly ModelReply[], tools = seen): Promise<Looped> {
  const server = await startModelServer(t, script);
  const turns: Turn[] = [{ role: 'user', text: 'Go' }];
  const told: TranscriptEntry[] = [];
  let heard = '';
  const model = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 3 } as const;
  const outcome = await runModelLoop(
    { model, system: 'Be brief', turns, tools, tell: (entry) => void told.push(entry) },
    {
      nowMs: () => 0,
      random: () => 0,
      wait: () => Promise.resolve(),
      onText: (piece) => {
        heard += piece;
      },
    },
    new AbortController().signal,
  );
  return { outcome, turns, told, heard };
}

const asks: ModelReply = { kind: 'says', text: 'I look. ', calls: [{ name: 'look', args: '{}' }] };

t.test('CLI-4 · DIS-3 · the conversation grows by what was said and called, and is told as it comes', async (t) => {
  const { outcome, turns, told, heard } = await loop(t, [asks, { kind: 'says', text: 'Done.' }]);
  t.match(outcome, { kind: 'responded', response: 'Done.', spending: { steps: 2 } });
  t.match(turns, [
    { role: 'user' },
    { role: 'assistant', text: 'I look. ', calls: [{ name: 'look' }] },
    { role: 'tools', replies: [{ text: 'seen' }] },
    { role: 'assistant', text: 'Done.', calls: [] },
  ]);
  t.same(
    told.map(({ kind }) => kind),
    ['answer', 'call', 'result', 'answer'],
  );
  t.equal(heard, 'I look. Done.');
});

t.test('CLI-4 · an answer that breaks off is told, and leaves nothing half in the conversation', async (t) => {
  const { outcome, turns, told } = await loop(t, [
    { kind: 'half', text: 'Half an' },
    { kind: 'says', text: 'Whole.' },
  ]);
  t.match(outcome, { kind: 'responded', response: 'Whole.' });
  t.match(told, [{ kind: 'again', text: /was incomplete/ }, { kind: 'answer' }]);
  t.equal(turns.length, 2);

  const refused = await loop(t, [asks, { kind: 'status', status: 401 }]);
  t.match(refused.outcome, { kind: 'failed', reason: /HTTP 401/ });
  t.same(
    refused.turns.map(({ role }) => role),
    ['user', 'assistant', 'tools'],
    'a conversation that failed can be gone on with',
  );
  const silent = await loop(t, [{ kind: 'says', text: '  ' }]);
  t.equal(silent.turns.length, 1, 'a blank answer is no turn');
});

t.test('DIS-3 · what a tool adds to the conversation is bounded, and what it cost is counted', async (t) => {
  const { outcome, turns } = await loop(t, [asks, { kind: 'says', text: 'Done.' }], {
    offers: [look],
    call: () => Promise.resolve({ text: 'x'.repeat(100_001), isError: false, tokens: { input: 100, output: 50 } }),
  });
  const [, , tools] = turns;
  t.match(tools?.role === 'tools' && tools.replies[0]?.text, /x{100000}\n\[1 characters left out\]$/);
  t.match(outcome.spending, { inputTokens: 120, outputTokens: 60 });
});
