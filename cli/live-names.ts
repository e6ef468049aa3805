/**
 * Looks up names for completion: from the running gateway within a short time limit, none if it does not answer; profiles
 * from the home's folders. Never prints an error: a key press must not produce messages.
 * @see CLI-2 in docs/specification.md
 */

import { readdirSync, statSync } from 'node:fs';
import type { Json, JsonObject } from '../machines/base/json.ts';
import { askOnce } from '../runtime/control/client.ts';
import type { NameKind } from './catalogue/row.ts';
import type { Candidate } from './complete.ts';
import type { GatewayPlace } from './context.ts';

/** The person waits for the key to take effect. */
const maxMs = 400;
const maxRows = 100;

interface Source {
  readonly method: string;
  readonly params?: JsonObject;
  /** The candidate of a row; undefined if the row offers none. */
  readonly pick: (row: JsonObject) => Candidate | undefined;
}

const sources: Readonly<Partial<Record<NameKind, Source>>> = {
  server: { method: 'mcp.list', pick: (row) => named(row.name, row.state) },
  'login-server': { method: 'mcp.oauthServers', pick: (row) => named(row.server, row.profile) },
  tool: { method: 'mcp.tools', pick: (row) => named(row.name, row.description) },
  route: {
    method: 'webhook.list',
    params: { brief: true },
    pick: (row) => (row.url === '' ? undefined : named(row.name, row.description)),
  },
  subscription: {
    method: 'webhook.list',
    params: { brief: true },
    pick: (row) => (row.source === 'dynamic' ? named(row.name, row.description) : undefined),
  },
  job: { method: 'cron.list', pick: (row) => named(row.id, row.name) },
  delivery: newest('webhook.deliveries', 'delivery_id', 'route', 'event'),
  run: newest('runs.list', 'id', 'route', 'event'),
  sending: newest('deliveries.list', 'id', 'target', 'route'),
  approval: {
    method: 'approvals.list',
    // Not the message: a server wrote it, and here no label precedes it (SEC-7).
    pick: (row) => named(row.id, `${String(row.server)} ${String(row.tool ?? row.kind)}`),
  },
};

/** The newest rows by their id, each with two of its words and its status. */
function newest(method: string, id: string, ...words: readonly [string, string]): Source {
  const help = (row: JsonObject): string => [...words, 'status'].map((word) => String(row[word])).join(' ');
  return { method, params: { limit: maxRows }, pick: (row) => named(row[id], help(row)) };
}

/** The names of a kind, only of the given profile if there is one: some lists are of all profiles. */
export async function liveNames(
  kind: NameKind,
  { socket, home }: GatewayPlace,
  profile: string | undefined,
): Promise<readonly Candidate[]> {
  if (kind === 'profile') return home === undefined ? [] : profileNames(home);
  if (kind === 'actor') return actorNames(await askOnce(socket, 'inspect.tree', {}, maxMs));
  const source = sources[kind];
  if (source === undefined) return [];
  const rows = await askOnce(
    socket,
    source.method,
    { ...source.params, ...(profile === undefined ? {} : { profile }) },
    maxMs,
  );
  if (!Array.isArray(rows)) return [];
  return (rows as readonly JsonObject[])
    .filter((row) => profile === undefined || row.profile === undefined || row.profile === profile)
    .flatMap((row) => source.pick(row) ?? []);
}

/** What the command would read as a flag, and the script as an instruction: a sender may have chosen the name. */
const misread = /^(?:-|:folders$)/;

function named(name: Json | undefined, help: Json | undefined): Candidate | undefined {
  return typeof name === 'string' && name !== '' && !misread.test(name)
    ? { word: name, help: typeof help === 'string' ? help : '' }
    : undefined;
}

function actorNames(tree: Json | undefined): readonly Candidate[] {
  const found: Candidate[] = [];
  const visit = (node: JsonObject): void => {
    const candidate = named(node.id, node.state);
    if (candidate !== undefined) found.push(candidate);
    for (const child of (node.children as readonly JsonObject[] | undefined) ?? []) visit(child);
  };
  if (tree !== undefined && tree !== null) visit(tree as JsonObject);
  return found;
}

function profileNames(home: string): readonly Candidate[] {
  try {
    const folders = readdirSync(`${home}/profiles`).filter(
      (name) => statSync(`${home}/profiles/${name}`, { throwIfNoEntry: false })?.isDirectory() === true,
    );
    return [{ word: 'default', help: '' }, ...folders.map((word) => ({ word, help: '' }))];
  } catch {
    return [{ word: 'default', help: '' }];
  }
}
