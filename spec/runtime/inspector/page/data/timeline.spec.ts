import t from 'tap';
import type { Span, SpanPart } from '../../../../../runtime/control/contract/event-wire.ts';
import { axisOf, lay, longestWait, tookOf, tookWords } from '../../../../../runtime/inspector/page/data/timeline.ts';

const span = (kind: Span['kind'], parts: readonly SpanPart[]): Span =>
  ({
    id: kind,
    kind,
    name: kind,
    tone: 'resting',
    start: parts[0]?.start ?? 0,
    end: parts.at(-1)?.end ?? 0,
    parts,
  }) as Span;

t.test('INS-4 · the axis has five round steps, and a part lies on it in percent', (t) => {
  const axis = axisOf([span('run', [{ start: 1_000, end: 48_400, how: 'work' }])], 0, false);

  t.same(
    axis.ticks.map(({ words }) => words),
    ['0', '10 s', '20 s', '30 s', '40 s'],
  );
  t.same(lay({ start: 11_000, end: 21_000 }, axis), { left: 20, width: 20 });
  t.end();
});

t.test('INS-4 · a wait of more than 70 % can be shortened; what follows it keeps its length', (t) => {
  const person = { start: 100, end: 9_100, how: 'person' } as const;
  const spans = [
    span('call', [person, { start: 9_100, end: 9_200, how: 'work' }]),
    span('run', [{ start: 0, end: 9_200, how: 'work' }]),
  ];

  t.same(longestWait(spans, 0), person);
  const axis = axisOf(spans, 0, true);
  t.ok(lay(person, axis).width < 15);
  t.equal(
    Math.round(lay({ start: 9_100, end: 9_200 }, axis).width),
    Math.round(lay({ start: 0, end: 100 }, axis).width),
  );
  t.equal(longestWait([span('run', [{ start: 0, end: 9, how: 'work' }])], 0), undefined);
  t.equal(tookOf(spans[0] as Span, 0), 100, 'a call takes its own time, not that of a person');
  const { end: _, ...waiting } = span('call', [{ start: 100, how: 'person' }]);
  t.equal(tookOf(waiting, 9_100), 9_000, 'a call that is still waiting has taken the time since it began');
  t.equal(tookOf(span('call', [person]), 0), 0, 'a call that was denied took no time of its own');
  t.same(tookWords(span('call', [person]), 0), { shown: 'waited 9 s', read: 'waited 9 s for approval' }, 'but waited');
  t.same(tookWords(spans[0] as Span, 0), { shown: 'waited 9 s', read: 'waited 9 s for approval, ran 100 ms' });
  t.same(tookWords(waiting, 9_100), { shown: '9 s', read: '9 s' });
  t.end();
});
