import t from 'tap';
import { answerOf, emptyDraft } from '../../../machines/agent/model-draft.ts';
import type { ModelQuestion } from '../../../machines/agent/model-talk.ts';
import { readEvent, readWhole, requestBody } from '../../../machines/agent/model-wire.ts';
import { question } from '../../support/model-question.ts';

const read = (events: readonly (object | '[DONE]')[]) => {
  const draft = emptyDraft();
  for (const event of events) {
    readEvent('openai-compatible', draft, event === '[DONE]' ? event : JSON.stringify(event));
  }
  return draft;
};
const delta = (given: unknown, finish: string | null = null) => ({
  choices: [{ delta: given, finish_reason: finish }],
});

t.test('DIS-3 · CON-3 · a conversation is written as an OpenAI-compatible endpoint wants it', (t) => {
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

t.test('DIS-3 · Claude behind OpenRouter is asked with cache marks, no other model', (t) => {
  const asked = (baseUrl: string, name: string, { turns }: Pick<ModelQuestion, 'turns'> = question) =>
    requestBody({ provider: 'openai-compatible', name, baseUrl }, { ...question, turns }).messages;
  const mark = { cache_control: { type: 'ephemeral' } };
  t.match(asked('https://openrouter.ai/api/v1', 'anthropic/claude-sonnet-5'), [
    { role: 'system', content: [{ type: 'text', text: 'Be brief', ...mark }] },
    { role: 'user', content: [{ type: 'text' }, { type: 'image_url', ...mark }] },
    { role: 'assistant', content: ' ' },
    { role: 'tool', tool_call_id: 'c1', content: 'seen' },
    { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'no JSON', ...mark }] },
    { role: 'assistant', content: 'Done' },
  ]);
  const silent = { turns: [{ role: 'tools', replies: [{ id: 'c1', text: '', isError: false }] }] } as const;
  t.match(asked('https://openrouter.ai/api/v1', 'anthropic/claude-sonnet-5', silent), [{}, { content: '' }]);
  for (const [base, name] of [
    ['https://openrouter.ai/api/v1', 'openai/gpt-5.6'],
    ['https://openrouter.ai.example.org/v1', 'claude'],
    ['http://127.0.0.1:8000', 'claude'],
  ] as const)
    t.notMatch(JSON.stringify(asked(base, name)), /cache_control/, `${name} at ${base}`);
  t.end();
});

t.test('DIS-3 · OpenAI’s events become an answer: texts, calls by their index, the stop, the tokens', (t) => {
  const draft = read([
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
    tokens: { input: 7, cached: 0, written: 0, output: 3 },
  });
  t.end();
});

t.test('DIS-3 · what endpoints get wrong is read as they mean it', (t) => {
  const whole = (id: string, args: unknown) =>
    delta({ tool_calls: [{ ...(id === '' ? {} : { id }), function: { name: 'one', arguments: args } }] });
  const same = answerOf(read([whole('a', '{}'), whole('a2', { x: 1 }), delta({}, 'stop')]));
  t.same(
    same?.calls.map(({ id, argumentsText }) => [id, argumentsText]),
    [
      ['a', '{}'],
      ['a2', '{"x":1}'],
    ],
  );
  const none = answerOf(read([whole('', '{}'), whole('', '{"x":1}'), delta({}, 'stop')]));
  t.same(
    none?.calls.map(({ id }) => id),
    ['call_0', 'call_1'],
  );
  const twice = emptyDraft();
  readWhole('openai-compatible', twice, {
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
  const alike = emptyDraft();
  const one = (args: string) => ({ id: 'a', function: { name: 'one', arguments: args } });
  const message = { tool_calls: [one('{"x":1}'), one('{"x":2}')] };
  readWhole('openai-compatible', alike, { choices: [{ finish_reason: 'tool_calls', message }] });
  t.same(answerOf(alike)?.calls, [
    { id: 'a', name: 'one', argumentsText: '{"x":1}' },
    { id: 'call_1', name: 'one', argumentsText: '{"x":2}' },
  ]);
  t.end();
});

t.test('DIS-3 · calls that share an index are distinguished by their ids', (t) => {
  const part = (id: string, name: string, args: string, extra: object = {}) => ({
    index: 0,
    ...{ id, function: { name, arguments: args }, ...extra },
  });
  const signed = (text: string) => ({ extra_content: { google: { thought_signature: text } } });
  const draft = read([
    delta({ tool_calls: [part('a', 'one', '{"x":1}', signed('s')), part('b', 'one', '{"x":2}')] }),
    delta({ tool_calls: [part('c', 'two', '{"y"', signed('t'))] }),
    delta({ tool_calls: [part('null', '', ':3')] }),
    delta({ tool_calls: [part('c', 'two', '}')] }),
    delta({ tool_calls: [{ index: 1, id: 'd', function: { name: 'one', arguments: '' } }] }),
    delta({}, 'tool_calls'),
  ]);
  t.same(answerOf(draft)?.calls, [
    { id: 'a', name: 'one', argumentsText: '{"x":1}', extra: signed('s').extra_content },
    { id: 'b', name: 'one', argumentsText: '{"x":2}' },
    { id: 'c', name: 'two', argumentsText: '{"y":3}', extra: signed('t').extra_content },
    { id: 'd', name: 'one', argumentsText: '{}' },
  ]);
  t.end();
});

t.test('DIS-3 · calls that share an index and have no id are apart where one is complete', (t) => {
  const part = (args: string, name = 'one', index = 0) => ({ index, id: '', function: { name, arguments: args } });
  const draft = read([
    delta({ tool_calls: [part('{"x":1}'), part('{"y":2}', 'two')] }),
    delta({ tool_calls: [part('{"x":{}', 'one', 2)] }),
    // The name is repeated in the parts of one call.
    delta({ tool_calls: [part(',"z":', 'one', 2)] }),
    delta({ tool_calls: [part('{}', 'one', 2)] }),
    delta({ tool_calls: [part('}', 'one', 2)] }),
    delta({ tool_calls: [{ index: 1, function: { name: 'one', arguments: '{"x":' } }] }),
    delta({ tool_calls: [{ index: 1, function: { arguments: '{}' } }] }),
    delta({ tool_calls: [{ index: 1, function: { arguments: '}' } }] }),
    delta({}, 'tool_calls'),
  ]);
  t.same(
    answerOf(draft)?.calls.map(({ name, argumentsText }) => [name, argumentsText]),
    [
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
      ['one', '{"x":{},"z":{}}'],
      ['one', '{"x":{}}'],
    ],
  );
  t.end();
});

t.test('DIS-3 · a stream that ends without a reason to stop is whole, an empty one is none', (t) => {
  t.match(answerOf(read([delta({ content: 'Hello' }), '[DONE]'])), { text: 'Hello', stop: 'ended' });
  const call = { tool_calls: [{ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }] };
  t.match(answerOf(read([delta(call), '[DONE]'])), { stop: 'calls' });
  t.match(answerOf(read([delta({ content: 'Hel' }, 'length'), '[DONE]'])), { stop: 'cut' });
  t.equal(answerOf(read(['[DONE]'])), undefined);
  t.equal(answerOf(read([delta({ content: 'Hel' })])), undefined, 'one that breaks off is not');
  t.end();
});

t.test('DIS-3 · CON-3 · the longest answer is named as the endpoint knows it', (t) => {
  const named = (baseUrl: string): string[] =>
    Object.keys(requestBody({ provider: 'openai-compatible', name: 'usual', maxTokens: 9, baseUrl }, question)).filter(
      (key) => key.startsWith('max_'),
    );
  t.same(named('https://api.openai.com/v1'), ['max_completion_tokens']);
  t.same(named('https://mine.openai.azure.com/openai/v1'), ['max_completion_tokens']);
  t.same(named('http://127.0.0.1:11434/v1'), ['max_tokens']);
  t.same(named('https://api.openai.com.example.org/v1'), ['max_tokens']);
  t.end();
});

t.test('DIS-3 · each of its reasons to stop has one of four meanings', (t) => {
  const stop = (reason: string) => answerOf(read([delta({}, reason)]))?.stop;
  const rows = {
    ended: ['stop', 'STOP', 'eos', 'new one', 'unsafety', 'safety_off'],
    calls: ['tool_calls', 'function_call'],
    cut: ['length', 'model_length', 'MAX_TOKENS'],
    refused: [
      'content_filter',
      'content_filter: OTHER',
      'SAFETY',
      'recitation',
      'blocklist',
      'prohibited_content',
      'spii',
    ],
  };
  for (const [meaning, reasons] of Object.entries(rows))
    for (const reason of reasons) t.equal(stop(reason), meaning, reason);
  t.end();
});

t.test('DIS-3 · an answer that ends with an error is no answer, and is asked for again', (t) => {
  for (const [reason, type] of [
    ['error', 'error'],
    ['insufficient_system_resource', 'insufficient_system_resource'],
    ['function_call_filter: MALFORMED_FUNCTION_CALL', 'malformed_function_call'],
    ['function_call_filter: UNEXPECTED_TOOL_CALL', 'unexpected_tool_call'],
    ['MALFORMED_RESPONSE', 'malformed_response'],
  ] as const) {
    const draft = read([delta({ content: 'Half' }), delta({}, reason), '[DONE]']);
    t.same(draft.fault, { kind: 'error', type, retryable: true }, reason);
  }
  t.equal(read([delta({}, 'an error')]).fault, null);
  t.end();
});

t.test('DIS-3 · a refusal in its own field is a refusal, whatever the reason to stop', (t) => {
  const refused = read([delta({ refusal: 'I cannot ' }), delta({ refusal: 'help.' }), delta({}, 'stop'), '[DONE]']);
  t.match(answerOf(refused), { stop: 'refused', text: '' });
  const whole = emptyDraft();
  const message = { role: 'assistant', content: null, refusal: 'I cannot help.' };
  readWhole('openai-compatible', whole, { choices: [{ finish_reason: 'stop', message }] });
  t.match(answerOf(whole), { stop: 'refused' });
  t.match(answerOf(read([delta({ content: 'Yes', refusal: null }), delta({}, 'stop')])), {
    stop: 'ended',
    text: 'Yes',
  });
  t.end();
});

t.test('DIS-3 · an answer in parts is its texts', (t) => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] };
  const parts = [
    delta({ content: [thinking] }),
    delta({ content: [{ type: 'text', text: 'Hel' }, { type: 'reference', text: '[1]' }, 7] }),
  ];
  t.match(answerOf(read([...parts, delta({ content: 'lo' }), delta({}, 'stop')])), { text: 'Hello' });
  t.end();
});

t.test('DIS-3 · what an endpoint needs back with its calls goes back', (t) => {
  const signed = { google: { thought_signature: 'c2ln' } };
  const one = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' }, extra_content: signed };
  const answer = answerOf(
    read([
      delta({ reasoning_content: 'I should ' }),
      delta({ reasoning_content: 'look.' }),
      delta({ tool_calls: [one] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '' } }] }),
      delta({}, 'tool_calls'),
    ]),
  );
  const { text = '', calls = [], reasoning = '' } = answer ?? {};
  t.equal(text, '');
  const turns = [
    { role: 'assistant', text, calls, reasoning },
    { role: 'assistant', text: 'Done', calls: [], reasoning: '' },
    { role: 'assistant', text: 'Done', calls: [] },
  ] as const;
  t.same(requestBody({ provider: 'openai-compatible', name: 'usual' }, { system: '', tools: [], turns }).messages, [
    {
      role: 'assistant',
      content: null,
      reasoning_content: 'I should look.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: signed }],
    },
    { role: 'assistant', content: 'Done', reasoning_content: '' },
    { role: 'assistant', content: 'Done' },
  ]);
  t.end();
});

t.test('DIS-3 · what a model of vLLM or Ollama thinks goes back in the field in which it came', (t) => {
  const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } };
  const answer = answerOf(
    read([
      delta({ reasoning: '' }),
      delta({ reasoning: 'I should ' }),
      delta({ reasoning: 'look.' }),
      delta({ tool_calls: [call] }),
      delta({}, 'tool_calls'),
    ]),
  );
  const { text = '', calls = [], reasoning = null } = answer ?? {};
  const turns = [{ role: 'assistant', text, calls, reasoning }] as const;
  t.same(requestBody({ provider: 'openai-compatible', name: 'usual' }, { system: '', tools: [], turns }).messages, [
    {
      role: 'assistant',
      content: null,
      reasoning: 'I should look.',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
  ]);
  const both = answerOf(read([delta({ reasoning: 'I', reasoning_content: 'I' }), delta({ content: 'Yes' }, 'stop')]));
  t.equal(both?.reasoning, 'I', 'an older vLLM sends both');
  t.equal(answerOf(read([delta({ reasoning: '', content: 'Yes' }, 'stop')]))?.reasoning, undefined);
  t.end();
});

t.test('DIS-3 · what OpenRouter needs back goes back as it came, its texts in one', (t) => {
  const details = (...all: readonly object[]) => delta({ reasoning: 'I', reasoning_details: all });
  const call = { index: 0, id: 'a', function: { name: 'look', arguments: '{}' } };
  const sealed = (id: string) => ({ type: 'reasoning.encrypted', data: 'c2ln', id, index: 1 });
  const answer = answerOf(
    read([
      details({ type: 'reasoning.text', text: 'I should ', index: 0, signature: null }),
      details({ type: 'reasoning.text', text: 'look.', index: 0, format: 'f' }),
      details({ type: 'reasoning.text', text: null, signature: 's', index: 0 }),
      details({ type: 'reasoning.text', text: 'Once.', index: 2 }, sealed('a'), sealed('b'), 7 as never),
      delta({ tool_calls: [call], reasoning_content: 'Again.' }),
      delta({}, 'tool_calls'),
    ]),
  );
  const { text = '', calls = [], reasoning = null } = answer ?? {};
  const turns = [{ role: 'assistant', text, calls, reasoning }] as const;
  const asked = requestBody({ provider: 'openai-compatible', name: 'usual' }, { system: '', tools: [], turns });
  t.same(asked.messages, [
    {
      role: 'assistant',
      content: null,
      reasoning_details: [
        { type: 'reasoning.text', text: 'I should look.', index: 0, signature: 's', format: 'f' },
        { type: 'reasoning.text', text: 'Once.', index: 2 },
        sealed('a'),
        sealed('b'),
        7,
      ],
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
  ]);

  const whole = emptyDraft();
  const message = { tool_calls: [call], reasoning_details: [sealed('a')] };
  readWhole('openai-compatible', whole, { choices: [{ finish_reason: 'tool_calls', message }] });
  t.same(answerOf(whole)?.reasoning, [sealed('a')]);
  t.end();
});
