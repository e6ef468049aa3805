import t from 'tap';
import { retryAfterMs, type WaitHints } from '../../../machines/dispatch/retry-after.ts';
import { fc } from '../../support/property.ts';

const nowMs = Date.parse('2026-11-03T12:00:00Z');

t.test('DLV-4 · reads the wait in every way that platforms say it', (t) => {
  for (const [hints, wait] of [
    [{}, undefined],
    [{ header: null }, undefined],
    [{ header: '30' }, 30_000],
    [{ header: ' 1.5 ' }, 1_500],
    [{ header: 'Tue, 03 Nov 2026 12:00:10 GMT' }, 10_000],
    [{ header: 'Tuesday, 03-Nov-26 12:00:10 GMT' }, 10_000],
    [{ header: 'Tue Nov  3 12:00:10 2026' }, 10_000],
    [{ header: 'Tue, 03 Nov 2026 11:00:00 GMT' }, 0],
    [{ header: 'soon' }, undefined],
    [{ header: '-5' }, undefined],
    [{ header: '2026-11-03T12:00:10Z' }, undefined],
    [{ seconds: 64.57 }, 64_570],
    [{ seconds: '7' }, 7_000],
    [{ seconds: '' }, undefined],
    [{ seconds: null }, undefined],
    [{ seconds: {} }, undefined],
    [{ seconds: -1 }, undefined],
    [{ seconds: Number.NaN }, undefined],
    [{ milliseconds: 2_000 }, 2_000],
    [{ header: '65', seconds: 64.57 }, 65_000],
    [{ seconds: 1e12 }, 86_400_000],
    [{ header: '0' }, 0],
  ] as const satisfies readonly (readonly [WaitHints, number | undefined])[]) {
    t.equal(retryAfterMs(hints, nowMs), wait, JSON.stringify(hints));
  }
  t.end();
});

t.test('DLV-4 · a wait is a whole number of milliseconds within a day, whatever a platform says', (t) => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.string(), (seconds, milliseconds, header) => {
      const wait = retryAfterMs({ seconds, milliseconds, header }, nowMs);
      return wait === undefined || (Number.isInteger(wait) && wait >= 0 && wait <= 86_400_000);
    }),
  );
  t.end();
});
