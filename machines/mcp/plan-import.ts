/**
 * Plans an import: the name of each server, its entry with references for secrets, the variables of `.env`. A taken name is
 * never overwritten; another one is proposed. Writes nothing.
 * @see CLI-5 and HOME-4 in docs/specification.md
 */

import { type Json, type JsonObject, objectAt, scalarText, sortedJson } from '../base/json.ts';
import { variablesIn } from '../config/interpolate.ts';
import { isReservedVariable } from '../config/program-variables.ts';
import { type ForeignFile, type ForeignServer, objectOf } from './foreign-files.ts';
import { type VariableUse, variableUses, type WantedVariable } from './foreign-references.ts';
import { importServer, isLiteral } from './import-server.ts';
import { isName } from './install-link.ts';
import { ownVariable, type TakenSecret, takeSecrets, variableFor } from './secret-places.ts';

export interface ImportItem {
  readonly file: ForeignFile;
  /** Whether the file belongs to a checkout, whose authors wrote it; a file in the home itself is the user's own. */
  readonly isProject: boolean;
  /** Its name in the other program. */
  readonly foreignName: string;
  /** The name to add it under. */
  readonly name: string;
  readonly entry: JsonObject;
  /** The secrets of the file, to be written to `.env`. */
  readonly variables: readonly TakenSecret[];
  /** The variables that its file refers to, set or not, with where their values are sent. */
  readonly uses: readonly VariableUse[];
  /** Variables that neither `.env` nor the environment has. */
  readonly missing: readonly WantedVariable[];
  readonly notes: readonly string[];
  readonly standing: Standing;
}

type Standing =
  | { readonly kind: 'new' }
  /** The same entry exists already, or another program has it too. */
  | { readonly kind: 'same' }
  /** Another entry has its name; it could be added under this one. */
  | { readonly kind: 'taken'; readonly free: string }
  | { readonly kind: 'unusable'; readonly why: string };

export interface ImportStart {
  readonly found: readonly { readonly file: ForeignFile; readonly server: ForeignServer }[];
  /** config.yaml as it is written. */
  readonly config: JsonObject;
  readonly secrets: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

const maxNameLength = 64;

export function planImport({ found, config, secrets, env, userHome }: ImportStart): readonly ImportItem[] {
  const entries = objectAt(config, 'mcp_servers');
  const taken = new Map<string, string>(Object.entries(entries).map(([name, entry]) => [name, sortedJson(entry)]));
  const held = new Map(secrets);
  const isSet = (variable: string): boolean => secrets.has(variable) || env[variable] !== undefined;
  const offers = found.map(({ file, server }) => {
    const read = importServer(server, { program: file.program, workspace: file.workspace, isSet });
    return { file, server, read, reads: new Set(read.kind === 'unusable' ? [] : variablesIn(read.entry)) };
  });
  // Any offered entry may be chosen, so its references count like those already in the configuration.
  const readers = new Map<string, number>();
  for (const variable of [new Set(variablesIn(config)), ...offers.map(({ reads }) => reads)].flatMap((all) => [
    ...all,
  ])) {
    readers.set(variable, (readers.get(variable) ?? 0) + 1);
  }
  return offers.map(({ file, server, read, reads }) => {
    // An entry may set in `env` what its own arguments refer to.
    const isReferred = (variable: string): boolean => (readers.get(variable) ?? 0) > (reads.has(variable) ? 1 : 0);
    const wish = fitName(server.name);
    const isProject = file.workspace !== undefined && file.workspace !== userHome;
    const common = { file, isProject, foreignName: server.name, name: wish };
    const nothing = { entry: {}, variables: [], uses: [], missing: [], notes: [] };
    if (read.kind === 'unusable') return { ...common, ...nothing, standing: read };
    const nameOf = (wanted: string, value: string): string => {
      const isOthers = isReservedVariable(wanted) || (isReferred(wanted) && !held.has(wanted));
      // Where the program keeps `${NAME}` in an argument as it is, the server reads it from its own environment. Filled in
      // here, the secret would be in the list of processes.
      const isReadByServer = isLiteral(file.program) && variablesIn({ args: read.entry.args ?? [] }).includes(wanted);
      const own = isProject || isOthers || isReadByServer ? ownVariable(wanted, server.name) : wanted;
      // The values that take the place of a placeholder are each server's own.
      const kept = placeholder.test(value) ? `${server.name} ${value}` : value;
      return variableFor(own, kept, { held, env, isReferred });
    };
    const given = read.given.map(({ variable: name, value }) => ({ name, variable: nameOf(name, value), value }));
    const { entry, secrets: moved } = takeSecrets(server.name, renamed(read.entry, given), nameOf);
    const found = unique([...given, ...moved]);
    const isOpen = found.some(({ value }) => placeholder.test(value));
    const standing = standingOf({ name: wish, entry: sortedJson(entry), isOpen }, taken, file.program);
    const name = standing.kind === 'taken' ? standing.free : wish;
    if (standing.kind !== 'same') taken.set(name, sortedJson(entry));
    return {
      ...common,
      name,
      entry,
      variables: found.flatMap(({ variable, value }) =>
        secrets.get(variable) === value || placeholder.test(value) ? [] : [{ variable, value }],
      ),
      uses: variableUses(read.entry).filter(({ variable }) => !given.some(({ name }) => name === variable)),
      missing: unique([...read.wanted, ...found.flatMap(unfilled)]).filter(({ variable }) => !isSet(variable)),
      notes: read.notes,
      standing,
    };
  });
}

/** What a server's page shows where the own value belongs, such as `<YOUR_TOKEN>` or `your-api-key`. */
const placeholder = /^(?:<[^<>]+>|your[-_ ].+|x{4,}|\.{3}|…)$/i;

function unfilled({ variable, value }: TakenSecret): readonly WantedVariable[] {
  return placeholder.test(value) ? [{ variable, why: 'the block has a placeholder for it' }] : [];
}

/** The entry with the names of `.env` in the places of those of its file. */
function renamed(
  entry: JsonObject,
  given: readonly { readonly name: string; readonly variable: string }[],
): JsonObject {
  const names = new Map(given.map(({ name, variable }) => [`\${${name}}`, `\${${variable}}`]));
  if (names.size === 0) return entry;
  const { url, headers = {} } = entry;
  const inText = (text: Json): string => scalarText(text).replace(/\$\{\w+\}/g, (whole) => names.get(whole) ?? whole);
  const own = Object.entries(objectOf(headers)).map(([name, text]) => [name, inText(text)]);
  return { ...entry, url: inText(url ?? ''), ...(own.length === 0 ? {} : { headers: Object.fromEntries(own) }) };
}

/** @param offer `isOpen`: it has placeholders, whose variables have other names once they are in the configuration */
function standingOf(
  { name, entry, isOpen }: { readonly name: string; readonly entry: string; readonly isOpen: boolean },
  taken: ReadonlyMap<string, string>,
  program: string,
): Standing {
  const form = (text: string): string => (isOpen ? text.replace(/\$\{\w+\}/g, '${}') : text);
  const isSame = (other = ''): boolean => form(other) === form(entry);
  const second = fitName(`${name}-${program}`);
  if (!taken.has(name)) return { kind: 'new' };
  if (isSame(taken.get(name)) || isSame(taken.get(second))) return { kind: 'same' };
  return { kind: 'taken', free: freeName(second, taken) };
}

/** The name with invalid characters replaced. */
function fitName(name: string): string {
  // A name that begins with a hyphen is a flag to every command.
  const fit = name
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^-+(?=.)/, '')
    .slice(0, maxNameLength);
  return isName(fit) ? fit : 'server';
}

function freeName(wish: string, taken: ReadonlyMap<string, string>): string {
  for (let number = 2; ; number += 1) {
    const name = number === 2 ? wish : `${wish.slice(0, maxNameLength - 4)}-${number - 1}`;
    if (!taken.has(name)) return name;
  }
}

function unique<One extends { readonly variable: string }>(variables: readonly One[]): readonly One[] {
  return [...new Map(variables.map((one) => [one.variable, one])).values()];
}
