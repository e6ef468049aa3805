/**
 * Interprets the result of a script: whether it replaced the payload, added to it, or ignored the request.
 * @see SCR-2 and LIM-5 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import { readJson } from '../base/read-json.ts';

export type ScriptResult =
  | { readonly kind: 'exited'; readonly code: number | null; readonly stdout: string; readonly stderr?: string }
  | { readonly kind: 'timedOut'; readonly afterMs: number; readonly stderr?: string }
  /** Nothing ran; without a reason, the file does not exist. */
  | { readonly kind: 'missing'; readonly why?: string }
  /** File descriptors, processes or memory were missing to start it. */
  | { readonly kind: 'notBegun'; readonly why: string }
  | { readonly kind: 'flooded' }
  | { readonly kind: 'aborted' };

type ScriptVerdict =
  | { readonly kind: 'replaced'; readonly payload: JsonObject }
  | { readonly kind: 'annotated'; readonly payload: JsonObject }
  | { readonly kind: 'ignored'; readonly why: string }
  /** It could not decide about the event, which is ignored as well. */
  | { readonly kind: 'failed'; readonly why: string }
  /** The sender has to send the event again. */
  | { readonly kind: 'notBegun'; readonly why: string };

export function readScriptOutcome(result: ScriptResult, payload: JsonObject): ScriptVerdict {
  switch (result.kind) {
    case 'timedOut':
      return {
        kind: 'failed',
        why: `timed out after ${result.afterMs / 1_000} s (script_timeout_seconds)${saying(result.stderr)}`,
      };
    case 'missing':
      return { kind: 'failed', why: result.why ?? 'not found in the scripts folder' };
    case 'notBegun':
      return result;
    case 'flooded':
      return { kind: 'failed', why: 'printed more than 1 MiB' };
    case 'aborted':
      return { kind: 'failed', why: 'stopped' };
    case 'exited':
      if (result.code !== 0) {
        return { kind: 'failed', why: `exited with ${result.code ?? 'a signal'}${saying(result.stderr)}` };
      }
      return readOutput(result.stdout.trim(), payload);
  }
}

/** The end of what the script wrote to standard error before it failed, which names the cause, in one line. */
function saying(stderr = ''): string {
  const words = stderr.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return words === '' ? '' : `: ${words}`;
}

function readOutput(text: string, payload: JsonObject): ScriptVerdict {
  if (text === '') return { kind: 'ignored', why: 'printed nothing' };
  if (text === '[SILENT]') return { kind: 'ignored', why: 'printed [SILENT]' };
  const replaced = asObject(text);
  if (replaced === undefined) return { kind: 'annotated', payload: { ...payload, script_output: text } };
  return asksToIgnore(replaced)
    ? { kind: 'ignored', why: 'asked to be ignored' }
    : { kind: 'replaced', payload: replaced };
}

/** The second is what scripts that were written for Hermes Agent print. */
const ignoreKeys: readonly string[] = ['__agent_ignore__', '__hermes_ignore__'];

/** Only the key alone means ignore; an object with other keys is a payload. */
function asksToIgnore(replaced: JsonObject): boolean {
  const [key = '', ...others] = Object.keys(replaced);
  return others.length === 0 && ignoreKeys.includes(key) && replaced[key] === true;
}

function asObject(text: string): JsonObject | undefined {
  if (!text.startsWith('{')) return undefined;
  const value = readJson(text);
  return isJsonObject(value) ? value : undefined;
}
