/**
 * Finds what an add-server link would take along: an entry from a web page may name variables of the user, and their
 * values go to the server or the command that the same page chose. Reads no value.
 * @see LNK-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { variablesIn } from '../config/interpolate.ts';

export interface TakenAlong {
  readonly variables: readonly string[];
  /** The host, or the command. */
  readonly to: string;
  /** The sentence for the dialog. */
  readonly words: string;
}

/** Undefined where the entry names no variable. */
export function takenAlong(config: JsonObject): TakenAlong | undefined {
  const variables = [...new Set(textsOf(config).flatMap(variablesIn))];
  if (variables.length === 0) return undefined;
  const isCommand = typeof config.command === 'string';
  const to = isCommand ? String(config.command) : hostOf(String(config.url));
  const list = variables.join(', ');
  const whose = variables.length === 1 ? 'the value of your variable' : 'the values of your variables';
  const words = isCommand
    ? `It hands ${whose} ${list} to the command ${to}. Add it only if they are meant for it.`
    : `It sends ${whose} ${list} to ${to}. Add it only if they are meant for it.`;
  return { variables, to, words };
}

function textsOf(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isJsonObject(value) ? Object.values(value).flatMap(textsOf) : [];
}

/** A reference in the host itself lets the values choose where they go. */
function hostOf(url: string): string {
  const host = /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(url)?.[1] ?? '';
  return URL.canParse(url) && !host.includes('${') ? new URL(url).host : `the host that ${host} comes to name`;
}
