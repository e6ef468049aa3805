/**
 * A finding about a configuration: where, what, how to mend it, and which part of the gateway it stops. Printed like a
 * compiler's: the line and a caret under the place. A secret in that line is masked.
 * @see CFG-2 in docs/specification.md
 */

export interface Diagnostic {
  readonly file: string;
  /** From 1; 0 where the finding is about no line, such as an environment variable. */
  readonly line: number;
  readonly column: number;
  readonly code: string;
  readonly message: string;
  readonly severity: 'error' | 'warning';
  /** What it stops: the whole home, the webhook adapter, one server, or nothing but itself. */
  readonly scope: DiagnosticScope;
  /** The line as it stands, secrets masked; empty where there is none. */
  readonly sourceLine: string;
}

export type DiagnosticScope =
  | { readonly kind: 'home' }
  | { readonly kind: 'webhook' }
  | { readonly kind: 'server'; readonly server: string }
  | { readonly kind: 'platform'; readonly platform: string };

const secretValue =
  /(["']?[\w-]*(?:secret|token|password|api_?key|authorization|cookie)[\w-]*["']?\s*:\s*)(?!\$\{|["']\$\{)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,}\]{[][^,}\]]*)/gi;

/** The order of the findings of one file. */
export function byPlace(one: Diagnostic, other: Diagnostic): number {
  return one.line - other.line || one.column - other.column;
}

/** `file:line:col: message [code]`, then the line and a caret. */
export function printDiagnostic(found: Diagnostic): string {
  const place = found.line === 0 ? found.file : `${found.file}:${found.line}:${found.column}`;
  const head = `${place}: ${found.severity === 'warning' ? 'warning: ' : ''}${found.message} [${found.code}]`;
  if (found.sourceLine.trim() === '') return head;
  const margin = found.sourceLine.slice(0, Math.max(0, found.column - 1)).replace(/[^\t]/g, ' ');
  return `${head}\n  ${found.sourceLine}\n  ${margin}^`;
}

/** Hides the value of a key that sounds secret, unless it is a reference. The line keeps its length, for the caret. */
export function maskSecrets(line: string): string {
  return line.replace(secretValue, (_, key: string, value: string) => `${key}${'*'.repeat(value.trimEnd().length)}`);
}
