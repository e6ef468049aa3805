import { existsSync, readdirSync } from 'node:fs';
import t from 'tap';
import { pagesOf } from './pages.ts';

/** Files by their name without a folder, as prose sometimes names them. */
const names = new Set(
  ['machines', 'actors', 'runtime', 'cli', 'spec'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => path.slice(path.lastIndexOf('/') + 1)),
  ),
);

/** Links are not among them: another spec follows those. */
const fullPath = /(?<![\w./~-])(?:machines|actors|runtime|cli|spec)\/(?:[\w-]+\/)*(?:[\w-]+(?:\.[\w-]+)+)?/g;
const sourceName = /(?<![\w./-])[a-z][\w-]*(?:\.[\w-]+)*\.tsx?(?![\w./])/g;

t.test('every file that a page names exists', (t) => {
  let found = 0;
  for (const { path: page, text: written } of pagesOf()) {
    const text = written.replace(/https?:\/\/\S+|\]\([^)]*\)/g, '');
    for (const [path] of text.matchAll(fullPath)) {
      found += 1;
      t.ok(existsSync(path), `${page} names ${path}`);
    }
    for (const [name] of text.matchAll(sourceName)) t.ok(names.has(name), `${page} names ${name}`);
  }
  t.ok(found > 150, 'the paths are found');
  t.end();
});
