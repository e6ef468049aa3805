import t from 'tap';
import { joinGlobs, matchesGlob, splitGlobs } from '../../../machines/mcp/glob.ts';
import { isLinear } from '../../support/linear.ts';
import { fc, runs } from '../../support/property.ts';

t.test('FLT-1 · globs match as a shell matches names', (t) => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['list_items', 'list_items', true],
    ['list_items', 'list_item', false],
    ['List', 'list', false],
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['*', 'a/b.c\nd', true],
    ['list_*', 'list_', true],
    ['list_*', 'xlist_a', false],
    ['*_v2', 'list_v2', true],
    ['*_v2', 'list_v2_old', false],
    ['a*b*c', 'aXbYbZc', true],
    ['a*b*c', 'aXbY', false],
    ['**a**', 'bab', true],
    ['*ab', 'aab', true],
    ['*a?c', 'aaabc', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['?', '😀', true],
    ['??', '😀', false],
    ['[abc]x', 'bx', true],
    ['[abc]x', 'dx', false],
    ['[a-c]', 'b', true],
    ['[a-c]', 'B', false],
    ['[c-a]', 'b', false],
    ['[!a-z]', '5', true],
    ['[!a-z]', 'm', false],
    ['[!a-z]', '', false],
    ['[^a]', '^', true],
    ['[^a]', 'b', false],
    ['[]a]', ']', true],
    ['[]a]', 'a', true],
    ['[!]a]', ']', false],
    ['[!]a]', 'b', true],
    ['[a-]', '-', true],
    ['[-a]', '-', true],
    ['[a-]', 'b', false],
    ['[\\]]', ']', true],
    ['[a\\-c]', 'b', false],
    ['[a\\-c]', '-', true],
    ['[!]', '[!]', true],
    ['[', '[', true],
    ['[abc', '[abc', true],
    ['[abc', 'a', false],
    ['[]', '[]', true],
    ['x[*', 'x[yz', true],
    ['[é-ü]', 'ö', true],
    ['[😀-😂]', '😁', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['a\\', 'a\\', true],
    ['\\a', 'a', true],
    ['a.c', 'abc', false],
    ['a+', 'aa', false],
    ['(a|b)', 'a', false],
    ['{a,b}', 'a', false],
  ];
  for (const [pattern, name, expected] of rows) t.equal(matchesGlob(pattern)(name), expected, `${pattern} on ${name}`);
  t.end();
});

t.test('FLT-1 · a pattern of literals, stars and question marks matches as the regular expression does', (t) => {
  const text = (units: readonly string[]) => fc.string({ unit: fc.constantFrom(...units), maxLength: 10 });
  fc.assert(
    fc.property(text(['a', 'b', '*', '?']), text(['a', 'b']), (pattern, name) => {
      const twin = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`);
      return matchesGlob(pattern)(name) === twin.test(name);
    }),
    { numRuns: runs(1_000) },
  );
  t.end();
});

t.test('FLT-1 · any text is a pattern, and one without special characters is itself', (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (pattern, name) => {
      const plain = !/[*?[\\]/.test(pattern);
      return typeof matchesGlob(pattern)(name) === 'boolean' && (!plain || matchesGlob(pattern)(pattern));
    }),
  );
  t.end();
});

t.test('FLT-1 · a hostile name or pattern takes no exponential time', (t) => {
  const long = 'a'.repeat(10_000);
  t.notOk(matchesGlob(`${'a*'.repeat(30)}b`)(long));
  // Whoever goes back to more than the last star, or looks for the end of each bracket, takes quadratic time.
  t.ok(isLinear((size) => matchesGlob('a*a*b').bind(undefined, long.slice(0, size)), 500));
  t.ok(isLinear((size) => matchesGlob.bind(undefined, '['.repeat(size)), 500));
  t.end();
});

t.test('SEC-4 · a list of globs is split at the commas that are in no glob, and joined for that', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['', []],
    [' , ,', []],
    ['mcp-a, mcp-b', ['mcp-a', 'mcp-b']],
    ['mcp-[a,b]*,web', ['mcp-[a,b]*', 'web']],
    ['mcp-[!,],x', ['mcp-[!,]', 'x']],
    ['mcp-[],],x', ['mcp-[],]', 'x']],
    ['mcp-a\\,b,x', ['mcp-a\\,b', 'x']],
    ['mcp-[a,x', ['mcp-[a', 'x']],
  ];
  for (const [list, globs] of rows) t.same(splitGlobs(list), globs, list);
  const names = ['a,b', 'a', 'b', '[a', 'c]', '\\', 'a\\', 'aXc', 'a,c'];
  for (const globs of [['a,b'], ['[a', 'c]'], ['a[,]c', '[!a]'], ['\\', 'b'], ['a\\', 'b'], ['a\\,b'], []]) {
    const read = splitGlobs(joinGlobs(globs));
    t.equal(read.length, globs.length, globs.join(' '));
    for (const name of names)
      t.same(
        read.map((glob) => matchesGlob(glob)(name)),
        globs.map((glob) => matchesGlob(glob)(name)),
        `${globs.join(' ')} ${name}`,
      );
  }
  t.end();
});
