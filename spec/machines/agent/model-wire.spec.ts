import t from 'tap';
import { answerOf, emptyDraft } from '../../../machines/agent/model-draft.ts';
import { readEvent, requestBody } from '../../../machines/agent/model-wire.ts';

t.test('SRV-2 · CON-3 · an empty system text is left out, a temperature and a token limit are passed on', (t) => {
  for (const provider of ['openai-compatible', 'anthropic'] as const) {
    const asked = { system: '', turns: [{ role: 'user', text: 'Go' }], tools: [], temperature: 0.5 } as const;
    const body = requestBody({ provider, name: 'usual', maxTokens: 64 }, asked);
    t.match(body, { temperature: 0.5, max_tokens: 64, messages: [{ role: 'user' }] }, provider);
    t.notOk('system' in body || JSON.stringify(body).includes('"system"'), provider);
  }
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
