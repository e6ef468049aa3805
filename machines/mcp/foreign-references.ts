/**
 * Turns the references in another program's texts into ours: variables, what VS Code asks for, folders. Names those that
 * nothing here answers to. Looks no variable up.
 * @see CLI-5 and INT-2 in docs/specification.md
 */

import { isJsonObject, type Json } from '../base/json.ts';
import { inQuotes } from '../base/shown-json.ts';
import { isReservedVariable } from '../config/program-variables.ts';
import type { ForeignServer } from './foreign-files.ts';
import { spelled } from './secret-places.ts';

/** A variable that the entry refers to and that somebody must set. */
export interface WantedVariable {
  readonly variable: string;
  /** What it is for. */
  readonly why: string;
}

export interface ReferenceSink {
  readonly server: Pick<ForeignServer, 'name' | 'inputs'>;
  /** The folder that the other program would run it in, where its file belongs to one. */
  readonly workspace: string | undefined;
  /** Whether `.env` or the environment has the variable. Where it has not, a reference's own fallback takes its place. */
  readonly isSet: (variable: string) => boolean;
  readonly wanted: WantedVariable[];
  /** References that mean nothing here, as they stand. */
  readonly unknown: Set<string>;
}

/** The value with every reference in our notation, at any depth. */
export function ownReferences(value: Json, sink: ReferenceSink): Json {
  if (Array.isArray(value)) return value.map((item) => ownReferences(item, sink));
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, ownReferences(held, sink)]));
  }
  if (typeof value !== 'string') return value;
  return value.replace(/\$\{([^{}]+)\}/g, (whole, inner: string) => ownReference(whole, inner, sink));
}

function ownReference(
  whole: string,
  inner: string,
  { server, workspace, isSet, wanted, unknown }: ReferenceSink,
): string {
  if (inner.startsWith('input:')) {
    const id = inner.slice('input:'.length);
    const [prefix, own] = [spelled(server.name), spelled(id)];
    const named = own.startsWith(`${prefix}_`) ? own : `${prefix}_${own}`;
    const variable = isReservedVariable(named) ? `MCP_${named}` : named;
    wanted.push({ variable, why: inQuotes(server.inputs[id] ?? id) });
    return `\${${variable}}`;
  }
  if (workspace !== undefined) {
    if (inner === 'workspaceFolder' || inner === 'cwd') return workspace;
    if (inner === 'workspaceFolderBasename') return workspace.slice(workspace.lastIndexOf('/') + 1);
  }
  if (isPlace(inner)) return whole;
  const [, variable, fallback] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inner) ?? [];
  if (variable === undefined || editorOnly.has(inner)) {
    unknown.add(whole);
    return whole;
  }
  if (fallback !== undefined && !isSet(variable)) return fallback;
  wanted.push({ variable, why: 'it is read from the environment' });
  return `\${${variable}}`;
}

/** Whether a reference names a folder or a separator and no variable. It has the same meaning here. */
export function isPlace(name: string): boolean {
  return places.has(name);
}

const places: ReadonlySet<string> = new Set([
  'userHome',
  'workspaceFolder',
  'workspaceFolderBasename',
  'pathSeparator',
  '/',
]);

/** What an editor knows of its window, and nothing else does. */
const editorOnly: ReadonlySet<string> = new Set(['cwd', 'file', 'fileDirname', 'execPath', 'selectedText']);
