/** Writes the diagram pages: `npm run diagrams`. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { charts, diagramOf } from './charts.ts';

mkdirSync('docs/machines', { recursive: true });
for (const [file, machine] of charts) writeFileSync(`docs/machines/${machine.id}.md`, diagramOf(file, machine));
