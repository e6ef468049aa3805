import t from 'tap';
import { type ChatScreen, createScreen } from '../../../cli/chat/screen.ts';
import type { Output } from '../../../cli/context.ts';
import type { JsonObject } from '../../../machines/base/json.ts';

interface Seen {
  readonly screen: ChatScreen;
  /** What went to the output and what went where errors go, since it was asked before. */
  readonly shown: () => string;
  readonly beside: () => string;
  resize(columns: number): void;
}

function seen(isTerminal: boolean): Seen {
  const held = { shown: '', beside: '' };
  let columns = 30;
  const out: Output = {
    isTerminal,
    coloured: false,
    get columns() {
      return columns;
    },
    print(text) {
      held.shown += text;
    },
    complain(text) {
      held.beside += text;
    },
  };
  const taken = (name: keyof typeof held): string => {
    const text = held[name];
    held[name] = '';
    return text;
  };
  return {
    screen: createScreen(out, isTerminal),
    shown: () => taken('shown'),
    beside: () => taken('beside'),
    resize(to) {
      columns = to;
    },
  };
}

const text = (said: string): JsonObject => ({ kind: 'text', text: said });
const call = (more: JsonObject = {}): JsonObject => ({ kind: 'call', tool: 'read', arguments: '{"a":1}', ...more });
const over = { outcome: 'answered', steps: 1, input_tokens: 20, output_tokens: 10 };

t.test('CLI-4 · a terminal gets the answer as it comes, its lines ended between words', (t) => {
  const { screen, shown, resize } = seen(true);
  screen.event(text('the answer comes in'));
  t.equal(shown(), 'the answer comes in');
  screen.event(text(' many many pieces'));
  t.equal(shown(), ' many many\npieces');
  resize(20);
  screen.event(text(' and some more'));
  t.equal(shown(), ' and some\nmore', 'a terminal that is made narrower');
  screen.outcome(over);
  t.equal(shown(), '\n  1 step · 20+10 tokens\n');
  screen.event(text('0123456789 0123456'));
  t.equal(shown(), '0123456789 0123456', 'the next answer begins its own line');
  t.end();
});

t.test('CLI-4 · calls, their results and a model that is asked again stand on lines of their own', (t) => {
  const { screen, shown, resize } = seen(true);
  resize(40);
  const rows: readonly (readonly [JsonObject, string])[] = [
    [text('Let me see'), 'Let me see'],
    [call(), '\n  → read {"a":1}\n'],
    [call({ arguments: `{"long":"${'x'.repeat(60)}"}` }), `  → read {"long":"${'x'.repeat(20)}…\n`],
    [call({ arguments: '日'.repeat(60) }), `  → read ${'日'.repeat(14)}…\n`],
    [{ kind: 'result', characters: 1 }, '  ✓ 1 character\n'],
    [{ kind: 'result', characters: 12_400 }, '  ✓ 12k characters\n'],
    [{ kind: 'result', is_error: true, text: 'no such\nfile' }, '  ✗ no such file\n'],
    [{ kind: 'again', text: 'HTTP 529' }, '  the model is asked again: HTTP 529\n'],
    [text('It says so.\n'), 'It says so.\n'],
    [call(), '  → read {"a":1}\n'],
    [{ kind: 'of a later version', text: 'x' }, ''],
  ];
  for (const [event, expected] of rows) {
    screen.event(event);
    t.equal(shown(), expected, JSON.stringify(event));
  }
  t.end();
});

t.test('CLI-4 · a turn ends with what it took, that it was cancelled, or why it failed', (t) => {
  const { screen, shown, beside } = seen(true);
  screen.outcome({ ...over, steps: 2, cost: 0.01 });
  t.equal(shown(), '  2 steps · 20+10 tokens · cost 0.01\n');
  screen.event(text('I beg'));
  screen.outcome({ ...over, outcome: 'cancelled' });
  t.equal(shown(), 'I beg\n  (cancelled)\n');
  screen.outcome({ ...over, outcome: 'failed', reason: 'HTTP \u001b[2J401' });
  t.equal(beside(), 'agent: HTTP \uFFFD[2J401\n');
  screen.say('said');
  screen.set('a sentence that is longer than the line');
  t.match(shown(), /\nsaid\n {2}a sentence that is longer\n {2}than the line\n$/);
  t.end();
});

t.test('CLI-4 · to a pipe goes the answer alone, as it was said; the rest goes where errors go', (t) => {
  const { screen, shown, beside } = seen(false);
  const long = 'words and words and words and words and words';
  screen.event(text(long));
  screen.event(call());
  screen.event({ kind: 'result', characters: 3 });
  screen.event(text('and \u001b]0;more'));
  screen.outcome(over);
  t.equal(shown(), `${long}\nand \uFFFD]0;more\n`, 'nothing moves the cursor');
  t.equal(beside(), '  → read {"a":1}\n  ✓ 3 characters\n');
  screen.set(long);
  t.equal(shown(), `  ${long}\n`);
  t.end();
});
