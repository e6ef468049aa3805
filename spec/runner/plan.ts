/**
 * Decides which spec files run, and which of them share a process. Files whose imports reach nothing outside the process
 * run in a few processes together, because starting one costs more than their tests; every other file has its own.
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

/** Files that only `npm run test:all` runs; docs/contributing.md says what belongs here. */
export const onlyInAll: readonly RegExp[] = [
  /\/conformance\/mcp\//,
  /\/journeys\/(server-chaos|child-chaos|leaks|hostile-server)\./,
];

/** Files of the native HTTP server: they start with what lets it load, where that is at hand. */
export const ofNative = /\/runtime\/http\/(?:fronts|connections)\./;

/** Packages and built-ins that reach outside the process, or keep state for all of it. */
const outside =
  /^(node:(child_process|cluster|dgram|http2?|https|net|tls|worker_threads)|@modelcontextprotocol\/.*|lmdb|nodemailer|oidc-provider|playwright-core|smtp-server|uWebSockets\.js|undici|vite)$/;

/** Files that measure the collector or change the process, and so need it to themselves. */
const alone: readonly RegExp[] = [/\/machines\/base\/ward\./, /\/process\.spec\./, /\/stop-signal\./];

/** The units in the order in which to start them, the longest first as far as that is known: journeys, then the rest. */
export function planUnits(choice: Choice): readonly Unit[] {
  const files = readdirSync(choice.folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.spec.js'))
    .map((name) => join(choice.folder, name))
    .filter((file) => isChosen(file, choice))
    .sort();
  const shares = new Set(files.filter(mayShare));
  const single = files.filter((file) => !shares.has(file)).map((file) => [file]);
  const isJourney = ([file = '']: Unit): boolean => file.includes('/journeys/');
  return [
    ...single.filter(isJourney),
    ...single.filter((unit) => !isJourney(unit)),
    ...divided([...shares], choice.groups),
  ];
}

function isChosen(file: string, { all, words }: Choice): boolean {
  if (words.length > 0) return words.some((word) => file.includes(word));
  return all || !onlyInAll.some((pattern) => pattern.test(file));
}

function mayShare(file: string): boolean {
  return !alone.some((pattern) => pattern.test(file)) && !importsOf(file).some((name) => outside.test(name));
}

/** Neighbours go to different groups, so that one folder of slow specs is spread over all. */
function divided(files: readonly string[], groups: number): readonly Unit[] {
  return Array.from({ length: groups }, (_, group) => files.filter((_, index) => index % groups === group)).filter(
    (unit) => unit.length > 0,
  );
}

const statement = /^\s*(?:import|export)\b[^'";]*?(?:\bfrom\s*)?['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]/gm;

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
