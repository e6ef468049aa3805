import fc from 'fast-check';
import t from 'tap';
import { secondsUntilFree, takeSlot } from '../../../machines/webhook/rate-window.ts';

t.test('LIM-2 · a window never lets more through than its limit, and frees at the minute', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 120 }),
      (limit, drawn) => {
        let window: ReturnType<typeof takeSlot> | undefined;
        const taken = new Map<number, number>();
        for (const nowMs of [...drawn].sort((one, other) => one - other)) {
          if (secondsUntilFree(window, limit, nowMs) !== undefined) continue;
          window = takeSlot(window, nowMs);
          const minute = Math.floor(nowMs / 60_000);
          taken.set(minute, (taken.get(minute) ?? 0) + 1);
        }
        return [...taken.values()].every((count) => count <= limit);
      },
    ),
  );
  const full = takeSlot(undefined, 59_000);
  t.equal(secondsUntilFree(full, 1, 59_000), 1, 'Retry-After in whole seconds');
  t.equal(secondsUntilFree(full, 1, 60_000), undefined);
  t.end();
});
