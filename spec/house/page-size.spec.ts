/** What the inspector's page weighs as it is sent, and that each machine's chart is among it, laid out. */

import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { chartNames } from '../../runtime/inspector/charts.ts';
import type { Drawing } from '../../runtime/inspector/page/data/chart-graph.ts';
import { readPageFiles } from '../../runtime/inspector/page-files.ts';

const folder = 'dist/runtime/inspector/page';
const files = readPageFiles(folder);
const sent = (paths: Iterable<string>): number =>
  [...paths].reduce((sum, path) => sum + (files.get(path)?.bytes.length ?? 0), 0);

t.test('INS-2 · the page weighs at most 250 KB, and 120 KB until it is drawn, as it is sent', async (t) => {
  const index = readFileSync(`${folder}/index.html`, 'utf8');
  const first = [...index.matchAll(/(?:src|href)="\.(\/[^"]+)"/g)].map(([, path = '']) => path);
  t.ok(first.some((path) => path.endsWith('.js')) && first.some((path) => path.endsWith('.css')));
  t.same(
    first.filter((path) => !files.has(path)),
    [],
    'all that the document names is there',
  );

  t.ok(sent(['/', ...first]) <= 120 * 1_024, `${sent(['/', ...first])} bytes at first`);
  t.ok(sent(files.keys()) <= 250 * 1_024, `${sent(files.keys())} bytes in all`);
});

t.test('INS-2 · files are kept compressed, under names that change with what they hold', async (t) => {
  for (const name of readdirSync(`${folder}/assets`)) t.match(name, /-[\w-]{8,}\.\w+\.gz$/);
  for (const [path, { isCompressed, isImmutable }] of files) {
    if (path.startsWith('/assets/')) t.ok(isCompressed && isImmutable, path);
  }
});

t.test('INS-2 · every chart is laid out, and the page holds no layout engine', async (t) => {
  const scripts = [...files].filter(([path]) => path.endsWith('.js'));
  for (const [path, { bytes }] of scripts) t.notMatch(gunzipSync(bytes).toString(), /elk\.layered|eclipse/i, path);
  for (const name of chartNames) {
    const [, file] = [...files].find(([path]) => path.startsWith(`/assets/${name}-`) && path.endsWith('.json')) ?? [];
    t.ok(file, name);
    if (file === undefined) continue;
    const drawing = JSON.parse(gunzipSync(file.bytes).toString()) as Drawing;
    t.ok(drawing.boxes.length > 0 && drawing.width > 0 && drawing.height > 0, name);
    for (const { name: state } of drawing.boxes) t.notMatch(state, /[a-z][A-Z]/, 'states have spaces');
    for (const { id, all, words } of drawing.arrows) t.ok(all.length >= Math.min(words.length, 2), `${name} ${id}`);
  }
});
