/**
 * Turns the references in another program's texts into ours: variables, what VS Code asks for, folders. Names those that
 * nothing here answers to. Looks no variable up.
 * @see CLI-5 and INT-2 in docs/specification.md
 */

import { isJsonObject, type Json } from '../base/json.ts';
import type { ForeignServer } from './foreign-files.ts';
import { spelled } from './secret-places.ts';

/** A variable that the entry refers to and that somebody must set. */
export interface WantedVariable {
  readonly variable: string;
  /** What it is for. */
  readonly why: string;
  /** What the other program takes where nothing is set. */
  readonly fallback?: string;
}

export interface ReferenceSink {
  readonly server: Pick<ForeignServer, 'name' | 'inputs'>;
  /** The folder that the other program would run it in, where its file belongs to one. */
  readonly workspace: string | undefined;
  readonly wanted: WantedVariable[];
  /** References that mean nothing here, as they stand. */
  readonly unknown: Set<string>;
}

/** The value with every reference in our spelling, at any depth. */
export function ownReferences(value: Json, sink: ReferenceSink): Json {
  if (Array.isArray(value)) return value.map((item) => ownReferences(item, sink));
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, ownReferences(held, sink)]));
  }
  if (typeof value !== 'string') return value;
  return value.replace(/\$\{([^{}]+)\}/g, (whole, inner: string) => ownReference(whole, inner, sink));
}

function ownReference(whole: string, inner: string, { server, workspace, wanted, unknown }: ReferenceSink): string {
  if (inner.startsWith('input:')) {
    const id = inner.slice('input:'.length);
    const [prefix, own] = [spelled(server.name), spelled(id)];
    const variable = own.startsWith(prefix) ? own : `${prefix}_${own}`;
    wanted.push({ variable, why: server.inputs[id] ?? id });
    return `\${${variable}}`;
  }
  if (workspace !== undefined) {
    if (inner === 'workspaceFolder' || inner === 'cwd') return workspace;
    if (inner === 'workspaceFolderBasename') return workspace.slice(workspace.lastIndexOf('/') + 1);
  }
  if (places.has(inner)) return whole;
  const [, variable, fallback] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inner) ?? [];
  if (variable === undefined || editorOnly.has(inner)) {
    unknown.add(whole);
    return whole;
  }
  const why = 'it is read from the environment';
  wanted.push(fallback === undefined ? { variable, why } : { variable, why, fallback });
  return `\${${variable}}`;
}

/** References that are no variables; they mean the same here. */
const places: ReadonlySet<string> = new Set([
  'userHome',
  'workspaceFolder',
  'workspaceFolderBasename',
  'pathSeparator',
  '/',
]);

/** What an editor knows of its window, and nothing else does. */
const editorOnly: ReadonlySet<string> = new Set(['cwd', 'file', 'fileDirname', 'execPath', 'selectedText']);
