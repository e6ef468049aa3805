/**
 * Plans what an import would write: the name of each server, its entry with references for secrets, the variables of
 * `.env`. A name that is taken is never planned over; another one is proposed. Writes nothing.
 * @see CLI-5 and HOME-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { ForeignFile, ForeignServer } from './foreign-files.ts';
import type { WantedVariable } from './foreign-references.ts';
import { importServer } from './import-server.ts';
import { isName } from './install-link.ts';
import { type TakenSecret, takeSecrets } from './secret-places.ts';

export interface ImportItem {
  readonly file: ForeignFile;
  /** In the other program. */
  readonly foreignName: string;
  /** Here, where it is added. */
  readonly name: string;
  readonly entry: JsonObject;
  /** Into `.env`: secrets, and what the other program takes where nothing is set. */
  readonly variables: readonly TakenSecret[];
  /** Neither in `.env` nor in the environment. */
  readonly missing: readonly WantedVariable[];
  readonly notes: readonly string[];
  readonly standing: Standing;
}

export type Standing =
  | { readonly kind: 'new' }
  /** The very same entry stands already, or another program has it too. */
  | { readonly kind: 'same' }
  /** Something else has its name; it could be added under this one. */
  | { readonly kind: 'taken'; readonly free: string }
  | { readonly kind: 'unusable'; readonly why: string };

export interface ImportStart {
  readonly found: readonly { readonly file: ForeignFile; readonly server: ForeignServer }[];
  /** The servers of config.yaml as they are written. */
  readonly entries: JsonObject;
  readonly secrets: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const longestName = 64;

export function planImport({ found, entries, secrets, env }: ImportStart): readonly ImportItem[] {
  const taken = new Map<string, string>(Object.entries(entries).map(([name, entry]) => [name, canonical(entry)]));
  const held = new Map(secrets);
  return found.map(({ file, server }) => {
    const wish = fitName(server.name);
    const common = { file, foreignName: server.name, name: wish };
    const nothing = { entry: {}, variables: [], missing: [], notes: [] };
    const read = importServer(server, { program: file.program, workspace: file.workspace });
    if (read.kind === 'unusable') return { ...common, ...nothing, standing: read };
    const { entry, secrets: moved } = takeSecrets(server.name, read.entry, (wanted, value) =>
      variableFor(wanted, value, held),
    );
    const fallbacks = read.wanted.flatMap(({ variable, fallback }) =>
      fallback === undefined || held.has(variable) || env[variable] !== undefined
        ? []
        : [{ variable, value: fallback }],
    );
    for (const { variable, value } of fallbacks) held.set(variable, value);
    const standing = standingOf(wish, canonical(entry), taken, file.program);
    const name = standing.kind === 'taken' ? standing.free : wish;
    if (standing.kind !== 'same') taken.set(name, canonical(entry));
    return {
      ...common,
      name,
      entry,
      variables: unique([...moved, ...fallbacks]).filter(({ variable, value }) => secrets.get(variable) !== value),
      missing: read.wanted.filter(({ variable }) => !held.has(variable) && env[variable] === undefined),
      notes: read.notes,
      standing,
    };
  });
}

function standingOf(name: string, entry: string, taken: ReadonlyMap<string, string>, program: string): Standing {
  const other = taken.get(name);
  if (other === undefined) return { kind: 'new' };
  if (other === entry) return { kind: 'same' };
  const second = fitName(`${name}-${program}`);
  if (taken.get(second) === entry) return { kind: 'same' };
  return { kind: 'taken', free: freeName(second, taken) };
}

/** The name with what a name may not hold replaced. */
function fitName(name: string): string {
  const fit = name.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, longestName);
  return isName(fit) ? fit : 'server';
}

function freeName(wish: string, taken: ReadonlyMap<string, string>): string {
  for (let number = 2; ; number += 1) {
    const name = number === 2 ? wish : `${wish.slice(0, longestName - 4)}-${number - 1}`;
    if (!taken.has(name)) return name;
  }
}

/** The wanted variable; where it holds something else, the first numbered one that does not. */
function variableFor(wanted: string, value: string, held: Map<string, string>): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}_${number}`;
    const standing = held.get(name);
    if (standing !== undefined && standing !== value) continue;
    held.set(name, value);
    return name;
  }
}

function unique(variables: readonly TakenSecret[]): readonly TakenSecret[] {
  return [...new Map(variables.map((one) => [one.variable, one])).values()];
}

/** The same for the same entry, whatever the order of its keys. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const pairs = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`);
  return `{${pairs.join(',')}}`;
}
