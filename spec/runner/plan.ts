/**
 * Decides which spec files run, and which of them share a process, because starting one and loading what the files import
 * costs more than most of their tests.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Spec files that one process runs, one after another. */
export type Unit = readonly string[];

export interface Choice {
  /** Where the built specs are. */
  readonly folder: string;
  /** Includes the specs that only `npm run test:all` runs. */
  readonly all: boolean;
  /** Parts of file names: only files that match one run, whatever their tier. Empty selects by tier alone. */
  readonly words: readonly string[];
  /** How many processes share the files that may share one. */
  readonly groups: number;
}

/** They need no process to themselves: views of the page, ways to log in, clocks that are set. */
const further =
  /\/journeys\/(inspector-(?!(?:crowded|event|page)\.)\w+|page-connection|client-identification|clock-set-back|device-approval)\./;

/** Files that only `npm run test:all` runs; docs/contributing.md says what belongs here. */
export const onlyInAll: readonly RegExp[] = [
  /\/conformance\/mcp\//,
  /\/journeys\/(container|server-chaos|child-chaos|leaks|hostile-server)\./,
  further,
];

/** Files of the native HTTP server: they start with what lets it load, where that is at hand. */
export const ofNative = /\/runtime\/http\/(?:http-servers|connections)\./;

/** Packages and built-ins that reach outside the process, or keep state for all of it. */
const outside =
  /^(node:(child_process|cluster|dgram|http2?|https|net|tls|worker_threads)|@modelcontextprotocol\/.*|lmdb|nodemailer|oidc-provider|playwright-core|smtp-server|uWebSockets\.js|undici|vite)$/;

/** Files that measure the collector or the time of the processor, change the process or run for minutes. */
const alone: readonly RegExp[] = [
  /\/machines\/base\/pool\./,
  /\/process\.spec\./,
  /\/stop-signal\./,
  /\/mcp\/(?:tool-calls|validate-arguments)\./,
  ofNative,
  ...onlyInAll.filter((pattern) => pattern !== further),
];

/** Journeys that log in: most count on the same ports of this machine, so that two processes would wait for each other. */
const ofLogin = /\/journeys\/(?:[\w-]*login[\w-]*|client-identification|device-approval|token-refresh)\./;

/** So few that there are units enough for every processor to the end. */
const maxJourneys = 7;
const maxFiles = 30;

/**
 * The units in the order in which to start them: pages in the browser, which share it, logins, other journeys, the rest, of
 * which neighbours share a process, and last the files that reach nothing outside the process, as they alone never wait: no
 * processor is idle at the end.
 */
export function planUnits(choice: Choice): readonly Unit[] {
  const files = readdirSync(choice.folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.spec.js'))
    .map((name) => join(choice.folder, name))
    .filter((file) => isChosen(file, choice))
    .sort();
  const isAlone = (file: string): boolean => alone.some((pattern) => pattern.test(file));
  const isJourney = (file: string): boolean => file.includes('/journeys/');
  const shared = files.filter((file) => !isAlone(file));
  const pages = shared.filter((file) => importsOf(file).includes('playwright-core'));
  const logins = shared.filter((file) => ofLogin.test(file));
  const pure = shared.filter((file) => !importsOf(file).some((name) => outside.test(name)));
  const rest = shared.filter((file) => ![...pages, ...logins, ...pure].includes(file));
  return [
    pages,
    logins,
    ...chunks(rest.filter(isJourney), maxJourneys),
    ...chunks(
      rest.filter((file) => !isJourney(file)),
      maxFiles,
    ),
    ...files.filter(isAlone).map((file) => [file]),
    ...divided(pure, choice.groups),
  ].filter((unit) => unit.length > 0);
}

function isChosen(file: string, { all, words }: Choice): boolean {
  if (words.length > 0) return words.some((word) => file.includes(word));
  return all || !onlyInAll.some((pattern) => pattern.test(file));
}

/** Neighbours stay together: they import the same modules. */
function chunks(files: readonly string[], max: number): readonly Unit[] {
  return files.flatMap((_, index) => (index % max === 0 ? [files.slice(index, index + max)] : []));
}

/** Neighbours go to different groups, so that one folder of slow specs is spread over all. */
function divided(files: readonly string[], groups: number): readonly Unit[] {
  return Array.from({ length: groups }, (_, group) => files.filter((_, index) => index % groups === group));
}

const statement =
  /^\s*(?:import|export)\b[^'";]*?(?:\bfrom\s*)?['"]([^'"\n]+)['"]|\b(?:import|require(?:\.resolve)?)\(\s*['"]([^'"\n]+)['"]/gm;

/** Every package and built-in that a built file imports, by way of others included. */
export function importsOf(entry: string): readonly string[] {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const queue = [entry];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file) || !file.endsWith('.js') || !existsSync(file)) continue;
    seen.add(file);
    for (const name of directImports(file)) {
      if (name.startsWith('.')) queue.push(join(dirname(file), name));
      else packages.add(name);
    }
  }
  return [...packages];
}

const known = new Map<string, readonly string[]>();

function directImports(file: string): readonly string[] {
  const before = known.get(file);
  if (before !== undefined) return before;
  const names = [...readFileSync(file, 'utf8').matchAll(statement)].map(([, still, dynamic]) => still ?? dynamic ?? '');
  known.set(file, names);
  return names;
}
