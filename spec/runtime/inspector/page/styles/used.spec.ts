import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';

const page = 'runtime/inspector/page';

function textsOf(endings: RegExp): string {
  return readdirSync(page, { recursive: true, encoding: 'utf8' })
    .filter((name) => endings.test(name))
    .map((name) => readFileSync(`${page}/${name}`, 'utf8'))
    .join('\n');
}

t.test('INS-2 · the style sheets hold rules only for classes that the page draws', (t) => {
  const rules = textsOf(/\.css$/).replace(/\/\*[\s\S]*?\*\/|@import[^;]*;/g, '');
  const selectors = rules.replace(/\{[^{}]*\}/g, '{}');
  const styled = new Set([...selectors.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = '']) => name));
  const source = textsOf(/\.tsx?$/);
  const drawn = new Set(source.match(/[\w-]+/g));
  /** Such as `fill-` of `fill-${name}`. */
  const begun = [...source.matchAll(/`([a-z]+-)\$\{/g)].map(([, prefix = '']) => prefix);
  t.ok(styled.size > 200);
  t.same([...styled].filter((name) => !drawn.has(name) && !begun.some((prefix) => name.startsWith(prefix))).sort(), []);
  t.end();
});
