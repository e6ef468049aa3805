import t from 'tap';
import { compilePattern, shortestUsefulText, stepBudget } from '../../../machines/webhook/pattern.ts';
import { fc } from '../../support/property.ts';

const atoms = fc.constantFrom('a', '[a-z]', '\\p{L}', '(?:ab|c)', '.', '(x+x+)+', '\\bq', '(a?){20}');
const pieces = fc.tuple(atoms, fc.constantFrom('', '*', '+?', '{1,40}', '{3}', '{1,900}'));
const patterns = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((drawn) => drawn.flat().join(''));

t.test('FIL-4 · no search of any pattern takes more steps than the budget, and each can search a short text', (t) => {
  fc.assert(
    fc.property(patterns, (text) => {
      const compiled = compilePattern(text);
      if (!compiled.ok) return /allowed|invalid/.test(compiled.why);
      const { size, maxTextLength, search } = compiled;
      const over = 'a'.repeat(Math.min(maxTextLength + 1, stepBudget));
      return (
        size * maxTextLength <= stepBudget &&
        maxTextLength >= shortestUsefulText &&
        (over.length <= maxTextLength || search(over) === 'tooLong')
      );
    }),
    { numRuns: 60 },
  );
  t.end();
});

t.test('FIL-4 · patterns that hang other engines are searched up to their budget', (t) => {
  for (const source of ['(a+)+$', '(a?){200}a{200}$', '[a-z]{1,500}[0-9]', '(x+x+)+y', '(.*)(.*)(.*)[^a-z]$']) {
    const pattern = compilePattern(source);
    if (!pattern.ok) throw new Error(pattern.why);
    const text = `${'a'.repeat(pattern.maxTextLength - 1)}!`;
    t.not(pattern.search(text), 'tooLong', source);
    t.equal(pattern.search(`${text}!`), 'tooLong', source);
  }
  t.end();
});

t.test('FIL-4 · a text is as long as its characters, however many bytes they take', (t) => {
  const pattern = compilePattern('b{1,1000}$');
  if (!pattern.ok) throw new Error(pattern.why);
  t.equal(pattern.search(`${'ä'.repeat(pattern.maxTextLength - 1)}b`), 'found');
  t.equal(pattern.search(`${'ä'.repeat(pattern.maxTextLength)}b`), 'tooLong');
  t.end();
});

t.test('FIL-4 · what the engine does not know, or is too big for it, says why', (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['(', /missing closing/],
    ['(a)\\1', /invalid escape/],
    ['(?=a)', /invalid/],
    ['a{1,1000}b{1,1000}c{1,1000}', /it compiles to \d+ steps per character; 4000 are allowed, so repeat less/],
    ['.*'.repeat(8_001), /it has 16002 characters; 16000 are allowed, so shorten it/],
  ];
  for (const [source, why] of rows) t.match(compilePattern(source), { ok: false, why }, source);
  t.end();
});
