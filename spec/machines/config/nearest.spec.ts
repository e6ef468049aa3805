import t from 'tap';
import { meantOr, nearest } from '../../../machines/config/nearest.ts';

t.test('CFG-1 · a slip of the pen finds its word, another word finds none', (t) => {
  const known = ['timeout', 'connect_timeout', 'tools', 'url', 'env'];
  for (const [word, found] of [
    ['timout', 'timeout'],
    ['TimeOut', 'timeout'],
    ['tmeoutt', 'timeout'],
    ['tool', 'tools'],
    ['uri', 'url'],
    ['env', 'env'],
    ['headers', undefined],
    ['x', undefined],
    ['', undefined],
  ] as const) {
    t.equal(nearest(word, known), found, word);
  }
  t.equal(nearest('a', []), undefined);
  t.equal(meantOr('timout', known, 'look'), 'did you mean "timeout"?');
  t.equal(meantOr('headers', known, 'look'), 'look');
  t.end();
});
