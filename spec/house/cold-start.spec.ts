/** What a daemon loads before it listens: nothing heavy that only its work may need. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

/** The package's root, seen from the built file. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Each takes longer to load than the daemon may take to start, or brings in one that does. */
const heavy = [
  '@clack/prompts',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/sdk-trace',
  'ajv',
  'nodemailer',
  'oauth4webapi',
  'pg',
  'undici',
];

/** A static import or re-export of values; those of types alone leave nothing in the built file. */
const statement = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm;
const typesAlone = /^\w+\s+\{\s*(?:type\s+\w+(?:\s+as\s+\w+)?,?\s*)+\}\s+from/;

interface Loaded {
  /** Each with the way there. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
  readonly files: readonly string[];
}

/** What a file loads with itself. */
function loadedBy(entry: string): Loaded {
  const found = new Map<string, readonly string[]>();
  const seen = new Set<string>();
  const queue: { readonly file: string; readonly way: readonly string[] }[] = [{ file: entry, way: [entry] }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { file, way } = next;
    if (seen.has(file) || !existsSync(join(root, file))) continue;
    seen.add(file);
    for (const [whole, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(statement)) {
      if (typesAlone.test(whole) || name.startsWith('node:')) continue;
      if (name.startsWith('.')) {
        const target = join(dirname(file), name);
        queue.push({ file: target, way: [...way, target] });
      } else if (!found.has(name)) found.set(name, way);
    }
  }
  return { packages: found, files: [...seen] };
}

t.test('the walk finds what a file loads', async (t) => {
  t.ok(loadedBy('runtime/daemon.ts').packages.has('xstate'), 'by way of others');
  t.ok(loadedBy('actors/mcp/open-session.ts').packages.has('@modelcontextprotocol/client'), 'itself');
  t.notOk(
    loadedBy('actors/oauth/oauth-fetch.ts').packages.has('@modelcontextprotocol/client'),
    'not for its types alone',
  );
});

for (const entry of ['runtime/daemon.ts', 'cli/main.ts', 'cli/run.ts']) {
  t.test(`CLI-2 · ${entry} loads no heavy package before it is needed`, async (t) => {
    const { packages } = loadedBy(entry);
    for (const [name, way] of packages) {
      const isHeavy = heavy.some((one) => name === one || name.startsWith(`${one}/`));
      t.notOk(isHeavy, `${name}, by way of ${way.join(' → ')}`);
    }
  });
}

t.test(
  'CLI-2 · a start of the daemon reads few files, and a command that asks it or edits the home reads none of its own',
  async (t) => {
    const bundle = readdirSync(join(root, 'dist/bundle'));
    const loaded = (name: string): readonly string[] =>
      loadedBy(`dist/bundle/${bundle.find((file) => file.startsWith(`${name}-`) && file.endsWith('.js'))}`).files;
    const daemon = loaded('every-start');
    const commands = loaded('every-command');
    t.ok(daemon.length > 2 && daemon.length < 8, daemon.join());
    t.ok(commands.length < 5, commands.join());
    for (const name of ['every-command', 'setup', 'mcp-import', 'link', 'mcp-serve']) {
      const files = loaded(name);
      t.ok(files.length > 1 && !files.join().includes('every-start'), `${name}: ${files.join()}`);
    }
  },
);
