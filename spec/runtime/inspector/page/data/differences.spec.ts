import t from 'tap';
import { changedLines, comparable, differencesOf } from '../../../../../runtime/inspector/page/data/differences.ts';

t.test('INS-4 · a changed line is removed and added, with the part that differs', (t) => {
  const lines = differencesOf(
    '{\n  "files": 4,\n  "draft": false\n}',
    '{\n  "files": 240,\n  "draft": false,\n  "n": 1\n}',
  );

  t.same(
    lines.map(({ kind, text }) => [kind, text.trim()]),
    [
      ['same', '{'],
      ['removed', '"files": 4,'],
      ['removed', '"draft": false'],
      ['added', '"files": 240,'],
      ['added', '"draft": false,'],
      ['added', '"n": 1'],
      ['same', '}'],
    ],
  );
  t.equal(changedLines(lines), 3);
  const [before, after] = differencesOf('a 4 b', 'a 240 b');
  t.same(
    [before?.changed, after?.changed],
    [
      [2, 3],
      [2, 5],
    ],
  );
  t.equal(changedLines(differencesOf('a\nb', 'a\nb')), 0);
  t.end();
});

t.test('INS-4 · what is common stays, in order', (t) => {
  const words = (before: string, after: string): string =>
    differencesOf([...before].join('\n'), [...after].join('\n'))
      .map(({ kind, text }) => `${kind === 'added' ? '+' : kind === 'removed' ? '-' : ''}${text}`)
      .join(' ');
  t.equal(words('abcde', 'abxde'), 'a b -c +x d e');
  t.equal(words('abc', 'abc'), 'a b c');
  t.equal(words('', 'ab'), '+a +b');
  t.equal(words('abcabba', 'cbabac'), '-a -b c -a b +a b a +c');
  t.end();
});

t.test('INS-4 · JSON is compared by key, whatever its order; other text as it is', (t) => {
  t.equal(comparable('{"b":1,"a":{"d":2,"c":3}}'), comparable('{"a":{"c":3,"d":2},"b":1}'));
  t.equal(comparable('a=1&b=2'), 'a=1&b=2');
  t.not(comparable('{"id":9007199254740993}'), comparable('{"id":9007199254740992}'), 'two ids are never equal');
  const mixed = '[-9007199254740993,1700000000000000,0.1234567890123456,"9007199254740993"]';
  t.equal(
    comparable(mixed),
    '[\n  "-9007199254740993",\n  1700000000000000,\n  0.1234567890123456,\n  "9007199254740993"\n]',
  );
  t.end();
});
