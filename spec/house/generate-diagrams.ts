/** Writes the pages that are made from the program: the charts' diagrams, without those of charts that are gone, and the sources. */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { charts, diagramOf } from './charts.ts';
import { sourcesPage } from './sources-page.ts';

const folder = 'docs/machines';

mkdirSync(folder, { recursive: true });
const pages = new Set<string>();
for (const [file, machine] of charts) {
  pages.add(`${machine.id}.md`);
  writeFileSync(`${folder}/${machine.id}.md`, diagramOf(file, machine));
}
for (const name of readdirSync(folder)) if (!pages.has(name)) rmSync(`${folder}/${name}`);
writeFileSync('docs/sources.md', sourcesPage());
