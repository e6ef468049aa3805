import t from 'tap';
import {
  answerOf,
  type Draft,
  emptyDraft,
  extendCall,
  faultOf,
  objectOf,
  tokensOf,
} from '../../../machines/agent/model-draft.ts';
import type { ToolAsk } from '../../../machines/agent/model-talk.ts';
import { fc } from '../../support/property.ts';

t.test('DIS-3 · however calls come in parts, each has its whole arguments, and an id of its own', (t) => {
  const call = fc.record({
    id: fc.constantFrom('', 'a', 'b', 'call_1'),
    parts: fc.array(fc.string(), { minLength: 1 }),
  });
  fc.assert(
    fc.property(fc.array(call), (given) => {
      const calls = new Map<string, ToolAsk>();
      for (const [index, { id, parts }] of given.entries()) {
        for (const [turn, argumentsText] of parts.entries()) {
          extendCall(calls, String(index), { id: turn === 0 ? id : '', name: 'one', argumentsText });
        }
      }
      const answer = answerOf({ ...emptyDraft(), calls, stop: 'calls' });
      const spelled = given.map(({ parts }) => parts.join(''));
      t.same(
        answer?.calls.map(({ argumentsText }) => argumentsText),
        spelled.map((text) => (text.trim() === '' ? '{}' : text)),
      );
      t.ok(answer?.calls.every(({ id, name }) => id !== '' && name === 'one'));
      t.equal(new Set(answer?.calls.map(({ id }) => id)).size, given.length);
    }),
  );
  t.end();
});

t.test('DIS-3 · a draft is no answer before the endpoint has said why it stopped', (t) => {
  const draft: Draft = { ...emptyDraft(), text: 'so far', ended: true };
  t.equal(answerOf(draft), undefined);
  t.match(answerOf({ ...draft, stop: 'cut' }), { text: 'so far', stop: 'cut' });
  t.end();
});

t.test('DIS-3 · counts of tokens are read by either name, and what is no count changes none', (t) => {
  const standing = { input: 1, cached: 0, written: 0, output: 2 };
  const rows: readonly (readonly [usage: Parameters<typeof tokensOf>[1], read: typeof standing])[] = [
    [
      { prompt_tokens: 5, completion_tokens: 6 },
      { ...standing, input: 5, output: 6 },
    ],
    [
      { input_tokens: 5, cache_creation_input_tokens: 10, cache_read_input_tokens: 100 },
      { input: 115, cached: 100, written: 10, output: 2 },
    ],
    [
      { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 } },
      { input: 9, cached: 4, written: 3, output: 2 },
    ],
    [
      { prompt_tokens: 9, prompt_cache_hit_tokens: 4 },
      { ...standing, input: 9, cached: 4 },
    ],
    [{ output_tokens: 9 }, { ...standing, output: 9 }],
    [{ prompt_tokens: -1, output_tokens: 0.5 }, standing],
    [{ prompt_tokens: '5' }, standing],
    [null, standing],
    [undefined, standing],
  ];
  for (const [usage, read] of rows) t.same(tokensOf(standing, usage), read, JSON.stringify(usage));
  t.end();
});

t.test('DIS-3 · an error is reported by one word, never by its message, and an unknown one does not pass', (t) => {
  t.same(faultOf({ type: 'rate_limit_error', message: 'sk-secret' }), {
    kind: 'error',
    type: 'rate_limit_error',
    retryable: true,
  });
  t.same(faultOf({ type: 'Says sk-secret', code: 'server_error' }), {
    kind: 'error',
    type: 'server_error',
    retryable: true,
  });
  t.same(faultOf({ type: 'tokens', code: 'rate_limit_exceeded' }), {
    kind: 'error',
    type: 'rate_limit_exceeded',
    retryable: true,
  });
  t.same(faultOf({ type: 'not_known', code: 'nor_this' }), { kind: 'error', type: 'not_known', retryable: false });
  t.same(faultOf({ type: 'not_known' }), { kind: 'error', type: 'not_known', retryable: false });
  t.same(
    faultOf({ type: 'Says sk-secret' }),
    { kind: 'error', type: 'error', retryable: true },
    'one that names none may pass',
  );
  // OpenRouter's have the status that another endpoint answered with.
  t.same(faultOf({ code: 502, message: 'Upstream idle timeout' }), { kind: 'error', type: '502', retryable: true });
  t.same(faultOf({ code: 429, message: 'per minute' }), { kind: 'error', type: '429', retryable: true });
  t.same(faultOf({ code: 403, message: 'moderation' }), { kind: 'error', type: '403', retryable: false });
  t.end();
});

t.test('DIS-3 · arguments that are no object go back as none', (t) => {
  for (const text of ['', '{"a":', '[1]', '7', 'null']) t.same(objectOf(text), {}, text);
  t.same(objectOf('{"a":1}'), { a: 1 });
  t.end();
});
