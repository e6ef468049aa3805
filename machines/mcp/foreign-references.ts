/**
 * Converts the references in another program's texts into ours: variables, VS Code inputs, folders. Collects those without a
 * counterpart, and lists the variables that an entry refers to, each with where its value is sent. Looks up no variable.
 * @see CLI-5, INT-2 and SEC-2 in docs/specification.md
 */

import { eachText, type Json, type JsonObject } from '../base/json.ts';
import { inQuotes, nameInSentence } from '../base/shown-json.ts';
import { variablesIn } from '../config/interpolate.ts';
import { isReservedVariable } from '../config/program-variables.ts';
import type { ForeignProgram, ForeignServer } from './foreign-files.ts';
import { variableName } from './secret-places.ts';

/** A variable that the entry refers to and a person must set. */
export interface WantedVariable {
  readonly variable: string;
  /** Its purpose. */
  readonly why: string;
}

interface ReferenceSink {
  readonly server: Pick<ForeignServer, 'name' | 'inputs'>;
  readonly program: ForeignProgram;
  /** The folder in which the other program would run it, if its file belongs to one. */
  readonly workspace: string | undefined;
  /** Whether `.env` or the environment has the variable; if not, the reference's own fallback is used. */
  readonly isSet: (variable: string) => boolean;
  readonly wanted: WantedVariable[];
  /** References without a counterpart, as they are written. */
  readonly unknown: Set<string>;
}

/** The value with every reference in our syntax, at any depth. */
export function ownReferences(value: Json, sink: ReferenceSink): Json {
  return eachText(value, (text) =>
    inBraces(text, sink).replace(/\$\{([^{}]+)\}/g, (whole, inner: string) => ownReference(whole, inner, sink)),
  );
}

/** Gemini CLI's `$NAME` and OpenCode's `{env:NAME}` as `${…}`. A lower-case word after a `$` is more likely part of a password. */
function inBraces(text: string, { program, isSet }: ReferenceSink): string {
  if (program === 'opencode') return text.replace(/\{((?:env|file):[^{}]+)\}/g, '${$1}');
  if (program !== 'gemini-cli') return text;
  return text.replace(/\$([A-Za-z_]\w*)/g, (whole, name: string) =>
    name === name.toUpperCase() || isSet(name) ? `\${${name}}` : whole,
  );
}

function ownReference(
  whole: string,
  inner: string,
  { server, workspace, isSet, wanted, unknown }: ReferenceSink,
): string {
  if (inner.startsWith('input:')) {
    const id = inner.slice('input:'.length);
    const [prefix, own] = [variableName(server.name), variableName(id)];
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

/** Whether a reference means a folder or a separator, not a variable. It has the same meaning here. */
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

/** References that only an editor can resolve. */
const editorOnly: ReadonlySet<string> = new Set(['cwd', 'file', 'fileDirname', 'execPath', 'selectedText']);

export interface VariableUse {
  readonly variable: string;
  /** A predicate without a subject: `sends $TOKEN to “https://mcp.example”`. Text of the entry in it is quoted (SEC-7). */
  readonly words: string;
}

/** Each variable once, in the entry's order. Folders such as `${userHome}` are not variables. */
export function variableUses(entry: JsonObject): readonly VariableUse[] {
  const variables = new Set(variablesIn(entry).filter((name) => !isPlace(name)));
  return [...variables].map((variable) => ({
    variable,
    words:
      typeof entry.command === 'string'
        ? `gives $${nameInSentence(variable)} to the program ${inQuotes(entry.command)}`
        : `sends $${nameInSentence(variable)} to ${destinationOf(String(entry.url ?? ''))}`,
  }));
}

/** `https://`, a host name of the maximum 253 characters and a port: the end of a host name identifies it. */
const maxOrigin = 267;

/** The origin, without a login or path that could imitate one. The text itself if the origin contains a variable. */
function destinationOf(url: string): string {
  const origin = URL.canParse(url) ? new URL(url).origin : '${';
  return origin.includes('${') ? inQuotes(url) : inQuotes(origin, maxOrigin);
}
