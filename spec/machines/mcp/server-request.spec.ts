import t from 'tap';
import type { Json, JsonObject } from '../../../machines/base/json.ts';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import { admitElicitation, admitSampling, rootsAnswer } from '../../../machines/mcp/server-request.ts';
import { readServerSettings, type SamplingPolicy } from '../../../machines/mcp/server-settings.ts';
import { fc } from '../../support/property.ts';

const defaults = readServerSettings(normaliseServerEntry('s', { command: 'x' }));

function policy(given: Partial<SamplingPolicy>): SamplingPolicy {
  return { ...defaults.sampling, ...given };
}

const hints = (...names: readonly string[]): JsonObject => ({
  modelPreferences: { hints: names.map((name) => ({ name })) },
});
const toolUse: Json = {
  role: 'assistant',
  content: [
    { type: 'text', text: '' },
    { type: 'tool_use', id: '1', name: 'x' },
  ],
};
const toolResult: Json = { role: 'user', content: [{ type: 'tool_result', toolUseId: '1', content: [] }] };
const rounds = (count: number): JsonObject => ({
  messages: Array.from({ length: count }, () => [toolUse, toolResult]).flat(),
});

t.test('SRV-2 · the policy has its documented defaults', (t) => {
  t.same(defaults.sampling, {
    enabled: true,
    allowedModels: [],
    maxTokensCap: 4096,
    timeoutMs: 30_000,
    maxRequestsPerMinute: 10,
    maxToolRounds: 5,
  });
  t.same(admitSampling(defaults.sampling, {}, [], 0), { kind: 'admitted', maxTokens: 4096 });
  t.end();
});

t.test('SRV-2 · sampling that is disabled is refused', (t) => {
  t.same(admitSampling(policy({ enabled: false }), {}, [], 0), {
    kind: 'refused',
    reason: 'sampling is disabled for this server',
  });
  t.end();
});

t.test(
  'SRV-2 · the configured model wins, then the hints within the list, then the list; without a list that of the agent',
  (t) => {
    const list = ['claude-sonnet-4', 'gpt-5', 'gpt-5-mini'];
    const rows: readonly (readonly [Partial<SamplingPolicy>, JsonObject, string | undefined | false])[] = [
      [{}, {}, undefined],
      [{}, hints('a', 'b'), undefined],
      [{}, hints('', 'b'), undefined],
      [{ model: 'own' }, hints('a'), 'own'],
      [{ model: 'own', allowedModels: list }, hints('gpt-5'), 'own'],
      [{ allowedModels: list }, {}, 'claude-sonnet-4'],
      [{ allowedModels: list }, hints('gpt-5'), 'gpt-5'],
      [{ allowedModels: list }, hints('mini'), 'gpt-5-mini'],
      [{ allowedModels: list }, hints('opus', 'sonnet'), 'claude-sonnet-4'],
      [{ allowedModels: list }, hints('gpt-5-mini', 'sonnet'), 'gpt-5-mini'],
      [{ allowedModels: list }, hints('opus', 'llama'), false],
      [{ allowedModels: list }, hints('gpt-5-mini-2'), false],
      [{ allowedModels: list }, { modelPreferences: { hints: [{}, 'gpt-5', null] } }, 'claude-sonnet-4'],
      [{ allowedModels: list }, { modelPreferences: 'gpt-5' }, 'claude-sonnet-4'],
    ];
    for (const [given, request, expected] of rows) {
      const verdict = admitSampling(policy(given), request, [], 0);
      t.equal(verdict.kind === 'admitted' ? verdict.model : false, expected, JSON.stringify([given, request]));
    }
    t.same(admitSampling(policy({ allowedModels: list }), hints('opus', 'llama'), [], 0), {
      kind: 'refused',
      reason: 'model not allowed: opus, llama',
    });
    t.end();
  },
);

t.test('SRV-2 · a model from a list is on it, whatever is asked', (t) => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(name, { minLength: 1 }), fc.array(name), (allowedModels, asked) => {
      const verdict = admitSampling(policy({ allowedModels }), hints(...asked), [], 0);
      return verdict.kind === 'refused' || allowedModels.includes(verdict.model ?? '');
    }),
  );
  t.end();
});

t.test('SRV-2 · the tokens are capped', (t) => {
  const rows: readonly (readonly [Json, number])[] = [
    [100, 100],
    [4096, 4096],
    [4097, 4096],
    [1e9, 4096],
    [1, 1],
    [0, 4096],
    [-5, 4096],
    [1.9, 1],
    ['100', 4096],
    [null, 4096],
  ];
  for (const [maxTokens, expected] of rows)
    t.match(admitSampling(defaults.sampling, { maxTokens }, [], 0), { maxTokens: expected }, JSON.stringify(maxTokens));
  t.end();
});

t.test('SRV-2 · what the model is given is limited as well, whichever part it is in', (t) => {
  const saying = (text: string): JsonObject => ({ messages: [{ role: 'user', content: { type: 'text', text } }] });
  t.equal(admitSampling(defaults.sampling, saying('x'.repeat(262_000)), [], 0).kind, 'admitted');
  const long = 'x'.repeat(262_144);
  const empty = Array.from({ length: 40_000 }, () => ({ role: 'user' }));
  // Deeper than the stack of some engines, and too long for those that can write it.
  const deep = JSON.parse(`${'['.repeat(140_000)}${']'.repeat(140_000)}`) as Json;
  const parts: readonly JsonObject[] = [{ systemPrompt: long }, { stopSequences: [long] }, { messages: empty }];
  for (const request of [...parts, saying(long), { messages: deep }]) {
    const refused = { kind: 'refused', reason: 'the model is given at most 262144 characters' };
    t.same(admitSampling(defaults.sampling, request, [], 0), refused, Object.keys(request).join());
  }
  t.end();
});

t.test('SRV-2 · no more requests than the limit are admitted within any minute', (t) => {
  const two = policy({ maxRequestsPerMinute: 2 });
  const rows: readonly (readonly [readonly number[], number, string])[] = [
    [[], 0, 'admitted'],
    [[0], 1, 'admitted'],
    [[0, 1], 59_999, 'refused'],
    [[0, 1], 60_000, 'admitted'],
    [[0, 1, 2], 60_000, 'refused'],
    [[70_000, 70_000], 60_000, 'refused'],
  ];
  for (const [times, nowMs, kind] of rows)
    t.equal(admitSampling(two, {}, times, nowMs).kind, kind, JSON.stringify([times, nowMs]));
  t.equal(admitSampling(policy({ maxRequestsPerMinute: 0 }), {}, [], 0).kind, 'refused');
  fc.assert(
    fc.property(fc.array(fc.nat(200_000)), (given) => {
      const admitted: number[] = [];
      for (const nowMs of given.toSorted((one, other) => one - other))
        if (admitSampling(two, {}, admitted, nowMs).kind === 'admitted') admitted.push(nowMs);
      return admitted.every((atMs, index) => index < 2 || atMs - (admitted[index - 2] ?? 0) >= 60_000);
    }),
  );
  t.end();
});

t.test('SRV-2 · no round of tools is passed on, and more than are allowed are refused as such', (t) => {
  const two = policy({ maxToolRounds: 2 });
  t.match(admitSampling(two, rounds(2), [], 0), { kind: 'refused', reason: /text only, and a message holds tool_use/ });
  t.match(admitSampling(two, rounds(3), [], 0), { kind: 'refused', reason: 'more than 2 rounds of tool use' });
  t.match(admitSampling(policy({ maxToolRounds: 0 }), {}, [], 0), { kind: 'admitted' });
  const talk = { messages: Array.from({ length: 9 }, () => ({ role: 'assistant', content: { type: 'text' } })) };
  t.match(admitSampling(two, talk, [], 0), { kind: 'admitted' });
  const single = {
    messages: [
      { role: 'assistant', content: { type: 'tool_use' } },
      { role: 'user', content: { type: 'tool_use' } },
      null,
      'x',
    ],
  };
  t.match(admitSampling(policy({ maxToolRounds: 1 }), single, [], 0), { reason: /holds tool_use/ });
  t.end();
});

t.test('SRV-1 · a form is asked, with or without its mode; URL mode and any other are declined', (t) => {
  const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  const ask = { kind: 'ask', ...form };
  t.same(admitElicitation(defaults.elicitation, form, { waiting: 0, unfilled: 0 }), ask);
  t.same(admitElicitation(defaults.elicitation, { ...form, mode: 'form' }, { waiting: 0, unfilled: 0 }), ask);
  t.same(
    admitElicitation(
      defaults.elicitation,
      { mode: 'url', url: 'https://evil', message: 'x' },
      { waiting: 0, unfilled: 0 },
    ),
    {
      kind: 'decline',
      why: 'url mode is not offered',
    },
  );
  t.equal(
    admitElicitation(defaults.elicitation, { ...form, mode: 'voice' }, { waiting: 0, unfilled: 0 }).kind,
    'decline',
  );
  t.equal(admitElicitation(defaults.elicitation, { ...form, mode: 7 }, { waiting: 0, unfilled: 0 }).kind, 'decline');
  t.same(admitElicitation(defaults.elicitation, { ...form, mode: '' }, { waiting: 0, unfilled: 0 }), {
    kind: 'decline',
    why: 'this mode is not offered',
  });
  t.end();
});

t.test('SRV-1 · ten forms of a server may wait for a person, and one more is declined', (t) => {
  t.equal(admitElicitation(defaults.elicitation, { message: 'x' }, { waiting: 9, unfilled: 2 }).kind, 'ask');
  const unbidden = (count: number) =>
    admitElicitation(defaults.elicitation, { message: 'x' }, { waiting: count, unfilled: 0, unbidden: count });
  t.equal(unbidden(3).kind, 'ask');
  t.match(unbidden(4), { kind: 'decline', why: '4 of its forms that belong to no call wait already' });
  t.same(admitElicitation(defaults.elicitation, { message: 'x' }, { waiting: 0, unfilled: 3 }), {
    kind: 'decline',
    why: '3 forms of this call were not filled in',
  });
  t.same(admitElicitation(defaults.elicitation, { message: 'x' }, { waiting: 10, unfilled: 0 }), {
    kind: 'decline',
    why: '10 of its forms wait already',
  });
  t.end();
});

t.test('SRV-2 · a message that holds more than text is refused, and not passed on without it', (t) => {
  for (const kind of ['image', 'audio', 'tool_use', 'tool_result', 'resource']) {
    const media = { type: kind, data: 'AAAA', mimeType: 'x/y' };
    for (const content of [media, [{ type: 'text', text: 'What is this?' }, media]]) {
      t.same(admitSampling(defaults.sampling, { messages: [{ role: 'user', content }] }, [], 0), {
        kind: 'refused',
        reason: `the model is given text only, and a message holds ${kind}`,
      });
    }
  }
  t.match(admitSampling(defaults.sampling, { messages: [{ role: 'user' }] }, [], 0), { reason: /no content block/ });
  t.match(admitSampling(defaults.sampling, { tools: [{ name: 'x' }] }, [], 0), { reason: /is given no tools/ });
  t.match(admitSampling(defaults.sampling, { tools: [] }, [], 0), { kind: 'admitted' });
  t.end();
});

t.test('SRV-1 · elicitation is on for 300 s by default, and declined where it is off', (t) => {
  t.same(defaults.elicitation, { enabled: true, timeoutMs: 300_000 });
  t.same(
    admitElicitation(
      { enabled: false, timeoutMs: 1 },
      { message: 'x', requestedSchema: {} },
      { waiting: 0, unfilled: 0 },
    ),
    {
      kind: 'decline',
      why: 'elicitation is disabled for this server',
    },
  );
  t.end();
});

t.test('SRV-3 · roots answers the folders of the entry in their order, by file URLs only', (t) => {
  const rows: readonly (readonly [string, unknown])[] = [
    ['file:///home/u/proj', [{ uri: 'file:///home/u/proj', name: 'proj' }]],
    ['file:///home/u/my%20proj/', [{ uri: 'file:///home/u/my%20proj/', name: 'my proj' }]],
    ['file:///home/u/50%', [{ uri: 'file:///home/u/50%', name: '50%' }]],
    ['file:///', [{ uri: 'file:///', name: '/' }]],
    ['/home/u/proj', []],
    ['https://h/proj', []],
    ['', []],
  ];
  for (const [url, roots] of rows) t.same(rootsAnswer([url]), { roots }, url);
  t.same(rootsAnswer([]), { roots: [] });
  t.same(
    rootsAnswer(['file:///b', 'https://h/x', 'file:///a']).roots.map(({ name }) => name),
    ['b', 'a'],
  );
  t.end();
});

t.test('SRV-1 · a form is bounded, and has no invisible or secret text', (t) => {
  const policy = { enabled: true, timeoutMs: 1_000 };
  const message = `Sign in${String.fromCodePoint(0xe0041)} with Bearer abcdef123456 ${'x'.repeat(10_000)}`;
  const verdict = admitElicitation(
    policy,
    { message, requestedSchema: { type: 'object', title: 'sk-abcdef123' } },
    { waiting: 0, unfilled: 0 },
  );
  t.match(verdict, { kind: 'ask', requestedSchema: { type: 'object', title: '[redacted]' } });
  const shown = verdict.kind === 'ask' ? verdict.message : '';
  t.match(shown, /^Sign in with Bearer \[redacted\] x/);
  t.equal(shown.length, 4_000);
  const long = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(70_000) } } };
  t.same(admitElicitation(policy, { message: 'Who?', requestedSchema: long }, { waiting: 0, unfilled: 0 }), {
    kind: 'decline',
    why: 'its form is too long',
  });
  t.end();
});
