/**
 * Gathers what is wrong with one `config.yaml`, each finding at its place in the text, and answers what of the file can be
 * read all the same: which part is stopped, and which keys the schema has refused.
 * @see CFG-2 and CFG-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { byPlace, type Diagnostic, type DiagnosticScope, sourceAt } from './diagnostic.ts';
import { type ConfigPath, parseDocument, samePath } from './document.ts';
import { homeSchema } from './schema.ts';
import type { EntryFinding } from './server-entry.ts';
import { validate } from './validate.ts';

type Severity = Diagnostic['severity'];

export interface Findings {
  /** The document as it stands; where it cannot be parsed, what of it can. */
  readonly written: JsonObject;
  /** Adds a finding. Left out, its scope is the part of the file that it lies in, and it is an error. */
  report(found: EntryFinding, scope?: DiagnosticScope, severity?: Severity): void;
  /** Adds a finding of the webhook adapter that is about no line of the file. */
  reportOutside(place: string, found: Pick<Diagnostic, 'message' | 'code'>, severity?: Severity): void;
  /** A finding at its place in the file, which is not added. */
  placed(found: EntryFinding, scope: DiagnosticScope, severity: Severity): Diagnostic;
  /** Whether the schema has refused this very place. */
  isRefused(path: ConfigPath): boolean;
  /** The keys of a mapping at or below which the schema has refused something. */
  unreadAt(at: ConfigPath): ReadonlySet<string>;
  /** A mapping without the keys that the schema has refused themselves. */
  readable(mapping: JsonObject, ...at: ConfigPath): JsonObject;
  /** Why a part is stopped by an error of its own or of the whole file; undefined where it is not. */
  problemOf(part: DiagnosticScope): string | undefined;
  /** In the order of the file. */
  all(): readonly Diagnostic[];
}

/** Parses the text and holds it to the schema. */
export function createFindings(file: string, text: string): Findings {
  const document = parseDocument(text);
  const written = document.value as JsonObject;
  const diagnostics: Diagnostic[] = document.findings.map((found) => ({
    ...found,
    file,
    severity: 'error',
    scope: { kind: 'home' },
    ...sourceAt(document.line(found.line), found.column),
  }));

  function placed({ path, message, code }: EntryFinding, scope: DiagnosticScope, severity: Severity): Diagnostic {
    const place = document.place(path);
    return { ...place, file, message, code, severity, scope, ...sourceAt(document.line(place.line), place.column) };
  }

  const refused: readonly ConfigPath[] = validate(homeSchema, written).map((found) => {
    diagnostics.push(placed(found, scopeOf(found.path), 'error'));
    return found.path;
  });
  const isRefused = (path: ConfigPath): boolean => refused.some((one) => samePath(one, path));

  return {
    written,
    report(found, scope = scopeOf(found.path), severity = 'error') {
      diagnostics.push(placed(found, scope, severity));
    },
    reportOutside(place, { message, code }, severity = 'error') {
      diagnostics.push({
        file: place,
        line: 0,
        column: 0,
        message,
        code,
        severity,
        scope: { kind: 'webhook' },
        sourceLine: '',
      });
    },
    placed,
    isRefused,
    unreadAt: (at) => new Set(refused.filter((path) => isBelow(path, at)).map((path) => String(path[at.length]))),
    readable: (mapping, ...at) =>
      Object.fromEntries(Object.entries(mapping).filter(([key]) => !isRefused([...at, key]))),
    problemOf(part) {
      // A warning, even one of the whole home, stops nothing.
      const found = diagnostics.find(
        ({ severity, scope }) => severity === 'error' && (scope.kind === 'home' || sameScope(scope, part)),
      );
      return found && `${found.file}:${found.line}: ${found.message}`;
    },
    all: () => [...diagnostics].sort(byPlace),
  };
}

/** Which part of the gateway a finding at a path stops. */
function scopeOf(path: ConfigPath): DiagnosticScope {
  const [section, name] = path;
  if (section === 'mcp_servers' && name !== undefined) return { kind: 'server', server: String(name) };
  if (section !== 'platforms' || name === undefined) return { kind: 'home' };
  return name === 'webhook' ? { kind: 'webhook' } : { kind: 'platform', platform: String(name) };
}

function sameScope(one: DiagnosticScope, other: DiagnosticScope): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isBelow(path: ConfigPath, at: ConfigPath): boolean {
  return path.length > at.length && at.every((step, index) => String(path[index]) === String(step));
}
