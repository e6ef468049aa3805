import t from 'tap';
import { type ModelAnswer, noTokens } from '../../../machines/agent/model-talk.ts';
import { maxCallsAtOnce, nextStep } from '../../../machines/agent/tool-loop.ts';

const state = { steps: 1, maxSteps: 3, isOffered: (name: string) => name === 'look' };
const answer = (more: Partial<ModelAnswer>): ModelAnswer => ({
  text: '',
  calls: [],
  stop: 'ended',
  tokens: noTokens,
  ...more,
});
const ask = (argumentsText: string, name = 'look') => ({ id: 'c', name, argumentsText });

t.test('DIS-3 · an answer without calls is the response, an empty one too', (t) => {
  t.same(nextStep(answer({ text: 'Done' }), state), { kind: 'respond', response: 'Done' });
  t.same(nextStep(answer({}), state), { kind: 'respond', response: '' });
  t.match(nextStep(answer({ text: 'Half', stop: 'cut' }), state), {
    kind: 'respond',
    response: /^Half\n\n\[the model’s token limit/,
  });
  t.match(nextStep(answer({ text: 'x', stop: 'refused' }), state), { kind: 'fail', reason: /refused/ });
  t.end();
});

t.test('DIS-3 · what a model thinks in its text is no part of the response', (t) => {
  const thought = '\n<think>\nLet me see.\n</think>\n\n';
  t.same(nextStep(answer({ text: `${thought}Done` }), state), { kind: 'respond', response: 'Done' });
  t.same(nextStep(answer({ text: thought }), state), { kind: 'respond', response: '' });
  // Qwen's and DeepSeek's templates put the opening tag into the prompt.
  t.same(nextStep(answer({ text: 'Let me see.\n</think>\n\nDone' }), state), { kind: 'respond', response: 'Done' });
  for (const text of [
    'Use <think>x</think> tags',
    'It ends with <think>\nx\n</think>\n\nand goes on',
    '<think>not closed',
    'a\n</think>\nb',
    'It answers:\n```\nI see.\n</think>\n\nDone\n```',
  ]) {
    t.same(nextStep(answer({ text }), state), { kind: 'respond', response: text });
  }
  const fenced = 'Like\n```\nx\n```\n</think>\n\nDone';
  t.same(nextStep(answer({ text: fenced, reasoning: '' }), state), { kind: 'respond', response: 'Done' });
  t.same(nextStep(answer({ text: fenced, reasoning: 'Let me see.' }), state), { kind: 'respond', response: fenced });
  t.match(nextStep(answer({ text: `${thought}Half`, stop: 'cut' }), state), { response: /^Half\n\n\[the model/ });
  t.end();
});

t.test('DIS-3 · a run whose model reached its limit before it answered fails', (t) => {
  for (const text of ['', ' \n', '<think>Let me', '<think>Let me see.</think>\n']) {
    t.match(nextStep(answer({ text, stop: 'cut' }), state), {
      kind: 'fail',
      reason: /before it answered; raise agent\.model\.max_tokens/,
    });
  }
  t.end();
});

t.test('DIS-3 · calls are carried out, whatever reason to stop came with them', (t) => {
  for (const stop of ['calls', 'ended'] as const) {
    t.same(nextStep(answer({ calls: [ask('{"at":1}')], stop }), state), {
      kind: 'callTools',
      calls: [{ kind: 'call', ask: ask('{"at":1}'), args: { at: 1 } }],
    });
  }
  t.end();
});

t.test('DIS-3 · an id that a number would round reaches the tool with all its digits', (t) => {
  const one = ask('{"id":1234567890123456789,"page":2}');
  t.strictSame(nextStep(answer({ calls: [one], stop: 'calls' }), state), {
    kind: 'callTools',
    calls: [{ kind: 'call', ask: one, args: { id: '1234567890123456789', page: 2 } }],
  });
  t.end();
});

t.test('DIS-3 · malformed arguments and unknown tools become errors that the model reads', (t) => {
  const rows: readonly (readonly [ReturnType<typeof ask>, RegExp])[] = [
    [ask('{"at":'), /arguments are not JSON: "\{\\"at\\":"/],
    [ask('[1]'), /not a JSON object/],
    [ask('null'), /not a JSON object/],
    [ask('{}', 'rm'), /no tool is named "rm"/],
    [ask('{}', ''), /no tool is named ""/],
  ];
  for (const [one, why] of rows) {
    t.match(nextStep(answer({ calls: [one], stop: 'calls' }), state), { calls: [{ kind: 'refuse', why }] });
  }
  t.end();
});

t.test('DIS-3 · a call that the token limit cut off is not made, those before it are', (t) => {
  const step = nextStep(answer({ calls: [ask('{}'), ask('{}')], stop: 'cut' }), state);
  t.match(step, { calls: [{ kind: 'call' }, { kind: 'refuse', why: /token limit/ }] });
  t.end();
});

t.test(
  'DIS-3 · a model that loops on tools is stopped at its last step, and one that asks for too many gets some',
  (t) => {
    const calls = [ask('{}')];
    t.match(nextStep(answer({ calls }), { ...state, steps: 2 }), { kind: 'callTools' });
    t.match(nextStep(answer({ calls }), { ...state, steps: 3 }), {
      kind: 'fail',
      reason: 'the model still asked for tools after 3 steps (agent.model.max_steps)',
    });
    const many = nextStep(answer({ calls: Array.from({ length: 40 }, () => ask('{}')) }), state);
    const kinds = many.kind === 'callTools' ? many.calls.map(({ kind }) => kind) : [];
    t.equal(kinds.filter((kind) => kind === 'call').length, maxCallsAtOnce);
    t.equal(kinds.length, 40);
    t.end();
  },
);
