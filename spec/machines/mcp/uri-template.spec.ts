import t from 'tap';
import { matchesTemplate } from '../../../machines/mcp/uri-template.ts';

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
  for (const [template, uri, taken] of rows) t.equal(matchesTemplate(template, uri), taken, `${template} ${uri}`);
  t.notOk(matchesTemplate('{+all}', 'x'.repeat(3_000)), 'what is too long is not tried');
  t.notOk(matchesTemplate(`{a}${'{+b}'.repeat(400)}!`, 'x'.repeat(2_000)), 'and many variables end soon');
  t.end();
});
