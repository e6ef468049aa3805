import t from 'tap';
import { answerOf, emptyDraft } from '../../../machines/agent/model-draft.ts';
import type { ModelQuestion } from '../../../machines/agent/model-talk.ts';
import { readEvent, readWhole, requestBody } from '../../../machines/agent/model-wire.ts';
import { question } from '../../support/model-question.ts';

const read = (events: readonly object[]) => {
  const draft = emptyDraft();
  for (const event of events) readEvent('anthropic', draft, JSON.stringify(event));
  return draft;
};

const mark = { cache_control: { type: 'ephemeral' } };

t.test('DIS-3 · CON-3 · a conversation is written as Anthropic’s endpoint wants it', (t) => {
  t.same(requestBody({ provider: 'anthropic', name: 'usual' }, question), {
    model: 'usual',
    stream: true,
    max_tokens: 8192,
    system: [{ type: 'text', text: 'Be brief', ...mark }],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'text', text: 'Go', ...mark },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'x' } },
          { type: 'tool_use', id: 'c2', name: 'look', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'seen' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'no JSON', is_error: true, ...mark },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Done' }] },
    ],
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
  });
  t.end();
});

t.test('DIS-3 · each request marks where its prefix ends and where that of the request before did', (t) => {
  const [asked, called, seen] = question.turns;
  if (asked === undefined || called === undefined || seen === undefined) throw new Error('the conversation is shorter');
  const marksOf = (turns: ModelQuestion['turns'], more: Partial<ModelQuestion> = {}) =>
    JSON.stringify(requestBody({ provider: 'anthropic', name: 'usual' }, { ...question, turns, ...more }))
      .split('{"role"')
      .map((message) => message.split('cache_control').length - 1);
  t.same(marksOf([asked]), [1, 1], 'the system and, with it, the tools');
  t.same(marksOf([asked, called, seen]), [1, 1, 0, 1]);
  t.same(marksOf([asked, called, seen, called, seen]), [1, 0, 0, 1, 0, 1], 'of each step');
  t.same(marksOf([asked], { tools: [] }), [0, 0], 'what no other request follows');
  t.same(marksOf([asked, called, seen], { isUncached: true }), [0, 0, 0, 0]);
  const silent = { role: 'tools', replies: ['seen', ''].map((text) => ({ id: text, text, isError: false })) } as const;
  const { messages } = requestBody({ provider: 'anthropic', name: 'usual' }, { ...question, turns: [asked, silent] });
  t.match(messages, [{}, { content: [mark, { content: '', cache_control: undefined }] }], 'no mark at an empty text');
  const blank = requestBody(
    { provider: 'anthropic', name: 'usual' },
    { ...question, system: ' ', turns: [{ role: 'user', text: '\n' }] },
  );
  t.match(blank, { system: ' ', messages: [{ role: 'user', content: '\n' }] });
  t.end();
});

t.test('DIS-3 · an answer of Anthropic’s own endpoint has room for what its models think', (t) => {
  const limit = (baseUrl: string, own: { readonly maxTokens?: number } = {}) =>
    requestBody({ provider: 'anthropic', name: 'usual', baseUrl, ...own }, question).max_tokens;
  t.equal(limit('https://api.anthropic.com'), 32_000);
  t.equal(limit('https://api.anthropic.com/v1'), 32_000);
  t.equal(limit('https://api.anthropic.com.example.org'), 8_192);
  t.equal(limit('http://127.0.0.1:8000'), 8_192, 'another endpoint may allow less');
  t.equal(limit('https://api.anthropic.com', { maxTokens: 500 }), 500);
  t.end();
});

t.test('DIS-3 · Anthropic’s events become an answer, with the tokens of the cache counted', (t) => {
  const draft = read([
    { type: 'message_start', message: { usage: { input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'He' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'llo' } },
    { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't', name: 'one', input: {} } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"x"' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ':1}' } },
    { type: 'content_block_delta', index: 9, delta: { type: 'input_json_delta', partial_json: 'stray' } },
    { type: 'ping' },
    { type: 'of the future' },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]);
  t.equal(draft.ended, true);
  t.same(answerOf(draft), {
    text: 'Hello',
    calls: [{ id: 't', name: 'one', argumentsText: '{"x":1}' }],
    stop: 'calls',
    tokens: { input: 25, cached: 20, written: 0, output: 9 },
    reasoning: [{ type: 'thinking', thinking: 'hm' }],
  });
  t.end();
});

t.test('DIS-3 · what was thought before a call goes back with it, signed', (t) => {
  const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
  const delta = (index: number, given: object) => ({ type: 'content_block_delta', index, delta: given });
  const draft = read([
    delta(0, { type: 'thinking_delta', thinking: 'stray' }),
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'I should ' }),
    delta(0, { type: 'thinking_delta', thinking: 'look.' }),
    delta(0, { type: 'signature_delta', signature: 'c2ln' }),
    start(1, { type: 'redacted_thinking', data: 'eA==' }),
    start(2, { type: 'tool_use', id: 't', name: 'look', input: {} }),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
  ]);
  const { text = '', calls = [], reasoning = null } = answerOf(draft) ?? {};
  const thoughts = [
    { type: 'thinking', thinking: 'I should look.', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'eA==' },
  ];
  t.equal(text, '');
  t.same(reasoning, thoughts);
  const turns = [{ role: 'assistant', text, calls, reasoning }] as const;
  t.match(requestBody({ provider: 'anthropic', name: 'usual' }, { system: '', tools: [], turns }).messages, [
    { role: 'assistant', content: [...thoughts, { type: 'tool_use', id: 't', name: 'look', input: {} }] },
  ]);
  const whole = emptyDraft();
  readWhole('anthropic', whole, { content: [...thoughts, { type: 'text', text: 'Hi' }], stop_reason: 'end_turn' });
  t.match(answerOf(whole), { text: 'Hi', reasoning: thoughts });
  t.end();
});

t.test('DIS-3 · a thought goes back behind what was said and asked before it', (t) => {
  const thought = (data: string) => ({ type: 'redacted_thinking', data });
  const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { at: id } });
  const said = (text: string) => ({ type: 'text', text });
  const first = [thought('a'), said('First this.'), thought('b'), use('x')];
  const content = [...first, thought('c'), said(' Then that.'), use('y')];
  const whole = emptyDraft();
  readWhole('anthropic', whole, { content, stop_reason: 'tool_use' });
  const streamed = read([
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: 'input' in block ? { ...block, input: {} } : block },
      'input' in block
        ? {
            type: 'content_block_delta',
            index,
            delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
          }
        : { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
  ]);
  for (const draft of [whole, streamed]) {
    const { text = '', calls = [], reasoning = null } = answerOf(draft) ?? {};
    t.equal(text, 'First this. Then that.');
    const turns = [{ role: 'assistant', text, calls, reasoning }] as const;
    t.same(requestBody({ provider: 'anthropic', name: 'usual' }, { system: '', tools: [], turns }).messages, [
      { role: 'assistant', content },
    ]);
  }
  t.end();
});

t.test('DIS-3 · each of its reasons to stop has one of four meanings', (t) => {
  const stop = (reason: string) => answerOf(read([{ type: 'message_delta', delta: { stop_reason: reason } }]))?.stop;
  t.same(['end_turn', 'tool_use', 'max_tokens', 'refusal', 'stop_sequence'].map(stop), [
    'ended',
    'calls',
    'cut',
    'refused',
    'ended',
  ]);
  t.end();
});
