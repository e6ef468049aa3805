import t, { type Test } from 'tap';
import type { Turn } from '../../../machines/agent/model-talk.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { runChatTurn } from '../../../runtime/agent/chat-turn.ts';
import type { LiveChat } from '../../../runtime/agent/chats.ts';
import { type ModelReply, startModelServer } from '../../support/model-server.ts';

const refusal = { error: { message: "This model's maximum context length is 8192 tokens." } };
const tooLong: ModelReply = { kind: 'status', status: 400, body: JSON.stringify(refusal) };
/** As LM Studio says it, in the answer. */
const tooLongInAnswer: ModelReply = {
  kind: 'raw',
  type: 'text/event-stream',
  body: `event: error\ndata: ${JSON.stringify({ error: { message: 'loaded with context length of only 4096' } })}\n\n`,
};
const exchange = (name: string): readonly Turn[] => [
  { role: 'user', text: name },
  { role: 'assistant', text: `${name}!`, calls: [] },
];

/** A turn of a chat with some exchanges, whose model takes so many messages. */
async function turn(t: Test, max: number, { refused = tooLong, text = 'Hi.' } = {}) {
  const server = await startModelServer(t, ({ body }) =>
    (body.messages as readonly unknown[]).length > max ? refused : { kind: 'says', text },
  );
  const events: JsonObject[] = [];
  const chat: LiveChat = {
    profile: 'default',
    turns: [...['a', 'b', 'c'].flatMap(exchange), { role: 'user', text: 'now' }],
    report: (event) => void events.push(event),
    turn: 1,
    outcome: undefined,
    underWay: undefined,
    settle: undefined,
  };
  const model = { provider: 'openai-compatible', baseUrl: server.url, name: 'small', maxSteps: 5 } as const;
  const ports = {
    registry: () => undefined,
    calls: { start: () => Promise.reject(new Error('no call is made')) },
    approvals: { ask: () => '', withdraw: () => {} },
    redact: (text: string) => text,
    nowMs: () => 0,
    random: () => 0,
    log: { log: () => {}, warnOnce: () => {} },
  };
  const outcome = await runChatTurn(chat, { model } as never, ports as never, new AbortController().signal);
  return { outcome, chat, events, server };
}

t.test('CLI-4 · a conversation that is too long for its model goes on with its newer part', async (t) => {
  for (const refused of [tooLong, tooLongInAnswer]) {
    const { outcome, chat, events } = await turn(t, 4, { refused });
    t.match(outcome, { kind: 'answered', text: 'Hi.' });
    t.same(
      chat.turns.map((one) => one.role !== 'tools' && one.text),
      ['c', 'c!', 'now', 'Hi.'],
    );
    t.match(events, [{ kind: 'again', text: /too long for the model/ }, { kind: 'text' }]);
  }
});

t.test('CLI-4 · what is too long alone fails with the reason of the endpoint', async (t) => {
  const { outcome, chat, server } = await turn(t, 1);
  t.match(outcome, { kind: 'failed', reason: /maximum context length/ });
  t.same(chat.turns, [{ role: 'user', text: 'now' }]);
  t.equal(server.asked.length, 3);
});

t.test('CLI-4 · DIS-3 · what the model thinks in its text is not shown, unless it never stops thinking', async (t) => {
  for (const [text, shown] of [
    ['<think>The user says hi. </think>\n\nHi there.', 'Hi there.'],
    ['<think>The user says hi. ', '<think>The user says hi. '],
  ] as const) {
    const { outcome, events } = await turn(t, 9, { text });
    t.match(outcome, { kind: 'answered', text: shown });
    t.equal(events.map((event) => String(event.text)).join(''), shown);
  }
});
