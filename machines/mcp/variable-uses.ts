/**
 * Lists the variables that a server's entry refers to, each with where its value goes: the question about an entry from an
 * untrusted file names them. Looks no variable up.
 * @see SEC-2 and CLI-5 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { variablesIn } from '../config/interpolate.ts';
import { isPlace } from './foreign-references.ts';

export interface VariableUse {
  readonly variable: string;
  /** A clause without a subject: `sends $TOKEN to https://mcp.example`. */
  readonly words: string;
}

/** Each variable once, in the order of the entry. Folders such as `${userHome}` are no variables. */
export function variableUses(entry: JsonObject): readonly VariableUse[] {
  const variables = new Set(variablesIn(entry).filter((name) => !isPlace(name)));
  return [...variables].map((variable) => ({
    variable,
    words:
      typeof entry.command === 'string'
        ? `gives $${variable} to the program ${entry.command}`
        : `sends $${variable} to ${destinationOf(String(entry.url ?? ''))}`,
  }));
}

/** The origin, without a login and a path that could pose as one. The text itself where a variable is a part of the origin. */
function destinationOf(url: string): string {
  const origin = URL.canParse(url) ? new URL(url).origin : '${';
  return origin.includes('${') ? url : origin;
}
