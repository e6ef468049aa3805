import t from 'tap';
import { type SourceFile, sourceFiles } from './sources.ts';

interface Room {
  readonly name: string;
  readonly holds: (path: string) => boolean;
  readonly may: readonly RegExp[];
  readonly why: string;
}

/** A package or a node built-in, not a path. */
const builtIn = /^node:/;
const base = /^machines\/base\//;
const config = /^machines\/config\//;
/** The methods of the control socket, with their types. */
const contract = /^runtime\/control\/(?:methods|contract|contract\/[a-z-]+)\.ts$/;
const rules = /^machines\/(?!.*\.machine\.ts)/;

/** Each room of the process may import itself and those before it. The contract is below all. */
const order = 'system|observe|config|http|oauth|mcp|agent|dispatch|cron|webhook|inspector|control|doctor';
const runtimeRooms = order.split('|');

/** The first room that holds a file is its room. What is not listed may not be imported. */
const rooms: readonly Room[] = [
  {
    name: 'machines/base',
    holds: under('machines/base/'),
    may: [base, /^xstate$/],
    why: 'base is the words that everyone may speak',
  },
  {
    name: 'machines/config',
    holds: under('machines/config/'),
    may: [base, config, /^yaml$/, /^smol-toml$/, /^node:crypto$/],
    why: 'reading a configuration needs no other room',
  },
  {
    name: 'charts',
    holds: (path) => path.endsWith('.machine.ts'),
    may: [
      /^xstate$/,
      base,
      config,
      /^machines\/(webhook|agent|mcp|oauth|cron|dispatch)\//,
      /^machines\/reload\.machine\.ts$/,
    ],
    why: 'a chart names its effects and never imports them',
  },
  {
    name: 'machines/mcp (rules)',
    holds: under('machines/mcp/'),
    may: [base, config, /^machines\/(mcp|oauth)\//, /^node:crypto$/],
    why: 'the models that use a tool know its server, never the other way round',
  },
  {
    name: 'machines (rules)',
    holds: under('machines/'),
    may: [base, config, /^machines\/(webhook|agent|mcp|oauth|cron|dispatch)\//, /^re2js$/, /^node:(?:crypto|zlib)$/],
    why: 'rules decide and touch nothing',
  },
  {
    name: 'actors',
    holds: under('actors/'),
    may: [rules, /^actors\//, builtIn, /^[a-z@]/],
    why: 'effects know rules and the world, never a chart or the process',
  },
  {
    name: 'the inspector page',
    holds: under('runtime/inspector/page/'),
    may: [
      /^runtime\/inspector\/page\//,
      contract,
      /^machines\/base\/(event-outcome|event-query|few-of-each|get-or-make|indented-json|json|names|page-proof|percent-decoded|shown-json|status|time-range|waiting)\.ts$/,
      /^machines\/config\/target(?:s|-titles)\.ts$/,
      /^preact(\/(hooks|compat))?$/,
      /^virtual:charts$/,
    ],
    why: 'the page is built apart, for a browser, and knows the daemon by its words alone',
  },
  {
    name: 'the control contract',
    holds: (path) => contract.test(path),
    may: [rules, contract],
    why: 'every side of the socket takes its types from it, so it knows records and rules alone',
  },
  ...runtimeRooms.map((name, at) => ({
    name: `runtime/${name}`,
    holds: under(`runtime/${name}/`),
    may: [
      ...[/^(machines|actors)\//, contract, new RegExp(`^runtime/(${runtimeRooms.slice(0, at + 1).join('|')})/`)],
      ...[builtIn, /^xstate$/, /^uWebSockets\.js$/, /^lru-cache$/],
    ],
    why: 'the rooms of the process import in one order; packages stay in the layers below',
  })),
  {
    name: 'runtime',
    holds: under('runtime/'),
    may: [/^(machines|actors|runtime)\//, builtIn, /^xstate$/],
    why: 'the process composes',
  },
  {
    name: 'cli',
    holds: under('cli/'),
    may: [
      base,
      /^machines\/config\/(profile|program-variables|nearest|sources|edit|secret-strength|env-file|diagnostic|targets|schema|webhook-settings)\.ts$/,
      /^machines\/(agent\/offered-schema|webhook\/samples)\.ts$/,
      /^machines\/mcp\/(call-faults|install-link|link-guards|add-server\.machine|elicitation-values|foreign-files|glob|plan-import|served-gateways|wire-name|without-nulls)\.ts$/,
      /^actors\/(binding|files|lock-file|socket-place|user-home)\.ts$/,
      /^actors\/config\/(server-entries|foreign-configs)\.ts$/,
      contract,
      /^runtime\/control\/(client|commands)\.ts$/,
      /^runtime\/(daemon|system\/example-home|mcp\/link-dialog|doctor\/examine)\.ts$/,
      /^cli\//,
      /^@modelcontextprotocol\/server(\/stdio)?$/,
      /^@clack\/prompts$/,
      builtIn,
    ],
    why: 'the command line speaks to the socket',
  },
];

/** Packages that have one door. */
const doors: readonly (readonly [string, RegExp])[] = [
  ['uWebSockets.js', /^runtime\/http\/(uws|native)\.ts$/],
  ['re2js', /^machines\/webhook\/pattern\.ts$/],
  ['lmdb', /^actors\/store\/(?:lmdb-tables|load-lmdb)\.ts$/],
  ['p-queue', /^actors\/(dispatch\/places|mcp\/call-queues)\.ts$/],
  ['undici', /^actors\/(mcp\/http-fetch|proxy-agent)\.ts$/],
  ['@modelcontextprotocol/client', /^actors\/(mcp|oauth)\//],
  ['@modelcontextprotocol/server', /^cli\/(commands\/mcp-serve|serve\/\w+)\.ts$/],
  ['@modelcontextprotocol/server/stdio', /^cli\/commands\/mcp-serve\.ts$/],
  ['@opentelemetry/api', /^actors\/telemetry\//],
  ['@opentelemetry/sdk-trace', /^actors\/telemetry\//],
  ['@opentelemetry/exporter-trace-otlp-http', /^actors\/telemetry\//],
  ['@clack/prompts', /^cli\/prompts\.ts$/],
  ['croner', /^actors\/cron\/next-due\.ts$/],
  ['oauth4webapi', /^actors\/oauth\//],
  ['ajv', /^actors\/mcp\/validate-arguments\.ts$/],
];

function under(folder: string): (path: string) => boolean {
  return (path) => path.startsWith(folder);
}

const files = sourceFiles();

t.test('every import is allowed by the table', (t) => {
  for (const file of files) {
    const room = rooms.find(({ holds }) => holds(file.path));
    const strays = file.imports.filter((specifier) => room?.may.some((allowed) => allowed.test(specifier)) !== true);
    t.same(strays, [], `${file.path} (${room?.name ?? 'no room'}): ${room?.why ?? 'belongs to no room'}`);
  }
  t.end();
});

t.test('actors import no chart, and no package but their own', (t) => {
  for (const { path, imports } of files.filter(({ path }) => path.startsWith('actors/'))) {
    t.same(
      imports.filter((specifier) => specifier.endsWith('.machine.ts')),
      [],
      path,
    );
    t.same(
      imports.filter((specifier) => specifier === 'xstate' || specifier === 'uWebSockets.js'),
      [],
      path,
    );
  }
  t.end();
});

t.test('a package with one door is imported there only', (t) => {
  for (const [name, door] of doors) {
    const strays = files
      .filter(({ path, imports }) => imports.includes(name) && !door.test(path))
      .map(({ path }) => path);
    t.same(strays, [], name);
  }
  t.end();
});

t.test('there is no cycle, imports of types counted, no barrel and no default export', (t) => {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const visit = (file: SourceFile, above: readonly string[]): string[] | undefined => {
    if (above.includes(file.path)) return [...above.slice(above.indexOf(file.path)), file.path];
    if (done.has(file.path)) return undefined;
    for (const specifier of file.imports) {
      const next = file.dynamic.includes(specifier) ? undefined : byPath.get(specifier);
      const cycle = next && visit(next, [...above, file.path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file.path);
    return undefined;
  };
  for (const file of files) t.equal(visit(file, [])?.join(' → '), undefined, file.path);
  t.same(
    files.filter(({ path }) => path.endsWith('/index.ts')).map(({ path }) => path),
    [],
  );
  t.same(
    files.filter(({ code }) => /\bexport default\b/.test(code)).map(({ path }) => path),
    [],
  );
  t.end();
});

t.test('an export is used by another file', (t) => {
  const users = new Map<string, string[]>();
  for (const { imports, code } of [...files, ...sourceFiles(['spec'])]) {
    for (const path of imports) users.set(path, [...(users.get(path) ?? []), code]);
  }
  const exported = /^export (?:(?:async )?function\*?|const|class|interface|type) (\w+)/gm;
  let found = 0;
  for (const { path, code } of files) {
    for (const [, name] of code.matchAll(exported)) {
      found += 1;
      const word = new RegExp(`\\b${name}\\b`);
      t.ok(
        users.get(path)?.some((text) => word.test(text)),
        `${path}: nothing imports ${name}`,
      );
    }
  }
  t.ok(found > 1_000, 'the exports are found');
  t.end();
});

t.test('the bench loads no test library, whose time limit would end it', (t) => {
  const specs = new Map(sourceFiles(['spec']).map((file) => [file.path, file]));
  const reached = new Set(['spec/bench/main.ts', 'spec/bench/check.ts']);
  for (const path of reached) {
    const { imports, text } = specs.get(path) ?? { imports: [], text: '' };
    for (const one of imports) reached.add(one);
    t.notMatch(text, /^import (?!type )[^;']*from 'tap';$/m, path);
  }
  t.ok(reached.size > 50);
  t.end();
});

t.test('a value is cast past the compiler in few places, each with its reason above it', (t) => {
  const casts = files.flatMap(({ path, text }) => {
    const lines = text.split('\n');
    return lines.flatMap((line, index) =>
      line.includes(' as unknown as ') ? [{ place: `${path}:${index + 1}`, above: lines[index - 1] ?? '' }] : [],
    );
  });
  t.ok(casts.length <= 15, `${casts.length} casts`);
  for (const { place, above } of casts) t.match(above, /^\s*\/\/ \S/, `${place}: no comment above says why`);
  t.end();
});
