import t, { type Test } from 'tap';
import { type ModelVerdict, type StreamLimits, streamModel } from '../../../actors/agent/stream-model.ts';
import { noTokens, type Turn } from '../../../machines/agent/model-talk.ts';
import type { ModelSettings } from '../../../machines/config/settings.ts';
import { lendEnv } from '../../support/lent-env.ts';
import { lentTime } from '../../support/lent-time.ts';
import { costOfAnswer, type ModelReply, type ModelServer, startModelServer } from '../../support/model-server.ts';
import { until } from '../../support/processes.ts';

const providers = ['openai-compatible', 'anthropic'] as const;
const key = 'sk-verysecret0123456789';
const question = { system: 'Be brief', turns: [{ role: 'user', text: 'Go' }], tools: [] } as const;
/** For an answer that comes at once. */
const ports = {
  nowMs: () => 0,
  random: () => 0,
  wait: () => Promise.reject(new Error('no wait is needed')),
  signal: new AbortController().signal,
};

interface Asking {
  readonly provider: ModelSettings['provider'];
  readonly limits?: Partial<StreamLimits>;
  readonly signal?: AbortSignal;
  readonly baseUrl?: string;
  readonly onText?: (text: string) => void;
}

/** Asks a server with that script; the waits between attempts are counted and not waited. */
async function ask(
  t: Test,
  script: Parameters<typeof startModelServer>[1],
  { provider, limits = {}, signal = new AbortController().signal, baseUrl, onText }: Asking,
): Promise<{ verdict: ModelVerdict; waits: number[]; server: ModelServer }> {
  const server = await startModelServer(t, script);
  const waits: number[] = [];
  const base = baseUrl ?? (provider === 'anthropic' ? server.url : `${server.url}/v1/`);
  const model: ModelSettings = { provider, baseUrl: base, apiKey: key, name: 'usual', maxSteps: 20 };
  const verdict = await streamModel(model, question, {
    nowMs: () => 0,
    random: () => 1,
    wait: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    limits,
    signal,
    ...(onText === undefined ? {} : { onText }),
  });
  t.notMatch(JSON.stringify(verdict), key, 'no verdict holds the key');
  return { verdict, waits, server };
}

t.test('DIS-3 · CON-3 · both kinds of endpoint stream an answer: text, calls, tokens', async (t) => {
  for (const provider of providers) {
    const script = [{ kind: 'says', text: 'Hällo 😀', calls: [{ name: 'look', args: '{"at":"ü"}' }] }] as const;
    const { verdict, server } = await ask(t, script, { provider });
    t.match(verdict, {
      kind: 'answered',
      answer: {
        text: 'Hällo 😀',
        calls: [{ name: 'look', argumentsText: '{"at":"ü"}' }],
        stop: 'calls',
        tokens: costOfAnswer,
      },
    });
    const [asked] = server.asked;
    t.equal(asked?.path, provider === 'anthropic' ? '/v1/messages' : '/v1/chat/completions');
    t.equal(asked?.body.stream, true);
    t.equal(asked?.headers[provider === 'anthropic' ? 'x-api-key' : 'authorization']?.includes(key), true);
  }
});

t.test('TLS-2 · an endpoint of either kind is asked through the proxy of the environment', async (t) => {
  for (const [provider, baseUrl, url] of [
    ['openai-compatible', 'http://model.invalid/v1', 'http://model.invalid/v1/chat/completions'],
    ['anthropic', 'http://model.invalid', 'http://model.invalid/v1/messages'],
  ] as const) {
    const proxy = await startModelServer(t, [{ kind: 'says', text: 'Hi' }]);
    lendEnv(t, { http_proxy: proxy.url, no_proxy: '' });
    const { verdict } = await ask(t, [], { provider, baseUrl });
    t.match(verdict, { kind: 'answered', answer: { text: 'Hi' } });
    t.same(
      proxy.asked.map(({ path }) => path),
      [url],
    );
  }
});

t.test('DIS-3 · an endpoint that does not stream is read all the same', async (t) => {
  for (const provider of providers) {
    const script = [{ kind: 'whole', text: 'Hi', calls: [{ name: 'look', args: '{"at":1}' }] }] as const;
    const { verdict } = await ask(t, script, { provider });
    t.match(verdict, { answer: { text: 'Hi', calls: [{ argumentsText: '{"at":1}' }], tokens: costOfAnswer } });
  }
});

t.test('DIS-3 · an answer is read by its form where its content type names another', async (t) => {
  const whole = '{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}';
  const stream = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
  for (const [type, body] of [
    ['text/plain; charset=utf-8', whole],
    ['text/event-stream', `\n\n${whole}`],
    ['application/json', stream],
    ['application/json', `: keep-alive\n\n${stream}`],
  ] as const) {
    const { verdict } = await ask(t, [{ kind: 'raw', type, body }], { provider: 'openai-compatible' });
    t.match(verdict, { kind: 'answered', answer: { text: 'Hi' } }, `${type} ${body.slice(0, 8)}`);
  }
  const { verdict } = await ask(t, [{ kind: 'raw', type: 'application/json', body: 'oops' }], {
    provider: 'openai-compatible',
  });
  t.match(verdict, { kind: 'failed', why: /no JSON; asked 4 times/ });
});

t.test('DIS-3 · a passing failure is asked again, and the answer is the whole one', async (t) => {
  const failures: readonly ModelReply[] = [
    { kind: 'status', status: 500, body: '<html><body>Oops</body></html>' },
    { kind: 'status', status: 529 },
    { kind: 'half', text: 'Half an ans' },
    { kind: 'half', text: 'Half an ans', reset: true },
    { kind: 'nothing' },
    { kind: 'reset' },
    { kind: 'givesUp', type: 'overloaded_error' },
    { kind: 'raw', type: 'application/json', body: '{"half":' },
  ];
  for (const provider of providers) {
    for (const failure of failures) {
      const { verdict, waits } = await ask(t, [failure, { kind: 'says', text: 'Whole' }], { provider });
      t.match(verdict, { kind: 'answered', answer: { text: 'Whole' } }, `${provider} ${JSON.stringify(failure)}`);
      t.same(waits, [1_000]);
    }
  }
});

t.test('DIS-3 · an answer with a torn event is asked for again, as its text would lack a piece', async (t) => {
  const openAi = (content: string, reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: reason }] })}\n\n`;
  const anthropic = (text: string) =>
    `data: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`;
  const stop = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n';
  for (const [provider, piece, end] of [
    ['openai-compatible', openAi, openAi('', 'stop')],
    ['anthropic', anthropic, stop],
  ] as const) {
    const raw = (body: string): ModelReply => ({ kind: 'raw', type: 'text/event-stream', body });
    const torn = `${piece('It is ')}${piece('not 4').slice(0, -6)}\n\n${piece('2.')}${end}`;
    const whole = { kind: 'says', text: 'Whole' } as const;
    t.match((await ask(t, [raw(torn), whole], { provider })).verdict, { answer: { text: 'Whole' } }, provider);
    const lasting = await ask(t, [raw(torn)], { provider });
    t.match(lasting.verdict, { kind: 'failed', why: /sent an event that is no JSON; asked 4 times$/ });
    const refused = raw('data: {"error":{"type":"authentication_error"}}\n\ndata: {"error\n\n');
    t.match((await ask(t, [refused], { provider })).verdict, { why: /authentication_error/ }, 'an error is the reason');
    const counted = raw(`data: ping\n\n${piece('Hi')}${end}data: {"usage":{"tot\n\n`);
    const { verdict, server } = await ask(t, [counted], { provider });
    t.match(verdict, { kind: 'answered', answer: { text: 'Hi' } }, 'a torn count after the end is no loss');
    t.equal(server.asked.length, 1);
  }
});

t.test('DIS-3 · a model that wrote a call which its endpoint cannot read is asked again', async (t) => {
  const error = {
    message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
    type: 'invalid_request_error',
    code: 'tool_use_failed',
    failed_generation: '<function=look{"path": "x"}',
  };
  const body = JSON.stringify({ error });
  const replies: readonly ModelReply[] = [
    { kind: 'status', status: 400, body },
    { kind: 'raw', type: 'text/event-stream', body: `event: error\ndata: ${body}\n\n` },
  ];
  for (const reply of replies) {
    const { verdict, server } = await ask(t, [reply, { kind: 'says', text: 'Hi' }], { provider: 'openai-compatible' });
    t.match(verdict, { kind: 'answered', answer: { text: 'Hi' } });
    t.equal(server.asked.length, 2);
    const lasting = await ask(t, [reply], { provider: 'openai-compatible' });
    t.match(lasting.verdict, { kind: 'failed', why: /asked 4 times$/ });
  }
});

t.test('DIS-3 · a model endpoint whose certificate does not fit the clock is asked again', async (t) => {
  const { fetch } = globalThis;
  t.teardown(() => {
    globalThis.fetch = fetch;
  });
  globalThis.fetch = () => {
    globalThis.fetch = fetch;
    const dates = Object.assign(new Error('dates'), { code: 'CERT_NOT_YET_VALID' });
    return Promise.reject(new TypeError('fetch failed', { cause: dates }));
  };
  t.match(await ask(t, [{ kind: 'says', text: 'Whole' }], { provider: 'anthropic' }), {
    verdict: { kind: 'answered', answer: { text: 'Whole' } },
  });
});

t.test('DIS-3 · each failure that lasts is a known outcome', async (t) => {
  const rows: readonly (readonly [ModelReply, RegExp])[] = [
    [{ kind: 'status', status: 503 }, /HTTP 503; asked 4 times$/],
    [{ kind: 'status', status: 502, body: '<!doctype html><p>x' }, /HTTP 502 with an HTML page; asked 4 times$/],
    [{ kind: 'half', text: 'Half' }, /was incomplete: it broke off before its end; asked 4 times$/],
    [{ kind: 'half', text: 'Half', reset: true }, /was incomplete: the connection failed.*asked 4 times$/],
    [{ kind: 'nothing' }, /gave no answer: it broke off before its end; asked 4 times$/],
    [{ kind: 'reset' }, /gave no answer: the connection failed \(\w+\); asked 4 times$/],
    [
      { kind: 'givesUp', type: 'overloaded_error' },
      /ended its answer with an error.*\(overloaded_error\); asked 4 times$/,
    ],
  ];
  for (const provider of providers) {
    for (const [reply, why] of rows) {
      const { verdict, waits, server } = await ask(t, [reply], { provider });
      t.match(verdict, { kind: 'failed', why }, provider);
      t.same(waits, [1_000, 2_000, 4_000], `${provider} ${why}`);
      t.equal(server.asked.length, 4);
    }
  }
});

t.test('DIS-3 · a request that a retry cannot fix is sent once', async (t) => {
  const said = (status: number, message: string, code = 'x') =>
    ({ kind: 'status', status, body: JSON.stringify({ error: { message, code } }) }) as const;
  const rows: readonly (readonly [ModelReply, RegExp])[] = [
    [
      said(401, `Incorrect API key provided: ${key}`),
      /^the model endpoint answered HTTP 401; check agent\.model\.api_key$/,
    ],
    [said(403, 'sk-ver…789'), /HTTP 403; check agent\.model$/],
    [
      said(400, `too long for ${key} and Bearer abcdefgh`),
      /HTTP 400: too long for \[redacted\] and Bearer \[redacted\]; /,
    ],
    [said(404, 'no such model'), /HTTP 404: no such model; check agent\.model$/],
    [
      said(400, "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 142 instead."),
      /maximum length 128, but got 142 instead\.; offer it fewer tools, by `toolsets` .* or `tools\.include` of the servers$/,
    ],
    ...[
      [{ error: { code: 400, message: 'too long', status: 'INVALID_ARGUMENT' } }],
      { error: 'too long' },
      { object: 'error', message: 'too long', code: '3051' },
      { detail: [{ loc: ['body'], msg: 'too long' }] },
      { detail: 'too long' },
    ].map(
      (body) =>
        [
          { kind: 'status', status: 400, body: JSON.stringify(body) },
          /HTTP 400: too long; check agent\.model$/,
        ] as const,
    ),
    [{ kind: 'status', status: 400, body: '{"error":{"message":7}}' }, /HTTP 400; check agent\.model$/],
    ...[
      "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
      'Output blocked by content filtering policy',
    ].flatMap(
      (message) =>
        [
          [
            said(400, message, 'content_filter'),
            /policy\.?; the filter of the endpoint refused what the conversation says$/,
          ],
          [
            {
              kind: 'raw',
              type: 'application/json',
              body: JSON.stringify({ error: { type: 'invalid_request_error', message } }),
            },
            /ended its answer with an error \(content_filter\)$/,
          ] as const,
        ] as const,
    ),
    [said(429, 'You exceeded', 'insufficient_quota'), /HTTP 429; its quota is spent$/],
    [said(402, 'Insufficient credits'), /HTTP 402; its credit is spent$/],
    ...[
      'registry.ollama.ai/library/gemma:2b does not support tools',
      'No endpoints found that support tool use.',
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ].map(
      (message) =>
        [said(400, message), /; choose a model that takes tools, or give the route `toolsets: \[\]`$/] as const,
    ),
    [
      { kind: 'raw', type: 'application/json', body: '{"error":{"message":"Insufficient credits","code":402}}' },
      /ended its answer with an error \(402\)$/,
    ],
    [{ kind: 'status', status: 404, body: '<html>' }, /HTTP 404 with an HTML page; check agent\.model$/],
    [{ kind: 'status', status: 307, headers: { location: 'http://127.0.0.1:9/' } }, /redirect; give agent\.model/],
    [{ kind: 'raw', type: 'text/html', body: '<!doctype html><title>Sign in</title>' }, /an HTML page; check/],
    [{ kind: 'givesUp', type: 'invalid_request_error' }, /ended.*\(invalid_request_error\)$/],
  ];
  for (const provider of providers) {
    for (const [reply, why] of rows) {
      const { verdict, waits, server } = await ask(t, [reply], { provider });
      t.match(verdict, { kind: 'failed', why }, provider);
      t.same([waits, server.asked.length], [[], 1], `${provider} ${why}`);
    }
  }
});

t.test('DIS-3 · Retry-After is obeyed, unless it asks for too long', async (t) => {
  const busy = (headers: Record<string, string>) => [{ kind: 'status', status: 429, headers } as const];
  const rows: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:09 GMT' }, 9_000],
    [{ 'retry-after-ms': '250' }, 250],
    [{ 'retry-after': 'soon' }, 1_000],
  ];
  for (const [headers, ms] of rows) {
    const { verdict, waits } = await ask(t, [...busy(headers), { kind: 'says', text: 'Hi' }], {
      provider: 'anthropic',
    });
    t.same([verdict.kind, waits], ['answered', [ms]], JSON.stringify(headers));
  }
  const info = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.074824224s' };
  const gemini = [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded', details: [info] } }];
  const body = JSON.stringify(gemini, null, 2);
  const delayed = await ask(
    t,
    [
      { kind: 'status', status: 429, body },
      { kind: 'says', text: 'Hi' },
    ],
    {
      provider: 'openai-compatible',
    },
  );
  t.same([delayed.verdict.kind, delayed.waits], ['answered', [34_075]]);
  const { verdict, waits } = await ask(t, busy({ 'retry-after': '3600' }), { provider: 'openai-compatible' });
  t.match(verdict, { kind: 'failed', why: /HTTP 429; it asks to be left alone for 3600 s/ });
  t.same(waits, []);
});

t.test('DIS-3 · silence and floods are bounded; an answer that was whole stands', async (t) => {
  const time = lentTime(t);
  for (const provider of providers) {
    const limits = { idleMs: 50, attempts: 1 };
    const unheard = (): ModelReply => {
      time.pass(50);
      return { kind: 'silent' };
    };
    const silent = await ask(t, unheard, { provider, limits });
    t.match(silent.verdict, { kind: 'failed', why: /gave no answer: it was silent for 0\.05 s/ });
    // What was heard begins the time anew.
    const onText = () => void setImmediate(() => time.pass(50));
    const midway = await ask(t, [{ kind: 'silent', text: 'Half' }], { provider, limits, onText });
    t.match(midway.verdict, { kind: 'failed', why: /was incomplete: it was silent/ });
    const flood = await ask(t, [{ kind: 'says', text: 'x'.repeat(5_000) }], { provider, limits: { maxBytes: 4_096 } });
    t.match(flood.verdict, { kind: 'failed', why: /more than 4096 bytes/ });
  }
  const noEnd = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}';
  const unended = await ask(t, [{ kind: 'raw', type: 'text/event-stream', body: noEnd }], {
    provider: 'openai-compatible',
  });
  t.match(unended.verdict, { kind: 'answered', answer: { text: 'Hi' } });
});

t.test('DIS-3 · a model may think for minutes without a byte', async (t) => {
  const time = lentTime(t);
  const thinking = (): ModelReply => {
    time.pass(280_000);
    return { kind: 'says', text: 'Done.' };
  };
  const { verdict, server } = await ask(t, thinking, { provider: 'openai-compatible' });
  t.match(verdict, { kind: 'answered', answer: { text: 'Done.' } });
  t.equal(server.asked.length, 1);
});

t.test('SRV-2 · a model that takes no temperature is asked without it', async (t) => {
  const refusal = { error: { type: 'invalid_request_error', message: '`temperature` is deprecated for this model.' } };
  for (const provider of providers) {
    const server = await startModelServer(t, ({ body }) =>
      'temperature' in body
        ? { kind: 'status', status: 400, body: JSON.stringify(refusal) }
        : { kind: 'says', text: 'Fine.' },
    );
    const model: ModelSettings = { provider, baseUrl: server.url, name: 'usual', maxSteps: 20 };
    const verdict = await streamModel(model, { ...question, temperature: 0 }, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, 2);
  }
  const stubborn = { error: { message: 'the temperature of the room is wrong' } };
  const { verdict, server } = await ask(t, [{ kind: 'status', status: 400, body: JSON.stringify(stubborn) }], {
    provider: 'anthropic',
  });
  t.match(verdict, { kind: 'failed', why: /HTTP 400: the temperature of the room/ });
  t.equal(server.asked.length, 1);
});

t.test('DIS-3 · an endpoint that takes no cache marks is asked without them from then on', async (t) => {
  for (const [status, message] of [
    [400, 'messages.0.content.0.cache_control: Extra inputs are not permitted'],
    [404, 'No endpoints found that support cache control'],
    [403, 'You invoked an unsupported model or your request did not allow prompt caching'],
    [422, 'system: Input should be a valid string'],
    [400, "Input should be a valid string, field: 'messages[0].content.str'"],
    [400, 'json: cannot unmarshal array into Go struct field .system of type string'],
  ] as const) {
    const server = await startModelServer(t, ({ body }) =>
      JSON.stringify(body).includes('cache_control')
        ? { kind: 'status', status, body: JSON.stringify({ error: { message } }) }
        : { kind: 'says', text: 'Fine.' },
    );
    const model: ModelSettings = { provider: 'anthropic', baseUrl: server.url, name: 'strict', maxSteps: 20 };
    const ports = { nowMs: () => 0, random: () => 0, wait: () => Promise.reject(new Error('no wait is needed')) };
    const { signal } = new AbortController();
    const turns = [...question.turns, ...question.turns];
    for (const asked of [2, 3]) {
      t.match(await streamModel(model, { ...question, turns }, { ...ports, signal }), { kind: 'answered' }, message);
      t.equal(server.asked.length, asked);
    }
  }
});

t.test('SRV-2 · a model that takes no stop sequences is asked without them', async (t) => {
  const refusal = { error: { message: "Unsupported parameter: 'stop' is not supported with this model." } };
  const server = await startModelServer(t, ({ body }) =>
    'stop' in body ? { kind: 'status', status: 400, body: JSON.stringify(refusal) } : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  const verdict = await streamModel(model, { ...question, stopSequences: ['END'] }, ports);
  t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
  t.equal(server.asked.length, 2);
});

t.test('SRV-2 · Claude is asked without stop sequences that its endpoint refuses', async (t) => {
  const message = 'stop_sequences: each stop sequence must contain non-whitespace';
  const server = await startModelServer(t, ({ body }) =>
    'stop_sequences' in body
      ? { kind: 'status', status: 400, body: JSON.stringify({ error: { type: 'invalid_request_error', message } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'anthropic', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  const verdict = await streamModel(model, { ...question, stopSequences: ['\n'] }, ports);
  t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
  t.equal(server.asked.length, 2);
});

t.test('DIS-3 · an endpoint that counts tokens unasked is asked once for that', async (t) => {
  const found = { type: 'extra_forbidden', loc: ['body', 'stream_options', 'include_usage'], msg: 'not permitted' };
  const refusal = { object: 'error', message: { detail: [found] } };
  const server = await startModelServer(t, ({ body }) =>
    'stream_options' in body
      ? { kind: 'status', status: 422, body: JSON.stringify(refusal) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  for (const requests of [2, 3]) {
    // A cron job's own model, and each request of a server, has settings of its own.
    const verdict = await streamModel({ ...model }, question, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.', tokens: costOfAnswer } });
    t.equal(server.asked.length, requests);
  }
  await streamModel({ ...model, name: 'other' }, question, ports);
  t.equal(server.asked.length, 5, 'another model is asked as any is at first');
});

t.test(
  'DIS-3 · CLI-4 · a full context is named and not asked for again, also where the answer had begun',
  async (t) => {
    const message =
      'Trying to keep the first 5061 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.';
    const streamed = (error: unknown): ModelReply => ({
      kind: 'raw',
      type: 'text/event-stream',
      body: `event: error\ndata: ${JSON.stringify({ error })}\n\n`,
    });
    const rows: readonly (readonly [ModelReply, RegExp])[] = [
      [streamed({ message }), /longer than the context of the model/],
      [streamed(message), /longer than the context of the model/],
      [{ kind: 'raw', type: 'application/json', body: JSON.stringify({ error: message }) }, /longer than the context/],
      [
        { kind: 'status', status: 400, body: JSON.stringify({ error: message }) },
        /HTTP 400: Trying to keep.*; give the model a larger context/,
      ],
    ];
    for (const [reply, why] of rows) {
      const { verdict, server } = await ask(t, [reply], { provider: 'openai-compatible' });
      t.match(verdict, { kind: 'failed', why, overflows: true });
      t.equal(server.asked.length, 1);
    }
    const busy = { kind: 'status', status: 429, body: JSON.stringify({ error: { message } }) } as const;
    const server = await startModelServer(t, () => busy);
    const { signal } = new AbortController();
    const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 };
    const ports = { nowMs: () => 0, random: () => 0, wait: () => Promise.reject(new Error('aborted')), signal };
    t.strictSame(
      await streamModel(model, question, ports),
      { kind: 'failed', why: 'the run was stopped', tokens: noTokens },
      'who stops a chat while its endpoint is waited for keeps the conversation',
    );
  },
);

t.test('DIS-3 · LIF-13 · half a character is sent to no endpoint', async (t) => {
  const server = await startModelServer(t, [{ kind: 'says', text: 'Fine.' }]);
  const turns = [{ role: 'user', text: 'Cut \ud83d, full 😀' }] as const;
  for (const provider of providers) {
    const baseUrl = provider === 'anthropic' ? server.url : `${server.url}/v1/`;
    const model: ModelSettings = { provider, baseUrl, name: 'usual', maxSteps: 20 };
    await streamModel(model, { ...question, turns }, ports);
    t.match(JSON.stringify(server.asked.at(-1)?.body), /Cut \ufffd, full 😀/);
  }
});

t.test('DIS-3 · a model that takes tools only without thinking is asked once not to think', async (t) => {
  const message =
    "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.";
  const server = await startModelServer(t, ({ body }) =>
    'tools' in body && body.reasoning_effort !== 'none'
      ? { kind: 'status', status: 400, body: JSON.stringify({ error: { message, param: 'reasoning_effort' } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'gpt-5.6', maxSteps: 20 };
  const tools = [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }];
  for (const requests of [2, 3]) {
    const verdict = await streamModel(model, { ...question, tools }, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, requests);
  }
  await streamModel(model, question, ports);
  t.notOk('reasoning_effort' in (server.asked.at(-1)?.body ?? {}), 'without tools it may think');
  const stubborn = { kind: 'status', status: 400, body: JSON.stringify({ error: { message } }) } as const;
  const { verdict, server: again } = await ask(t, [stubborn], { provider: 'openai-compatible' });
  t.match(verdict, { kind: 'failed', why: /HTTP 400: Function tools with/ });
  t.equal(again.asked.length, 2, 'an endpoint that refuses that too is not asked a third time');
});

t.test('DIS-3 · an endpoint that does not take back what its model thought is asked once for that', async (t) => {
  const message =
    "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported, did you mean 'role'?)]";
  const server = await startModelServer(t, ({ body }) =>
    JSON.stringify(body.messages).includes('"reasoning"')
      ? { kind: 'status', status: 400, body: JSON.stringify({ error: { message, type: 'invalid_request_error' } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  const calls = [{ id: 'a', name: 'look', argumentsText: '{}' }];
  const turns: readonly Turn[] = [
    ...question.turns,
    { role: 'assistant', text: '', calls, reasoning: { reasoning: 'I should look.' } },
    { role: 'tools', replies: [{ id: 'a', text: 'seen', isError: false }] },
  ];
  for (const requests of [2, 3]) {
    const verdict = await streamModel(model, { ...question, turns }, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, requests);
  }
});

t.test('DIS-3 · the descriptions of tools are cut where an endpoint finds one too long', async (t) => {
  const message =
    "Invalid 'tools[1].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 3000 instead.";
  const server = await startModelServer(t, ({ body }) =>
    JSON.stringify(body.tools).includes('x'.repeat(1_025))
      ? { kind: 'status', status: 400, body: JSON.stringify({ error: { message, code: 'string_above_max_length' } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  const tools = [
    { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } },
    { name: 'think', description: 'x'.repeat(3_000), inputSchema: { type: 'object' } },
  ];
  for (const requests of [2, 3]) {
    const verdict = await streamModel(model, { ...question, tools }, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, requests);
    t.match(server.asked.at(-1)?.body.tools, [
      { function: { name: 'look', description: 'Looks.' } },
      { function: { name: 'think', description: 'x'.repeat(1_024) } },
    ]);
  }
  const stubborn = { kind: 'status', status: 400, body: JSON.stringify({ error: { message } }) } as const;
  const { verdict, server: again } = await ask(t, [stubborn], { provider: 'openai-compatible' });
  t.match(verdict, { kind: 'failed', why: /HTTP 400: Invalid 'tools\[1\]/ });
  t.equal(again.asked.length, 2, 'an endpoint that refuses the short ones too is not asked a third time');
});

t.test('DIS-3 · SRV-2 · the limit of an answer is sent under the name that the endpoint asks for', async (t) => {
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
  const server = await startModelServer(t, ({ body }) =>
    'max_tokens' in body
      ? { kind: 'status', status: 400, body: JSON.stringify({ error: { message, param: 'max_tokens' } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const base = { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 20 } as const;
  const model: ModelSettings = { ...base, maxTokens: 500 };
  for (const requests of [2, 3]) {
    const verdict = await streamModel(model, question, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, requests);
    t.equal(server.asked.at(-1)?.body.max_completion_tokens, 500);
  }
});

t.test('DIS-3 · CLI-4 · thoughts that Claude’s endpoint binds to another conversation are left out', async (t) => {
  const message =
    'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
  const exchange = (name: string): readonly Turn[] => [
    { role: 'user', text: name },
    { role: 'assistant', text: name, calls: [], reasoning: [{ type: 'redacted_thinking', data: name }] },
  ];
  const turns = [...exchange('old'), ...exchange('now')];
  const server = await startModelServer(t, ({ body }) =>
    JSON.stringify(body).includes('"data":"old"')
      ? { kind: 'status', status: 400, body: JSON.stringify({ type: 'error', error: { message } }) }
      : { kind: 'says', text: 'Fine.' },
  );
  const model: ModelSettings = { provider: 'anthropic', baseUrl: server.url, name: 'usual', maxSteps: 20 };
  for (const requests of [2, 3]) {
    const verdict = await streamModel(model, { ...question, turns }, ports);
    t.match(verdict, { kind: 'answered', answer: { text: 'Fine.' } });
    t.equal(server.asked.length, requests);
  }
  t.match(JSON.stringify(server.asked.at(-1)?.body), /"data":"now"/, 'those of the exchange itself are sent');
  const stubborn = { kind: 'status', status: 400, body: JSON.stringify({ error: { message } }) } as const;
  const { verdict, server: again } = await ask(t, [stubborn], { provider: 'anthropic' });
  t.match(verdict, { kind: 'failed', why: /bound to a different conversation/ });
  t.equal(again.asked.length, 2);
});

t.test('DIS-3 · a run that is stopped stops its question, in mid-stream too', async (t) => {
  for (const reply of [{ kind: 'silent' }, { kind: 'silent', text: 'Half' }] as const) {
    const stopping = new AbortController();
    const server = await startModelServer(t, [reply]);
    const model: ModelSettings = { provider: 'anthropic', baseUrl: server.url, name: 'usual', maxSteps: 20 };
    const asking = streamModel(model, question, {
      nowMs: () => 0,
      random: () => 0,
      wait: () => Promise.reject(new Error('no wait is needed')),
      signal: stopping.signal,
    });
    await until(() => server.asked.length === 1);
    stopping.abort();
    t.match(await asking, { kind: 'failed', why: 'the run was stopped' });
  }
});

t.test(
  'CON-3 · settings that make no request, and an unreachable endpoint, are reported without the address',
  async (t) => {
    const rows = [
      ['not a url with pass=hunter22', /no request can be made of agent\.model/],
      ['http://user:hunter22@127.0.0.1:9', /no request can be made/],
      ['http://127.0.0.1:9', /gave no answer: the connection failed/],
    ] as const;
    for (const [baseUrl, why] of rows) {
      const { verdict } = await ask(t, [], { provider: 'anthropic', baseUrl });
      t.match(verdict, { kind: 'failed', why });
      t.notMatch(JSON.stringify(verdict), /hunter22/);
    }
  },
);

t.test('DIS-3 · an answer that begins more calls than the bound fails at once, streamed or not', async (t) => {
  const callsOf = (count: number) => Array.from({ length: count }, () => ({ name: 'look', args: '{}' }));
  for (const provider of providers) {
    for (const kind of ['says', 'whole'] as const) {
      const { verdict, server } = await ask(t, [{ kind, calls: callsOf(257) }], { provider });
      t.match(verdict, { kind: 'failed', why: 'the model asked for more than 256 calls in one answer' }, provider);
      t.equal(server.asked.length, 1, 'it is not asked again');
    }
    t.match(await ask(t, [{ kind: 'whole', calls: callsOf(256) }], { provider }), { verdict: { kind: 'answered' } });
  }
});

/** Of some endpoints, each token of a thought takes a few hundred bytes. */
const longThought: ModelReply = {
  kind: 'raw',
  type: 'text/event-stream',
  body: [
    ...Array.from(
      { length: 40_000 },
      () => `data: {"choices":[{"delta":{"reasoning_content":" so"}}],"id":"${'x'.repeat(250)}"}\n\n`,
    ),
    'data: {"choices":[{"delta":{"content":"Yes."},"finish_reason":"stop"}]}\n\n',
  ].join(''),
};

t.test('DIS-3 · a model may think for tens of thousands of tokens before it answers', async (t) => {
  const { verdict } = await ask(t, [longThought], { provider: 'openai-compatible' });
  t.match(verdict, { kind: 'answered', answer: { text: 'Yes.', reasoning: /^( so){40000}$/ } });
});

/** Calls without end: only the bound on calls stops reading before the bound on bytes. */
const endlessCalls: ModelReply = {
  kind: 'raw',
  type: 'text/event-stream',
  body: Array.from(
    { length: 100_000 },
    (_, index) => `data: {"choices":[{"delta":{"tool_calls":[{"index":${index}}]}}]}\n\n`,
  ).join(''),
};

t.test('DIS-3 · the bound on calls holds while an answer is read, not at its end', async (t) => {
  const { verdict } = await ask(t, [endlessCalls], { provider: 'openai-compatible', limits: { maxBytes: 65_536 } });
  t.match(verdict, { kind: 'failed', why: 'the model asked for more than 256 calls in one answer' });
});
