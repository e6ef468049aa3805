import t, { type Test } from 'tap';
import type { RunTools } from '../../../actors/agent/model-loop.ts';
import { createModelRunner, type ModelRunOutcome } from '../../../actors/agent/run-model.ts';
import type { AgentRunner, AgentRunRequest } from '../../../actors/ports.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { type ModelReply, type ModelServer, startModelServer } from '../../support/model-server.ts';
import { until } from '../../support/processes.ts';
import { plainRequest } from '../../support/records.ts';

const providers = ['openai-compatible', 'anthropic'] as const;
const request: AgentRunRequest = { ...plainRequest, route: 'deploys', prompt: 'Look at it' };
const free = { inputPerMillion: 0, cachedPerMillion: 0, writtenPerMillion: 0, outputPerMillion: 0 };
const prices = { ...free, inputPerMillion: 100_000, cachedPerMillion: 100_000 };
const otherPrices = { dear: { ...free, inputPerMillion: 700_000, cachedPerMillion: 700_000 } };
const look = { name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } };

interface Running {
  readonly provider?: (typeof providers)[number];
  readonly tools?: Partial<RunTools>;
  readonly maxSteps?: number;
  readonly signal?: AbortSignal;
  /** The model that the request asks for. */
  readonly model?: string;
}

async function run(
  t: Test,
  script: readonly ModelReply[],
  { provider = 'openai-compatible', tools = {}, maxSteps = 20, signal, model }: Running = {},
): Promise<{ outcome: ModelRunOutcome; server: ModelServer }> {
  const server = await startModelServer(t, script);
  const runner = createModelRunner(
    { provider, baseUrl: server.url, apiKey: 'key-of-the-model', name: 'usual', maxSteps, prices, otherPrices },
    {
      toolsOf: () => ({ offers: [look], call: () => Promise.resolve({ text: 'seen', isError: false }), ...tools }),
      nowMs: () => 0,
      random: () => 0,
      redact: (text) => text.replaceAll('hunter22', '[redacted]'),
      wait: () => Promise.resolve(),
    },
  );
  const outcome = await runner(
    { ...request, ...(model === undefined ? {} : { model }) },
    signal ?? new AbortController().signal,
  );
  return { outcome, server };
}

const calls = (...args: readonly string[]): ModelReply => ({
  kind: 'says',
  text: 'Let me look.',
  calls: args.map((one) => ({ name: 'look', args: one })),
});

t.test('DIS-3 · a run calls the tools that the model asks for and ends with its answer', async (t) => {
  for (const provider of providers) {
    const asked: JsonObject[] = [];
    const { outcome, server } = await run(t, [calls('{"at":1}', '{"at":2}'), { kind: 'says', text: 'All is well.' }], {
      provider,
      tools: {
        call: (name, args) => {
          asked.push({ name, ...args });
          return Promise.resolve({ text: `saw ${String(args.at)}`, isError: args.at === 2 });
        },
      },
    });
    t.match(outcome, { kind: 'responded', response: 'All is well.' });
    t.same(asked, [
      { name: 'look', at: 1 },
      { name: 'look', at: 2 },
    ]);
    t.same(outcome.account.spending, { steps: 2, inputTokens: 20, cachedTokens: 8, outputTokens: 10, cost: 2 });
    t.same(
      outcome.account.transcript.map(({ kind, text }) => [kind, text]),
      [
        ['prompt', 'Look at it'],
        ['answer', 'Let me look.'],
        ['call', '{"at":1}'],
        ['call', '{"at":2}'],
        ['result', 'saw 1'],
        ['result', 'saw 2'],
        ['answer', 'All is well.'],
      ],
    );
    const second = JSON.stringify(server.asked[1]?.body.messages);
    t.match(second, /saw 1.*saw 2/);
    t.match(JSON.stringify(server.asked[0]?.body.tools), /"name":"look"/);
  }
});

t.test('DIS-3 · the calls of one answer are under way together', async (t) => {
  let under = 0;
  const both: (() => void)[] = [];
  const { outcome } = await run(t, [calls('{}', '{}'), { kind: 'says', text: 'Done' }], {
    tools: {
      // Each ends only once the other has begun.
      call: () =>
        new Promise((resolve) => {
          under += 1;
          both.push(() => resolve({ text: 'seen', isError: false }));
          if (under === 2) for (const end of both) end();
        }),
    },
  });
  t.match(outcome, { kind: 'responded', response: 'Done' });
});

t.test('DIS-3 · a tool that fails, malformed arguments and an unknown tool are returned to the model', async (t) => {
  for (const provider of providers) {
    const script: ModelReply[] = [
      calls('{"at":', '{"fail":true}'),
      { kind: 'says', calls: [{ name: 'rm', args: '{}' }] },
      { kind: 'says', text: 'Mended' },
    ];
    let called = 0;
    const { outcome, server } = await run(t, script, {
      provider,
      tools: {
        call: () => {
          called += 1;
          return Promise.reject(new Error('it broke'));
        },
      },
    });
    t.match(outcome, { kind: 'responded', response: 'Mended' });
    t.equal(called, 1);
    t.match(JSON.stringify(server.asked[1]?.body.messages), /arguments are not JSON.*the tool failed: it broke/);
    t.match(JSON.stringify(server.asked[2]?.body.messages), /no tool is named/);
  }
});

t.test('DIS-3 · a model that loops on tools fails the run at its last step', async (t) => {
  const { outcome, server } = await run(t, [calls('{}')], { maxSteps: 3 });
  t.match(outcome, { kind: 'failed', reason: 'the model still asked for tools after 3 steps (agent.model.max_steps)' });
  t.equal(server.asked.length, 3);
  t.equal(outcome.account.spending.inputTokens, 30);
});

t.test('DIS-3 · DIS-4 · an empty answer is a response, a refusal and a dead endpoint are failures', async (t) => {
  t.match((await run(t, [{ kind: 'says' }])).outcome, { kind: 'responded', response: '' });
  t.match((await run(t, [{ kind: 'says', stop: 'refused' }])).outcome, { kind: 'failed', reason: /refused/ });
  t.match((await run(t, [{ kind: 'nothing' }])).outcome, { kind: 'failed', reason: /asked 4 times/ });
  t.match((await run(t, [{ kind: 'says', text: 'Half', stop: 'cut' }])).outcome, { response: /^Half\n\n\[/ });
});

t.test('DIS-3 · no secret is kept: not of the endpoint, nor of a tool', async (t) => {
  const refused = {
    kind: 'status',
    status: 400,
    body: '{"error":{"message":"bad key-of-the-model hunter22"}}',
  } as const;
  const { outcome } = await run(t, [calls('{"password":"hunter22"}'), refused], {
    tools: { call: () => Promise.resolve({ text: 'password hunter22', isError: false }) },
  });
  t.match(outcome, { kind: 'failed', reason: /HTTP 400: bad \[redacted\] \[redacted\]/ });
  t.notMatch(JSON.stringify(outcome), /hunter22|key-of-the-model/);
});

t.test('DIS-3 · a name too long for the endpoint reaches the tool that it stands for', async (t) => {
  const name = `mcp__server__${'x'.repeat(80)}`;
  let called = '';
  const server = await startModelServer(t, (asked, index) => {
    const [tool] = asked.body.tools as unknown as readonly { function: { name: string } }[];
    return index > 0
      ? { kind: 'says', text: 'Done' }
      : { kind: 'says', calls: [{ name: tool?.function.name ?? '', args: '{}' }] };
  });
  const runner: AgentRunner = createModelRunner(
    { provider: 'openai-compatible', baseUrl: server.url, name: 'usual', maxSteps: 5 },
    {
      toolsOf: () => ({
        offers: [{ ...look, name }],
        call: (given) => {
          called = given;
          return Promise.resolve({ text: 'seen', isError: false });
        },
      }),
      nowMs: () => 0,
      random: () => 0,
      redact: (text) => text,
    },
  );
  t.match(await runner(request, new AbortController().signal), { kind: 'responded' });
  t.equal(called, name);
});

t.test('DIS-3 · a run that is stopped stops its question and its tools', async (t) => {
  const inTool = new AbortController();
  const { outcome } = await run(t, [calls('{}'), { kind: 'says', text: 'never' }], {
    signal: inTool.signal,
    tools: {
      call: (_name, _args, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ text: 'stopped', isError: true }));
          inTool.abort();
        }),
    },
  });
  t.match(outcome, { kind: 'failed', reason: 'the run was stopped', account: { spending: { steps: 1 } } });

  const inQuestion = new AbortController();
  const server = await startModelServer(t, [{ kind: 'silent' }]);
  const runner = createModelRunner(
    { provider: 'anthropic', baseUrl: server.url, name: 'usual', maxSteps: 5 },
    {
      toolsOf: () => ({ offers: [], call: () => Promise.reject(new Error('none')) }),
      nowMs: () => 0,
      random: () => 0,
      redact: (text) => text,
    },
  );
  const running = runner(request, inQuestion.signal);
  await until(() => server.asked.length === 1);
  inQuestion.abort();
  t.match(await running, { kind: 'failed', reason: 'the run was stopped' });
  t.match(await runner(request, AbortSignal.abort()), { kind: 'failed', account: { spending: { steps: 0 } } });
});

t.test(
  'CRN-2 · DIS-3 · a run of a job that asks for another model has that one, at its own price where that is known',
  async (t) => {
    const says: ModelReply = { kind: 'says', text: 'Well.' };
    for (const [model, asked, cost] of [
      [undefined, 'usual', 1],
      ['usual', 'usual', 1],
      ['dear', 'dear', 7],
      ['other', 'other', undefined],
      ['constructor', 'constructor', undefined],
    ] as const) {
      const { outcome, server } = await run(t, [says], model === undefined ? {} : { model });
      t.match(outcome, { kind: 'responded' });
      t.equal(server.asked[0]?.body.model, asked);
      t.equal(outcome.account.spending.cost, cost);
    }
  },
);
