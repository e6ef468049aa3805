/**
 * Lists the variables that a server's entry refers to, each with where its value goes: the question about an entry from an
 * untrusted file names them. Looks no variable up.
 * @see SEC-2 and CLI-5 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { inQuotes, nameInSentence } from '../base/shown-json.ts';
import { variablesIn } from '../config/interpolate.ts';
import { isPlace } from './foreign-references.ts';

export interface VariableUse {
  readonly variable: string;
  /** A clause without a subject: `sends $TOKEN to “https://mcp.example”`. Words of the entry in it are in quotes (SEC-7). */
  readonly words: string;
}

/** Each variable once, in the order of the entry. Folders such as `${userHome}` are no variables. */
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

/** `https://`, the 253 characters of the longest host name and a port: the end of a name decides whose it is. */
const maxOrigin = 267;

/** The origin, without a login and a path that could pose as one. The text itself where a variable is a part of the origin. */
function destinationOf(url: string): string {
  const origin = URL.canParse(url) ? new URL(url).origin : '${';
  return origin.includes('${') ? inQuotes(url) : inQuotes(origin, maxOrigin);
}
