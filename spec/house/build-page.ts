/**
 * Builds the inspector's page into `dist/runtime/inspector/page`: one HTML file, one style sheet, one script, and the
 * layout engine as a worker of its own that is fetched with the first chart.
 * @see INS-2 in docs/specification.md
 */

import { rmSync } from 'node:fs';
import { build } from 'vite';
import { notePackages, notesPackages, pagePackages } from './bundled-packages.ts';

const source = 'runtime/inspector/page';
const target = 'dist/runtime/inspector/page';

const packages = new Set<string>();

rmSync(`${target}/assets`, { recursive: true, force: true });
await build({
  configFile: false,
  root: source,
  // The page is served from the listener's root; relative addresses let it lie anywhere.
  base: './',
  logLevel: 'warn',
  publicDir: false,
  plugins: [notesPackages(source, packages)],
  worker: { plugins: () => [notesPackages(source, packages)] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: `${process.cwd()}/${target}`,
    // Compiled rules of the page, which the specs import, lie in the same folder.
    emptyOutDir: false,
    target: 'es2022',
    // The first with `light-dark()`: a style sheet for older ones would hold each colour twice.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // A script or style in the document itself is forbidden by the page's policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2_000,
  },
});
notePackages(pagePackages, packages);
