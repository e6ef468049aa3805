import t from 'tap';
import { modelEndpoint } from '../../../actors/agent/model-endpoint.ts';

const model = { baseUrl: 'https://api.example/v1/', name: 'usual', maxSteps: 1, apiKey: 'k' };

t.test('CON-3 · each kind of endpoint has its address and its header for the key', (t) => {
  t.same(modelEndpoint({ ...model, provider: 'openai-compatible' }), {
    url: 'https://api.example/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
  });
  const anthropic = {
    url: 'https://api.example/v1/messages',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'k' },
  };
  t.same(modelEndpoint({ ...model, provider: 'anthropic' }), anthropic);
  t.same(modelEndpoint({ ...model, provider: 'anthropic', baseUrl: 'https://api.example' }), anthropic);
  const dated = { ...model, baseUrl: 'https://api.example/v1/?api-version=preview' };
  t.equal(
    modelEndpoint({ ...dated, provider: 'openai-compatible' }).url,
    'https://api.example/v1/chat/completions?api-version=preview',
  );
  t.equal(
    modelEndpoint({ ...dated, provider: 'anthropic' }).url,
    'https://api.example/v1/messages?api-version=preview',
  );
  const { apiKey: _, ...keyless } = model;
  t.same(Object.keys(modelEndpoint({ ...keyless, provider: 'openai-compatible' }).headers), ['content-type']);
  t.end();
});
