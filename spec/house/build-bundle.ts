/**
 * Gathers the program into few files: `dist/cli/main.js` and what it loads from `dist/bundle`. Node 20 spends more on finding
 * and reading five hundred modules than on running them. What neither most commands nor a start of the daemon needs stays
 * a file of its own, loaded where the source says `import()`; only comments are left out, save licences, and source maps
 * lead to the source. Compiled without it, the program runs as well, only slower to start. A peer of the specs is gathered
 * in the same way.
 * @see CLI-2 in docs/specification.md
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'vite';
import { notePackages, notesPackages, programPackages } from './bundled-packages.ts';

const usual = { configFile: false, logLevel: 'warn', publicDir: false } as const;
const target = 'dist/bundle';
/** Installed beside the program; every other package becomes a part of it. The first two have native parts. */
const installed = ['lmdb', 'uWebSockets.js', 'ajv', 'nodemailer', 'undici'];
const gathered = new Set<string>();
/** The file of each module that commands or a start of the daemon load at once. */
const fileOf = new Map<string, 'every-command' | 'some-commands' | 'every-start'>();
/** In characters: what a command needs of the daemon is in the file of every command if it is no more than this. */
const maxShared = 50_000;
/** If it is no more than this, it is in the file of some, such as `gateway setup`; else the command loads the daemon's. */
const maxOfSome = 700_000;
/** A module that needs more characters than this is loaded by those commands alone that need it. */
const maxNeeded = 250_000;

const sharesFiles: Plugin = {
  name: 'shares-files',
  buildEnd() {
    const about = (id: string) => this.getModuleInfo(id);
    /** A module with all that is loaded before it. */
    const needs = (id: string, found = new Set<string>()): Set<string> => {
      if (found.has(id) || typeof about(id)?.code !== 'string') return found;
      found.add(id);
      for (const one of about(id)?.importedIds ?? []) needs(one, found);
      return found;
    };
    const lengthOf = (ids: readonly string[]): number =>
      ids.reduce((sum, id) => sum + (about(id)?.code?.length ?? 0), 0);
    const daemon = needs(resolve('runtime/daemon.ts'));
    const commands = needs(resolve('cli/run.ts'));
    const ofSome = new Set<string>();
    // What is added on the way has its turn too.
    for (const by of commands) {
      for (const asked of about(by)?.dynamicallyImportedIds ?? []) {
        const needed = [...needs(asked)].filter((id) => !commands.has(id));
        const shared = needed.filter((id) => daemon.has(id));
        if (lengthOf(shared) > maxShared) {
          if (lengthOf(shared) <= maxOfSome) for (const id of shared) ofSome.add(id);
          continue;
        }
        for (const id of needed) {
          if (!id.includes('node_modules') && lengthOf([...needs(id)]) < maxNeeded) commands.add(id);
        }
      }
    }
    for (const id of daemon) fileOf.set(id, 'every-start');
    for (const id of ofSome) fileOf.set(id, 'some-commands');
    for (const id of commands) fileOf.set(id, 'every-command');
    // What the first file holds stays there.
    for (const id of needs(resolve('cli/main.ts'))) fileOf.delete(id);
  },
};

const before = existsSync(target) ? readdirSync(target) : [];
const built = await build({
  ...usual,
  ssr: { noExternal: true, external: installed },
  plugins: [notesPackages('.', gathered), sharesFiles],
  build: {
    ssr: 'cli/main.ts',
    outDir: 'dist',
    emptyOutDir: false,
    target: 'node20',
    minify: false,
    sourcemap: true,
    rolldownOptions: {
      // The inspector asks by name for charts that the daemon has loaded.
      checks: { ineffectiveDynamicImport: false },
      output: {
        entryFileNames: 'cli/main.js',
        comments: { legal: true, annotation: true, jsdoc: false },
        chunkFileNames: 'bundle/[name]-[hash].js',
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ debugName: 'commands and starts', name: (id) => fileOf.get(id) }],
        },
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
  ...usual,
  ssr: { noExternal: true },
  build: {
    ssr: 'spec/support/mcp/stdio-peer.ts',
    outDir: 'dist/spec/peers',
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: { output: { format: 'cjs', codeSplitting: false, comments: false, entryFileNames: '[name].cjs' } },
  },
});
// Dozens of these start, and finding their two hundred modules is most of what that takes.
await build({
  ...usual,
  ssr: { noExternal: true },
  build: {
    ssr: true,
    outDir: 'dist/spec/servers',
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    rolldownOptions: {
      input: Object.fromEntries(
        ['filesystem', 'memory'].map((name) => [name, `@modelcontextprotocol/server-${name}/dist/index.js`]),
      ),
      output: { comments: false, entryFileNames: '[name].js' },
    },
  },
});
for (const era of ['legacy', 'modern']) {
  const env = { ...process.env, SPEC_WRITES_CACHE: '1' };
  execFileSync(process.execPath, ['dist/spec/support/mcp/start-peer.js', era], { env, input: '' });
}
