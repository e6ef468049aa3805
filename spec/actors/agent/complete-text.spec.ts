import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { completeText, type TextRequest } from '../../../actors/agent/complete-text.ts';
import type { ModelSettings } from '../../../machines/config/settings.ts';

interface Asked {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** An endpoint that answers as told, and what it was asked. */
async function endpoint(t: Test, answer: (res: ServerResponse) => void): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (req, res) => {
    let text = '';
    for await (const chunk of req) text += chunk;
    asked.push({ path: req.url, headers: req.headers, body: JSON.parse(text) });
    answer(res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const json = (status: number, body: unknown) => (res: ServerResponse) =>
  void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const never = (): AbortSignal => new AbortController().signal;

function request(provider: ModelSettings['provider'], baseUrl: string, more: Partial<TextRequest> = {}): TextRequest {
  const model = { provider, baseUrl, apiKey: 'key-1', name: 'usual', maxSteps: 20 } as unknown as ModelSettings;
  return { model, messages: [{ role: 'user', text: 'Say hello' }], maxTokens: 64, ...more };
}

t.test('SRV-2 · CON-3 · an OpenAI-compatible endpoint is asked in its words and its answer read', async (t) => {
  const { url, asked } = await endpoint(
    t,
    json(200, { model: 'usual-2', choices: [{ message: { content: 'hello' }, finish_reason: 'length' }] }),
  );
  const verdict = await completeText(
    request('openai-compatible', `${url}/v1/`, { name: 'other', system: 'Be brief', temperature: 0.5 }),
    never(),
  );
  t.same(verdict, { kind: 'made', text: 'hello', model: 'usual-2', stopReason: 'maxTokens' });
  t.equal(asked[0]?.path, '/v1/chat/completions');
  t.equal(asked[0]?.headers.authorization, 'Bearer key-1');
  t.same(asked[0]?.body, {
    model: 'other',
    max_tokens: 64,
    temperature: 0.5,
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Say hello' },
    ],
  });
});

t.test('SRV-2 · CON-3 · Anthropic’s endpoint is asked in its words and its answer read', async (t) => {
  const { url, asked } = await endpoint(
    t,
    json(200, {
      model: 'usual-2',
      stop_reason: 'end_turn',
      content: [
        { type: 'text', text: 'hel' },
        { type: 'thinking', thinking: 'x' },
        { type: 'text', text: 'lo' },
      ],
    }),
  );
  const verdict = await completeText(request('anthropic', url, { system: 'Be brief' }), never());
  t.same(verdict, { kind: 'made', text: 'hello', model: 'usual-2', stopReason: 'endTurn' });
  t.equal(asked[0]?.path, '/v1/messages');
  t.match(asked[0]?.headers, { 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' });
  t.equal(asked[0]?.headers.authorization, undefined);
  t.same(asked[0]?.body, {
    model: 'usual',
    max_tokens: 64,
    system: 'Be brief',
    messages: [{ role: 'user', content: 'Say hello' }],
  });
});

t.test('SRV-2 · a refusal, HTML, rubbish and an answer without a text fail with a reason and no secret', async (t) => {
  const html = (res: ServerResponse) =>
    void res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Sign in</title>');
  const rows: readonly (readonly [(res: ServerResponse) => void, RegExp])[] = [
    [json(401, { error: { message: 'Incorrect API key provided: key-1' } }), /HTTP 401; check agent\.model/],
    [json(429, {}), /HTTP 429/],
    [json(500, {}), /HTTP 500/],
    [html, /cannot be asked/],
    [(res) => void res.end(''), /cannot be asked/],
    [json(200, []), /without a text/],
    [json(200, null), /without a text/],
    [json(200, { choices: [] }), /without a text/],
    [json(200, { choices: [{ message: { content: null } }] }), /without a text/],
    [json(200, { content: 'not a list' }), /without a text/],
    [(res) => void res.socket?.resetAndDestroy(), /cannot be asked/],
  ];
  for (const [answer, why] of rows) {
    for (const provider of ['openai-compatible', 'anthropic'] as const) {
      const { url } = await endpoint(t, answer);
      const verdict = await completeText(request(provider, url), never());
      t.equal(verdict.kind, 'failed', `${provider} ${why}`);
      t.match(verdict.kind === 'failed' && verdict.why, why, provider);
      t.notMatch(JSON.stringify(verdict), /key-1/, provider);
    }
  }
});

t.test('SRV-2 · an endpoint that is not there, or silent, fails and does not hang', async (t) => {
  const { url } = await endpoint(t, () => {});
  const stop = new AbortController();
  const asking = completeText(request('openai-compatible', url), stop.signal);
  stop.abort(new Error('out of time'));
  t.match(await asking, { kind: 'failed', why: /out of time|abort/ });
  t.match(await completeText(request('anthropic', 'http://127.0.0.1:9'), never()), { kind: 'failed' });
  t.match(await completeText(request('anthropic', 'no url'), never()), { kind: 'failed' });
});
