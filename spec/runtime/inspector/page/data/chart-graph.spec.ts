import t from 'tap';
import type { ChartState, ChartTransition } from '../../../../../runtime/control/contract/wire.ts';
import { activeStates } from '../../../../../runtime/inspector/page/data/chart-graph.ts';
import { formatTransition, graphOf } from '../../../../house/chart-graph.ts';

const state = (id: string, more: Partial<ChartState> = {}): ChartState => ({
  id,
  parent: null,
  name: id,
  kind: 'atomic',
  initial: false,
  description: '',
  rule: '',
  tags: [],
  entry: [],
  exit: [],
  invokes: [],
  ...more,
});
let last = 0;
const transition = (from: string | null, to: string | null, more: Partial<ChartTransition> = {}): ChartTransition => {
  last += 1;
  return { id: last, from, to, kind: 'event', label: 'go', event: 'go', actions: [], ...more };
};

t.test('INS-2 · all transitions between two states are one arrow with their words', async (t) => {
  const graph = graphOf({
    machine: 'm',
    states: [state('idle', { initial: true }), state('busy')],
    transitions: [
      transition('idle', 'busy'),
      transition('idle', 'busy', { label: 'wake' }),
      transition('idle', 'busy', { label: 'poke' }),
      transition('idle', 'busy', { label: 'a.name.that.is.much.too.long.to.be.drawn' }),
      transition('busy', 'idle', { kind: 'after', label: 'retry' }),
    ],
  });
  t.same(
    graph.arrows.map(({ id, words }) => [id, words]),
    [
      ['idle→busy', ['go', 'wake', 'and 2 more']],
      ['busy→idle', ['after retry']],
    ],
  );
  t.equal(graph.arrows[0]?.transitions.length, 4);
  t.same(graph.initials, ['idle']);
});

t.test('INS-2 · a transition within its state is no arrow, and one of every state is listed apart', async (t) => {
  const everywhere = transition(null, 'busy', { label: 'stop' });
  const graph = graphOf({
    machine: 'm',
    states: [state('idle'), state('busy')],
    transitions: [transition('idle', null), transition('idle', 'idle'), transition(null, null), everywhere],
  });
  t.same(graph.arrows, []);
  t.same(graph.anywhere, [everywhere]);
});

t.test('INS-2 · a transition is written in a few characters', async (t) => {
  const rows = [
    [{}, 'go'],
    [{ guard: 'isOpen' }, 'go [is open]'],
    [{ kind: 'always', label: '', guard: 'isOpen' }, '[is open]'],
    [{ kind: 'after', label: 'quiet' }, 'after quiet'],
    [{ kind: 'done', label: 'load' }, 'load done'],
    [{ kind: 'done', label: 'load', guard: 'isGood' }, '[is good]'],
    [{ kind: 'error', label: 'load' }, 'load failed'],
  ] as const;
  for (const [more, words] of rows) t.equal(formatTransition(transition('a', 'b', more)), words);
});

t.test('INS-2 · a nested state is active with everything that it lies in', async (t) => {
  t.same([...activeStates('up.running')], ['up', 'up.running']);
  t.same([...activeStates('a.x b.y')], ['a', 'a.x', 'b', 'b.y']);
});
