import t from 'tap';
import { secondsUntilFree, takeSlot } from '../../../machines/webhook/rate-window.ts';
import { fc } from '../../support/property.ts';

t.test('LIM-2 · a window lets exactly its limit through, and frees at the minute', (t) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 120 }),
      (limit, drawn) => {
        let window: ReturnType<typeof takeSlot> | undefined;
        const taken = new Map<number, number>();
        const wanted = new Map<number, number>();
        for (const nowMs of [...drawn].sort((one, other) => one - other)) {
          const minute = Math.floor(nowMs / 60_000);
          wanted.set(minute, (wanted.get(minute) ?? 0) + 1);
          if (secondsUntilFree(window, limit, nowMs) !== undefined) continue;
          window = takeSlot(window, nowMs);
          taken.set(minute, (taken.get(minute) ?? 0) + 1);
        }
        return [...wanted].every(([minute, asked]) => taken.get(minute) === Math.min(asked, limit));
      },
    ),
  );
  const full = takeSlot(undefined, 59_000);
  t.equal(secondsUntilFree(full, 1, 59_000), 1, 'Retry-After in whole seconds');
  t.equal(secondsUntilFree(full, 1, 60_000), undefined);
  t.equal(secondsUntilFree(undefined, 0, 60_000), 60, 'a limit of nothing lets nothing through');
  t.end();
});
