/**
 * Plans a change of one entry of `mcp_servers`: which keys of config.yaml change, and which values are moved to `.env`. The
 * resulting entry must pass the rules for entries. Reads and writes no file.
 * @see CLI-5, HOME-4 and CFG-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, objectAt } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import { type ConfigPath, partsOf } from '../config/document.ts';
import type { ConfigEdit } from '../config/edit.ts';
import { variablesIn } from '../config/interpolate.ts';
import { meantOr } from '../config/nearest.ts';
import { isReservedVariable } from '../config/program-variables.ts';
import { checkServerEntry, serverEntrySchema } from '../config/server-entry.ts';
import { validate } from '../config/validate.ts';
import { isName } from './install-link.ts';
import { ownVariable, type TakenSecret, takeSecrets, variableFor } from './secret-places.ts';

export type EntryRequest =
  /** A complete entry; replaces one of the same name only with `replaces`. */
  | { readonly kind: 'add'; readonly entry: JsonObject; readonly replaces: boolean }
  /** Changes only these keys of an entry, at any depth; null removes a key (RFC 7396). */
  | { readonly kind: 'edit'; readonly changes: JsonObject }
  | { readonly kind: 'remove' };

export interface ChangeStart {
  readonly name: string;
  readonly request: EntryRequest;
  /** config.yaml as it is written. */
  readonly config: JsonObject;
  /** The variables of `.env`. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly takes: 'secrets' | 'all';
  /** The variables to which the rest of the configuration refers, where it has been searched already. */
  readonly elsewhere?: ReadonlySet<string>;
}

export interface EntryPlan {
  readonly kind: 'planned';
  readonly edits: readonly ConfigEdit[];
  /** To be written to `.env` before the edits. */
  readonly variables: readonly TakenSecret[];
  /** The resulting entry; undefined if it is removed. */
  readonly entry: JsonObject | undefined;
  /** Variables of `.env` that nothing refers to any more. */
  readonly unused: readonly string[];
}

export interface EntryRefusal {
  readonly kind: 'refused';
  readonly code: string;
  readonly message: string;
  /** The key of the faulty value, with dots; `server` for the name. */
  readonly field?: string;
}

/** Shown instead of a secret: of one that its key names, and of one that is known or has the form of one. */
const secretMasks = ['***', '[redacted]'];

export function planEntryChange(start: ChangeStart): EntryPlan | EntryRefusal {
  const { name, request, config, secrets } = start;
  const servers = objectAt(config, 'mcp_servers');
  const exists = Object.hasOwn(servers, name);
  const standing = isJsonObject(servers[name]) ? servers[name] : {};
  const elsewhere = start.elsewhere ?? atOnce(readingElsewhere(name, config));
  const unusedAfter = (entry: JsonObject): readonly string[] => {
    const read = new Set([...elsewhere, ...variablesIn(entry)]);
    return [...new Set(variablesIn(standing))].filter((variable) => secrets.has(variable) && !read.has(variable));
  };
  const path: ConfigPath = ['mcp_servers', name];
  if (request.kind === 'remove') {
    if (!exists) return unknown(name, servers);
    return {
      kind: 'planned',
      edits: [{ path, value: undefined }],
      variables: [],
      entry: undefined,
      unused: unusedAfter({}),
    };
  }
  if (request.kind === 'add' && exists && !request.replaces) {
    return refuse('server-exists', `an mcp server is named "${name}" already; choose another name`, 'server');
  }
  if (request.kind === 'add' && !exists && !isName(name)) {
    return refuse('server-name', serverNameRule, 'server');
  }
  if (request.kind === 'edit' && !exists) return unknown(name, servers);
  const given = request.kind === 'add' ? request.entry : withoutVain(request.changes, standing);
  if (request.kind === 'edit') {
    const vain = validate(serverEntrySchema, vainRemovals(request.changes, standing));
    const mistyped = vain.find(({ code }) => code === 'unknown-key');
    if (mistyped !== undefined)
      return refuse(mistyped.code, `mcp server "${name}": ${mistyped.message}`, mistyped.path.join('.'));
  }
  const masked = maskIn(given);
  if (masked !== undefined) {
    const field = masked.at.join('.');
    const cure = `${masked.mask} is shown in place of a secret; type the value, or a reference such as \${NAME}`;
    return refuse('server-masked', `${field}: ${cure}`, field);
  }
  // A variable that only this entry reads may get a new value; one that something else reads must keep its value.
  const own = new Set(variablesIn(standing).filter((variable) => !elsewhere.has(variable)));
  const variables = {
    held: new Map([...secrets].filter(([variable]) => !own.has(variable))),
    env: Object.fromEntries(Object.entries(start.env).filter(([variable]) => !own.has(variable))),
    isReferred: (variable: string) => elsewhere.has(variable),
  };
  const taken = takeSecrets(
    name,
    given,
    (wanted, value) => {
      const isOthers = isReservedVariable(wanted) || (elsewhere.has(wanted) && !secrets.has(wanted));
      return variableFor(isOthers ? ownVariable(wanted, name) : wanted, value, variables);
    },
    start.takes,
  );
  const entry = request.kind === 'add' ? taken.entry : merged(standing, taken.entry);
  // An entry with findings can still be switched off.
  const isSwitch = request.kind === 'edit' && Object.keys(given).every((key) => key === 'enabled');
  const [finding] = isSwitch ? [] : [...validate(serverEntrySchema, entry), ...checkServerEntry(entry)];
  if (finding !== undefined) {
    return refuse(finding.code, `mcp server "${name}": ${finding.message}`, finding.path.join('.'));
  }
  return {
    kind: 'planned',
    edits: request.kind === 'add' ? [{ path, value: entry }] : editsOf(path, standing, taken.entry),
    variables: taken.secrets.filter(({ variable, value }) => secrets.get(variable) !== value),
    entry,
    unused: unusedAfter(entry),
  };
}

/** Finds the variables to which a configuration refers outside of an entry. */
export function* readingElsewhere(name: string, config: JsonObject): Pieces<ReadonlySet<string>> {
  const { [name]: _, ...otherServers } = objectAt(config, 'mcp_servers');
  const found = new Set<string>();
  for (const part of partsOf({ ...config, mcp_servers: otherServers })) {
    for (const variable of variablesIn(part)) found.add(variable);
    yield undefined;
  }
  return found;
}

const serverNameRule = 'the name of a server has 1 to 64 letters, digits, ".", "_" and "-", and not only dots';

/**
 * Returns the entry with the changes; null removes a key.
 * @see [RFC 7396 §2](https://www.rfc-editor.org/rfc/rfc7396.html#section-2)
 */
export function merged(standing: JsonObject, changes: JsonObject): JsonObject {
  const result: Record<string, Json> = { ...standing };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete result[key];
    else if (isJsonObject(value)) {
      const held = result[key];
      result[key] = merged(isJsonObject(held) ? held : {}, value);
    } else result[key] = value;
  }
  return result;
}

/** Leaves out the removal of an absent key, so that no empty object is written for it. */
function withoutVain(changes: JsonObject, standing: JsonObject): JsonObject {
  const kept = Object.entries(changes).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
    const held = standing[key];
    if (value === null) return held === undefined ? [] : [[key, value]];
    if (!isJsonObject(value)) return [[key, value]];
    const inner = withoutVain(value, isJsonObject(held) ? held : {});
    const isVain = held === undefined && Object.keys(value).length > 0 && Object.keys(inner).length === 0;
    return isVain ? [] : [[key, inner]];
  });
  return Object.fromEntries(kept);
}

/** The removals of keys that the entry does not have, of which one that no entry may have is mistyped. */
function vainRemovals(changes: JsonObject, standing: JsonObject): JsonObject {
  const vain = Object.entries(changes).flatMap(([key, value]): readonly (readonly [string, Json])[] => {
    const held = standing[key];
    if (isJsonObject(value)) return [[key, vainRemovals(value, isJsonObject(held) ? held : {})]];
    return value === null && held === undefined ? [[key, null]] : [];
  });
  return Object.fromEntries(vain);
}

/** As few keys as possible, so that what does not change keeps its comments and form. */
function editsOf(path: ConfigPath, standing: JsonObject, changes: JsonObject): readonly ConfigEdit[] {
  return Object.entries(changes).flatMap(([key, value]): readonly ConfigEdit[] => {
    const at = [...path, key];
    const held = standing[key];
    if (value === null) return [{ path: at, value: undefined }];
    if (JSON.stringify(held) === JSON.stringify(value)) return [];
    if (!isJsonObject(value)) return [{ path: at, value }];
    return isJsonObject(held) ? editsOf(at, held, value) : [{ path: at, value: merged({}, value) }];
  });
}

function maskIn(value: Json, at: ConfigPath = []): { readonly at: ConfigPath; readonly mask: string } | undefined {
  if (typeof value === 'string') {
    const mask = secretMasks.find((one) => value.includes(one));
    return mask === undefined ? undefined : { at, mask };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, held] of Object.entries(value)) {
    const found = maskIn(held, [...at, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The remedy needs no gateway, as a change of an entry does not. */
function unknown(name: string, servers: JsonObject): EntryRefusal {
  const cure = meantOr(name, Object.keys(servers), '`agent config show mcp_servers` lists them');
  return refuse('server-unknown', `no mcp server is named "${name}"; ${cure}`);
}

function refuse(code: string, message: string, field?: string): EntryRefusal {
  return { kind: 'refused', code, message, ...(field === undefined || field === '' ? {} : { field }) };
}
