import t from 'tap';
import { secondsUntilFree, shareOf, takeSlot } from '../../../machines/webhook/rate-window.ts';
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

t.test('LIM-2 · SCA-1 · the shares of all gateways are the limit in each minute, and each has its turn', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 1, max: 9 }), fc.nat(999), (limit, of, minute) => {
      const places = Array.from({ length: of }, (_, at) => ({ of, at }));
      const minutes = Array.from({ length: of }, (_, later) => (minute + later) * 60_000);
      const shares = minutes.map((nowMs) => places.map((place) => shareOf(limit, place, nowMs)));
      const sum = (of: readonly number[]): number => of.reduce((all, one) => all + one, 0);
      return (
        shares.every((one) => sum(one) === limit && Math.max(...one) - Math.min(...one) <= 1) &&
        places.every((_, at) => sum(shares.map((one) => one[at] ?? 0)) === limit)
      );
    }),
  );
  t.end();
});
