/**
 * Lists the variables that a server's entry refers to, each with where its value is sent, for the question about an entry
 * from an untrusted file. Looks up no variable.
 * @see SEC-2 and CLI-5 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { inQuotes, nameInSentence } from '../base/shown-json.ts';
import { variablesIn } from '../config/interpolate.ts';
import { isPlace } from './foreign-references.ts';

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
