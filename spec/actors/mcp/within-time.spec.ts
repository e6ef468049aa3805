import t from 'tap';
import { withinTime } from '../../../actors/mcp/within-time.ts';

t.test('LIF-13 · work that comes to an end gives its value or throws its error', (t) => {
  t.same(
    withinTime(1_000, () => 42),
    { kind: 'done', value: 42 },
  );
  t.throws(
    () =>
      withinTime(1_000, () => {
        throw new TypeError('its own');
      }),
    new TypeError('its own'),
  );
  t.end();
});

t.test('LIF-13 · work without an end is ended, and the next is not touched by it', (t) => {
  t.same(
    withinTime(20, () => {
      for (;;);
    }),
    { kind: 'late' },
  );
  t.same(
    withinTime(1_000, () => 'after'),
    { kind: 'done', value: 'after' },
  );
  t.end();
});
