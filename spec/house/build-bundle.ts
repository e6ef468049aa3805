/**
 * Gathers the program into few files: `dist/cli/main.js` and what it loads from `dist/bundle`. Node 20 spends more on finding
 * and reading five hundred modules than on running them. What a command does not need stays a file of its own, loaded where
 * the source says `import()`; only comments are left out, save licences, and source maps lead to the source. Compiled without
 * it, the program runs as well, only slower to start. A peer of the specs is gathered in the same way.
 * @see CLI-2 in docs/specification.md
 */

import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';
import { notePackages, notesPackages, programPackages } from './bundled-packages.ts';

const target = 'dist/bundle';
/** Installed beside the program; every other package becomes a part of it. The first two have native parts. */
const installed = ['lmdb', 'uWebSockets.js', 'ajv', 'nodemailer', 'undici'];
const gathered = new Set<string>();

const before = existsSync(target) ? readdirSync(target) : [];
const built = await build({
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  ssr: { noExternal: true, external: installed },
  plugins: [notesPackages('.', gathered)],
  build: {
    ssr: 'cli/main.ts',
    outDir: 'dist',
    emptyOutDir: false,
    target: 'node20',
    minify: false,
    sourcemap: true,
    rolldownOptions: {
      output: {
        entryFileNames: 'cli/main.js',
        comments: { legal: true, annotation: true, jsdoc: false },
        chunkFileNames: 'bundle/[name]-[hash].js',
        // The inspector asks for charts by name, which would make each a file of its own.
        codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: 'charts', test: /\.machine\.ts$/ }] },
      },
    },
  },
});
notePackages(programPackages, gathered);
// What ran before this build may still load its own files until they are replaced.
const files = ('output' in built ? built.output : []).map(({ fileName }) => fileName);
for (const file of before) if (!files.includes(`bundle/${file}`)) rmSync(join(target, file));
chmodSync('dist/cli/main.js', 0o755);

// Hundreds of these start in one run of the specs, and the SDK's modules are most of what that takes.
await build({
  configFile: false,
  logLevel: 'warn',
  publicDir: false,
  ssr: { noExternal: true },
  build: {
    ssr: 'spec/support/mcp/stdio-peer.ts',
    outDir: 'dist/spec/peers',
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: { output: { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' } },
  },
});
