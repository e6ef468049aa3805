/** Writes the diagram pages, and takes away those of charts that are gone: `npm run diagrams`. */

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { charts, diagramOf } from './charts.ts';

const folder = 'docs/machines';

mkdirSync(folder, { recursive: true });
const pages = new Set<string>();
for (const [file, machine] of charts) {
  pages.add(`${machine.id}.md`);
  writeFileSync(`${folder}/${machine.id}.md`, diagramOf(file, machine));
}
for (const name of readdirSync(folder)) if (!pages.has(name)) rmSync(`${folder}/${name}`);
