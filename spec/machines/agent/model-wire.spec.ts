import t from 'tap';
import {
  answerOf,
  emptyDraft,
  type Provider,
  type Question,
  readEvent,
  readWhole,
  requestBody,
} from '../../../machines/agent/model-wire.ts';

const read = (provider: Provider, events: readonly unknown[]) =>
  events.reduce<typeof emptyDraft>(
    (draft, event) => readEvent(provider, draft, typeof event === 'string' ? event : JSON.stringify(event)),
    emptyDraft,
  );
const delta = (given: unknown, finish: string | null = null) => ({
  choices: [{ delta: given, finish_reason: finish }],
});

const question: Question = {
  system: 'Be brief',
  turns: [
    { role: 'user', text: 'Go', picture: { mediaType: 'image/png', base64: 'AAAA' } },
    {
      role: 'assistant',
      text: ' ',
      calls: [
        { id: 'c1', name: 'look', argumentsText: '{"at":"x"}' },
        { id: 'c2', name: 'look', argumentsText: '{"at":' },
      ],
    },
    {
      role: 'tools',
      replies: [
        { id: 'c1', text: 'seen', isError: false },
        { id: 'c2', text: 'no JSON', isError: true },
      ],
    },
    { role: 'assistant', text: 'Done', calls: [] },
  ],
  tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }],
};

t.test('DIS-3 · CON-3 · a conversation is spelled as an OpenAI-compatible endpoint wants it', (t) => {
  t.same(requestBody({ provider: 'openai-compatible', name: 'usual' }, question), {
    model: 'usual',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Go' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: ' ',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } },
          { id: 'c2', type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'seen' },
      { role: 'tool', tool_call_id: 'c2', content: 'no JSON' },
      { role: 'assistant', content: 'Done' },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: { type: 'object' } } }],
  });
  t.equal('tools' in requestBody({ provider: 'openai-compatible', name: 'usual' }, { ...question, tools: [] }), false);
  t.end();
});

t.test('SRV-2 · CON-3 · an empty system text is left out, a temperature and a token limit are passed on', (t) => {
  for (const provider of ['openai-compatible', 'anthropic'] as const) {
    const asked = { system: '', turns: [{ role: 'user', text: 'Go' }], tools: [], temperature: 0.5 } as const;
    const body = requestBody({ provider, name: 'usual', maxTokens: 64 }, asked);
    t.match(body, { temperature: 0.5, max_tokens: 64, messages: [{ role: 'user' }] }, provider);
    t.notOk('system' in body || JSON.stringify(body).includes('"system"'), provider);
  }
  t.end();
});

t.test('DIS-3 · CON-3 · a conversation is spelled as Anthropic’s endpoint wants it', (t) => {
  t.same(requestBody({ provider: 'anthropic', name: 'usual' }, question), {
    model: 'usual',
    stream: true,
    max_tokens: 8192,
    system: 'Be brief',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'text', text: 'Go' },
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
          { type: 'tool_result', tool_use_id: 'c2', content: 'no JSON', is_error: true },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Done' }] },
    ],
    tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' } }],
  });
  t.end();
});

t.test('DIS-3 · OpenAI’s events become an answer: texts, calls by their index, the stop, the tokens', (t) => {
  const draft = read('openai-compatible', [
    delta({ role: 'assistant', content: 'Hel' }),
    delta({ content: 'lo' }),
    delta({ tool_calls: [{ index: 1, id: 'b', function: { name: 'two', arguments: '' } }] }),
    delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: '{"x"' } }] }),
    delta({ tool_calls: [{ index: 0, function: { name: 'one', arguments: ':1}' } }] }),
    delta({}, 'tool_calls'),
    { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } },
    '[DONE]',
  ]);
  t.equal(draft.ended, true);
  t.same(answerOf(draft), {
    text: 'Hello',
    calls: [
      { id: 'b', name: 'two', argumentsText: '{}' },
      { id: 'a', name: 'one', argumentsText: '{"x":1}' },
    ],
    stop: 'calls',
    tokens: { input: 7, output: 3 },
  });
  t.end();
});

t.test('DIS-3 · what endpoints get wrong is read as they mean it', (t) => {
  const whole = (id: string, args: unknown) =>
    delta({ tool_calls: [{ ...(id === '' ? {} : { id }), function: { name: 'one', arguments: args } }] });
  const same = answerOf(read('openai-compatible', [whole('a', '{}'), whole('a2', { x: 1 }), delta({}, 'stop')]));
  t.same(
    same?.calls.map(({ id, argumentsText }) => [id, argumentsText]),
    [
      ['a', '{}'],
      ['a2', '{"x":1}'],
    ],
  );
  const none = answerOf(read('openai-compatible', [whole('', '{}'), whole('', '{"x":1}'), delta({}, 'stop')]));
  t.same(
    none?.calls.map(({ id }) => id),
    ['call_0', 'call_1'],
  );
  const twice = readWhole('openai-compatible', {
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          content: null,
          tool_calls: [
            { id: 'a', function: { name: 'one', arguments: '{}' } },
            { id: 'call_1', function: { name: 'one', arguments: '{}' } },
          ],
        },
      },
    ],
  });
  t.same(
    answerOf(twice)?.calls.map(({ id }) => id),
    ['a', 'call_1'],
  );
  t.end();
});

t.test('DIS-3 · Anthropic’s events become an answer, with the tokens of the cache counted', (t) => {
  const draft = read('anthropic', [
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
    tokens: { input: 25, output: 9 },
  });
  t.end();
});

t.test('DIS-3 · rubbish in a stream is passed over, an error is told by its type alone', (t) => {
  for (const provider of ['openai-compatible', 'anthropic'] as const) {
    for (const rubbish of [
      '',
      'not JSON',
      '[]',
      'null',
      '7',
      '{}',
      '{"choices":[null]}',
      '{"choices":{},"usage":[]}',
    ]) {
      t.same(readEvent(provider, emptyDraft, rubbish), emptyDraft, `${provider} ${rubbish}`);
    }
    const fault = (error: unknown) => readEvent(provider, emptyDraft, JSON.stringify({ type: 'error', error })).fault;
    t.same(fault({ type: 'overloaded_error', message: 'sk-secret' }), { type: 'overloaded_error', passing: true });
    t.same(fault({ type: 'invalid_request_error' }), { type: 'invalid_request_error', passing: false });
    t.same(fault({ type: 'Says sk-secret' }), { type: 'error', passing: true });
    t.same(fault('what'), { type: 'error', passing: true });
  }
  t.equal(answerOf(emptyDraft), undefined);
  t.end();
});

t.test('DIS-3 · each reason to stop has one of four meanings', (t) => {
  const openAi = (reason: string) => answerOf(read('openai-compatible', [delta({}, reason)]))?.stop;
  t.same(['stop', 'tool_calls', 'length', 'content_filter', 'new one'].map(openAi), [
    'ended',
    'calls',
    'cut',
    'refused',
    'ended',
  ]);
  const anthropic = (reason: string) =>
    answerOf(read('anthropic', [{ type: 'message_delta', delta: { stop_reason: reason } }]))?.stop;
  t.same(['end_turn', 'tool_use', 'max_tokens', 'refusal', 'stop_sequence'].map(anthropic), [
    'ended',
    'calls',
    'cut',
    'refused',
    'ended',
  ]);
  t.end();
});
