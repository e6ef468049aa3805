import t from 'tap';
import { lineDifference } from '../../../../../runtime/inspector/page/data/line-difference.ts';

t.test('INS-4 · a difference keeps what is common and names what goes and comes', (t) => {
  const words = (before: string, after: string): string =>
    lineDifference([...before], [...after])
      .map(({ kind, text }) => `${kind === 'added' ? '+' : kind === 'removed' ? '-' : ''}${text}`)
      .join(' ');
  t.equal(words('abcde', 'abxde'), 'a b -c +x d e');
  t.equal(words('abc', 'abc'), 'a b c');
  t.equal(words('', 'ab'), '+a +b');
  t.equal(words('abcabba', 'cbabac'), '-a -b c -a b +a b a +c');
  t.end();
});
