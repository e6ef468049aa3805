import t, { type Test } from 'tap';
import { type LoopOutcome, type RunTools, runModelLoop } from '../../../actors/agent/model-loop.ts';
import { noTokens, type Turn } from '../../../machines/agent/model-talk.ts';
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
    { model, system: 'Be brief', turns, tools, report: (entry) => void told.push(entry) },
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

t.test('CLI-4 · DIS-3 · the conversation grows by what was said and called, and is streamed as it comes', async (t) => {
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

t.test('CLI-4 · an answer that breaks off is reported, and leaves nothing half in the conversation', async (t) => {
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
    call: () =>
      Promise.resolve({ text: 'x'.repeat(100_001), isError: false, tokens: { ...noTokens, input: 100, output: 50 } }),
  });
  const [, , tools] = turns;
  t.match(tools?.role === 'tools' && tools.replies[0]?.text, /x{100000}\n\[1 characters left out\]$/);
  t.match(outcome.spending, { inputTokens: 120, outputTokens: 60 });
});

t.test('DIS-3 · a name that no endpoint accepts is corrected by the model, not refused by the endpoint', async (t) => {
  const names = ['functions.look', '', 'look at this', 'x'.repeat(65)];
  const { outcome, turns } = await loop(t, [
    { kind: 'says', calls: names.map((name, index) => ({ id: `c${index}`, name, args: '{}' })) },
    { kind: 'says', text: 'Done.' },
  ]);
  t.match(outcome, { kind: 'responded', response: 'Done.' });
  const [, asked, replied] = turns;
  if (asked?.role !== 'assistant' || replied?.role !== 'tools') return t.fail('no exchange');
  for (const { name } of asked.calls) t.match(name, /^[a-zA-Z0-9_-]{1,64}$/);
  t.match(replied.replies[0], { id: 'c0', text: 'no tool is named "functions.look"', isError: true });
});

t.test(
  'DIS-3 · the reasoning of an exchange with calls goes back to the endpoint, that of another one does not',
  async (t) => {
    const chunk = (delta: object, finish: string | null): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    const raw = (...chunks: readonly string[]): ModelReply => ({
      kind: 'raw',
      type: 'text/event-stream',
      body: [...chunks, 'data: [DONE]\n\n'].join(''),
    });
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } };
    const done = raw(chunk({ reasoning_content: 'Seen.' }, null), chunk({ content: 'Done.' }, 'stop'));
    const { turns } = await loop(t, [raw(chunk({ reasoning_content: 'Hm.', tool_calls: [call] }, 'tool_calls')), done]);
    t.match(turns, [{ role: 'user' }, { reasoning: 'Hm.' }, { role: 'tools' }, { text: 'Done.', reasoning: 'Seen.' }]);
    t.equal('reasoning' in ((await loop(t, [done])).turns[1] ?? {}), false);
  },
);
