import t from 'tap';
import { templateMatcher } from '../../../machines/mcp/uri-template.ts';

t.test('CLI-5 · a template takes what its variables may become, of any value', (t) => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['note://{id}', 'note://7', true],
    ['note://{id}', 'note://', false],
    ['note://{id}', 'note://a/b', false],
    ['note://{+path}', 'note://a/b?c#d', true],
    ['note://{id}/text', 'note://7/text', true],
    ['note://{id}/text', 'note://7/textual', false],
    ['note://{a}-{b}', 'note://x-y-z', true],
    ['note://x{/a,b}', 'note://x/1/2', true],
    ['note://x{/a,b}', 'note://x', true],
    ['note://x{?q,r}', 'note://x?q=1/2&r=2', true],
    ['note://x{?q}', 'note://xq', false],
    ['note://x{#part}', 'note://x#a/b', true],
    ['note://x{.ext}', 'note://x.txt', true],
    ['note://{open', 'note://{open', true],
    ['note://one', 'note://one', true],
    ['note://one', 'note://one/', false],
    ['', '', true],
  ];
  for (const [template, uri, taken] of rows) t.equal(templateMatcher(uri)(template), taken, `${template} ${uri}`);
  t.notOk(templateMatcher('x'.repeat(3_000))('{+all}'), 'what is too long is not tried');
  t.end();
});

t.test('CLI-5 · a template of more than 16 expressions matches nothing', (t) => {
  t.ok(templateMatcher('x')(`x${'{?q}'.repeat(16)}`));
  t.notOk(templateMatcher('x')(`x${'{?q}'.repeat(17)}`));
  t.end();
});

t.test(
  'CLI-5 · all templates tried for one address share its steps, and nothing matches once they are used up',
  (t) => {
    const uri = `x://${'a'.repeat(1_000)}`;
    const costly = `x://${'{+a}b{?c}'.repeat(8)}`;
    const maxTried = (steps: number, template: string): number => {
      const matches = templateMatcher(uri, steps);
      // One that costs little, and says whether there are steps left.
      for (let tried = 0; tried < 10_000; tried += 1) {
        matches(template);
        if (!matches('x://{+a}')) return tried;
      }
      return Number.POSITIVE_INFINITY;
    };
    for (const template of [costly, `x://{+a}${'a'.repeat(50)}b`, 'x://{+a}{+b}{+c}!', '{'.repeat(2_000)]) {
      const tried = maxTried(100_000, template);
      t.ok(tried > 0 && tried < 100, `${template.slice(0, 20)} ${tried}`);
      t.ok(maxTried(200_000, template) <= 2 * tried + 2, 'twice the steps try twice as many');
    }
    const matches = templateMatcher(uri, 500);
    t.notOk(matches('x://{+a}'), 'one that takes more than there are');
    t.notOk(matches(''), 'and then none');
    t.end();
  },
);
