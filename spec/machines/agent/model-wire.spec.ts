import t from 'tap';
import { answerOf, emptyDraft } from '../../../machines/agent/model-draft.ts';
import { type Provider, readEvent, requestAddress, requestBody } from '../../../machines/agent/model-wire.ts';
import { isLinear } from '../../support/linear.ts';

t.test(
  'SRV-2 · CON-3 · an empty system text is left out, a temperature, a token limit and the texts that end an answer are passed on',
  (t) => {
    for (const provider of ['openai-compatible', 'anthropic'] as const) {
      const asked = {
        system: '',
        turns: [{ role: 'user', text: 'Go' }],
        tools: [],
        temperature: 0.5,
        stopSequences: ['END'],
      } as const;
      const body = requestBody({ provider, name: 'usual', maxTokens: 64 }, asked);
      t.match(body, { temperature: 0.5, max_tokens: 64, messages: [{ role: 'user' }] }, provider);
      t.same(body[provider === 'anthropic' ? 'stop_sequences' : 'stop'], ['END'], provider);
      t.notOk('system' in body || JSON.stringify(body).includes('"system"'), provider);
    }
    t.end();
  },
);

t.test('DIS-3 · rubbish in a stream is skipped, an error is reported by its type alone', (t) => {
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
      const draft = emptyDraft();
      t.equal(readEvent(provider, draft, rubbish), '');
      t.same(draft, emptyDraft(), `${provider} ${rubbish}`);
    }
    const fault = (error: unknown) => {
      const draft = emptyDraft();
      readEvent(provider, draft, JSON.stringify({ type: 'error', error }));
      return draft.fault;
    };
    const error = (type: string, retryable: boolean) => ({ kind: 'error', type, retryable });
    t.same(fault({ type: 'overloaded_error', message: 'sk-secret' }), error('overloaded_error', true));
    t.same(fault({ type: 'invalid_request_error' }), error('invalid_request_error', false));
    t.same(fault({ type: 'Says sk-secret' }), error('error', true));
    t.same(fault('what'), error('error', true));
    for (const overflow of ['Context size has been exceeded.', { message: 'loaded with context length of only 4096' }])
      t.same(fault(overflow), { kind: 'overflow' });
    const rate = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Request too large: 9000 tokens per minute' };
    t.same(fault(rate), error('rate_limit_exceeded', true), 'a limit of tokens per minute passes');
    t.same(fault({ code: 429, message: 'reduce the prompt length' }), error('429', true), 'also by its number alone');
  }
  t.equal(answerOf(emptyDraft()), undefined);
  t.end();
});

const openAiDelta = (delta: object) => ({ choices: [{ delta }] });
const openAiCall = (index: number) => openAiDelta({ tool_calls: [{ index, function: { name: 'a', arguments: '{' } }] });
const anthropicBlock = (index: number) => ({
  type: 'content_block_start',
  index,
  content_block: { type: 'tool_use', id: 'a', name: 'a' },
});
const anthropicDelta = (delta: object) => ({ type: 'content_block_delta', index: 0, delta });

/** The event of that number in a stream of nothing else. */
const streams: Readonly<Record<string, readonly [Provider, (index: number) => object]>> = {
  'calls of an OpenAI-compatible endpoint': ['openai-compatible', openAiCall],
  'calls without an index': [
    'openai-compatible',
    () => openAiDelta({ tool_calls: [{ function: { name: 'a', arguments: {} } }] }),
  ],
  'arguments in pieces': ['openai-compatible', () => openAiCall(0)],
  'text in pieces': ['openai-compatible', () => openAiDelta({ content: 'a' })],
  'Anthropic’s calls': ['anthropic', anthropicBlock],
  'Anthropic’s arguments in pieces': [
    'anthropic',
    (index) => (index === 0 ? anthropicBlock(0) : anthropicDelta({ type: 'input_json_delta', partial_json: '{' })),
  ],
  'Anthropic’s text in pieces': ['anthropic', () => anthropicDelta({ type: 'text_delta', text: 'a' })],
};

for (const [name, [provider, eventOf]] of Object.entries(streams)) {
  t.test(`DIS-3 · reading a stream takes time in proportion to its length: ${name}`, (t) => {
    const reading = (size: number) => {
      const events = Array.from({ length: size }, (_, index) => JSON.stringify(eventOf(index)));
      return () => {
        const draft = emptyDraft();
        for (const event of events) readEvent(provider, draft, event);
        draft.stop = 'ended';
        return answerOf(draft)?.text.trim();
      };
    };
    t.ok(isLinear(reading, 250));
    t.end();
  });
}

const addressed = { baseUrl: 'https://api.example/v1/', name: 'usual', maxSteps: 1, apiKey: 'k' };

t.test('CON-3 · each kind of endpoint has its address and its header for the key', (t) => {
  t.same(requestAddress({ ...addressed, provider: 'openai-compatible' }), {
    url: 'https://api.example/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
  });
  const anthropic = {
    url: 'https://api.example/v1/messages',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'k' },
  };
  t.same(requestAddress({ ...addressed, provider: 'anthropic' }), anthropic);
  t.same(requestAddress({ ...addressed, provider: 'anthropic', baseUrl: 'https://api.example' }), anthropic);
  const dated = { ...addressed, baseUrl: 'https://api.example/v1/?api-version=preview' };
  t.equal(
    requestAddress({ ...dated, provider: 'openai-compatible' }).url,
    'https://api.example/v1/chat/completions?api-version=preview',
  );
  t.equal(
    requestAddress({ ...dated, provider: 'anthropic' }).url,
    'https://api.example/v1/messages?api-version=preview',
  );
  const azure = 'https://mine.openai.azure.com/openai/deployments/mini?api-version=2026-10-21';
  for (const [baseUrl, apiKey, header] of [
    [azure, 'k', { 'api-key': 'k' }],
    [azure, 'eyJ0.e30.c', { authorization: 'Bearer eyJ0.e30.c' }],
    ['https://mine.services.ai.azure.com/openai/v1', 'k', { 'api-key': 'k' }],
    ['https://mine.eastus2.models.ai.azure.com/v1', 'k', { authorization: 'Bearer k' }],
    ['https://mine.eastus2.inference.ml.azure.com/v1', 'k', { authorization: 'Bearer k' }],
    ['https://openai.azure.com.example/v1', 'k', { authorization: 'Bearer k' }],
  ] as const) {
    const { headers } = requestAddress({ provider: 'openai-compatible', baseUrl, apiKey });
    t.same(headers, { 'content-type': 'application/json', ...header });
  }
  const { apiKey: _, ...keyless } = addressed;
  t.same(Object.keys(requestAddress({ ...keyless, provider: 'openai-compatible' }).headers), ['content-type']);
  t.end();
});
