import t from 'tap';
import { claimKey, timeText } from '../../../actors/store/keys.ts';
import { fc } from '../../support/property.ts';

t.test('DUR-1 · spells times so that they sort', async (t) => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), fc.nat(2 ** 31), (one, other) => {
      const [a, b] = [one * 100_000, other * 100_000];
      return a < b === timeText(a) < timeText(b) && timeText(a).length === 12;
    }),
  );
  t.equal(timeText(-5), timeText(0));
  t.equal(timeText(Number.POSITIVE_INFINITY), 'f'.repeat(12));
  t.equal(timeText(1.5), timeText(2), 'a moment within a millisecond is due when that is over');
});

t.test('IDM-2 · keeps short names and shortens long ones to a digest of their own', async (t) => {
  t.equal(claimKey('delivery/x'), 'delivery/x');
  const long = 'x'.repeat(501);
  t.match(claimKey(long), /^sha256:[0-9a-f]{64}$/);
  t.not(claimKey(long), claimKey(`${long}x`));
  t.match(claimKey(''), /^sha256:/);
});
