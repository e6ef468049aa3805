/**
 * Why a tool call has no result: the stable code, and a message that names the server, the tool and the remedy.
 * @see TRU-1, TRU-2, TRU-3 and LIF-7 in docs/specification.md
 */

import { meantOr } from '../config/nearest.ts';
import { sanitise } from './tool-name.ts';
import { untrustedWords } from './untrusted-words.ts';

interface ServerTool {
  readonly server: string;
  readonly name: string;
}

/** The codes are stable: scripts match on them. */
export interface CallFault {
  readonly code:
    | 'unknown_tool'
    | 'unknown_resource'
    | 'ambiguous_resource'
    | 'unknown_prompt'
    | 'invalid_arguments'
    | 'invalid_schema'
    | 'approval_denied'
    | 'approval_timed_out'
    | 'too_many_approvals'
    | 'server_unavailable'
    | 'outcome_uncertain'
    | 'needs_login'
    | 'timed_out'
    | 'cancelled'
    | 'rpc_error';
  readonly message: string;
  /** With `rpc_error`: the JSON-RPC error that the server answered with. */
  readonly rpc?: RpcError;
}

export interface RpcError {
  readonly code: number;
  readonly message: string;
}

/** The call that the message is about. */
interface FaultyCall {
  /** The registered name. */
  readonly name: string;
  readonly server: string | null;
}

/** More suggestions do not help. */
const maxMeant = 3;

/** @param known the registered names; a similar one, or those whose own name is equal, are suggested */
export function noSuchTool(name: string, known: readonly string[]): CallFault {
  const own = known.filter((one) => one.endsWith(`__${sanitise(name)}`));
  const list = '`agent mcp tools` lists them';
  const isFew = own.length > 0 && own.length <= maxMeant;
  const cure = isFew ? `did you mean "${own.join('" or "')}"?` : meantOr(name, known, list);
  return { code: 'unknown_tool', message: `no tool is named "${name}"; ${cure}` };
}

/** The same message for a tool that does not exist and for one of a server that the caller may not use. */
export function notOffered(name: string): CallFault {
  const message = `no tool is named "${name}" among those that are offered; \`agent mcp tools\` lists them; the toolsets must name any other`;
  return { code: 'unknown_tool', message };
}

export function noSuchResource(uri: string): CallFault {
  const message = `no mcp server offers the resource ${quoted(uri)}; \`resources/list\` lists those of the servers that can be reached, \`agent mcp list\` shows the others`;
  return { code: 'unknown_resource', message };
}

/** No listing contains the address, and the templates of several servers match it. */
export function resourceOfMany(uri: string, tools: readonly ServerTool[]): CallFault {
  const servers = tools.map(({ server }) => `"${server}"`).join(', ');
  const message = `the resource ${quoted(uri)} may be of the mcp servers ${servers}; call ${tools.map(({ name }) => name).join(' or ')} instead`;
  return { code: 'ambiguous_resource', message };
}

export function noSuchPrompt(name: string): CallFault {
  const message = `no prompt is named ${quoted(name)}; \`prompts/list\` lists those of the servers that can be reached, \`agent mcp list\` shows the others`;
  return { code: 'unknown_prompt', message };
}

function quoted(given: string): string {
  return JSON.stringify(untrustedWords(given));
}

/** The tool existed when the call came, and was gone or changed before sending. */
export function toolIsGone({ name, server }: FaultyCall): CallFault {
  const message = `${name} was not run: mcp server "${server}" does not list it any more; \`agent mcp tools\` lists what there is`;
  return { code: 'unknown_tool', message };
}

/** Repeated questions would tire the person. */
export function toolKeepsChanging({ name, server }: FaultyCall): CallFault {
  return unavailable(
    `${name} was not run: mcp server "${server}" changed it again after it was approved; look at \`agent mcp tools\`, then call it again`,
  );
}

/** Arguments are never sent unchecked. */
export function uncheckedArguments(
  { name, server }: FaultyCall,
  { why, isFinal }: { readonly why: string; readonly isFinal: boolean },
): CallFault {
  if (!isFinal) return unavailable(`${name} was not run: its arguments could not be checked: ${why}`);
  return {
    code: 'invalid_schema',
    message: `${name} was not run: its arguments cannot be checked, because mcp server "${server}" describes them with a schema that cannot be used: ${why}`,
  };
}

export function uncertain({ name, server }: FaultyCall, why: string): CallFault {
  return mayHaveRun(`mcp server "${server}": the connection was lost during ${name} (${why})`);
}

function mayHaveRun(what: string): CallFault {
  const message = `${what}; the tool may have run: check before you call it again`;
  return { code: 'outcome_uncertain', message };
}

/** For a read-only tool, after its replay or if it was never sent. */
export function lostRead({ name, server }: FaultyCall, why: string): string {
  return `mcp server "${server}": the connection was lost during ${name} (${why}); call it again`;
}

/** The server's answer does not show whether the tool ran. A read-only one has been called twice. */
export function unclear(
  { name, server, readOnly }: FaultyCall & { readonly readOnly: boolean },
  why: string,
): CallFault {
  const what = `mcp server "${server}": ${name} has no result (${why})`;
  const cure = 'it is marked read-only, so there is nothing to check before you call it again';
  return readOnly ? { code: 'outcome_uncertain', message: `${what}, twice; ${cure}` } : mayHaveRun(what);
}

/** It was sent while the tool was read-only, no result came, and the tool may now change something. */
export function noRepeat({ name, server }: FaultyCall): CallFault {
  return mayHaveRun(
    `mcp server "${server}": ${name} was sent and has no result, and it is not marked read-only any more`,
  );
}

/** An approval for the old entry does not cover what the new one starts. */
export function entryRetired({ name, server }: FaultyCall, how: 'changed' | 'removed'): CallFault {
  const cure = how === 'changed' ? '; call it again' : '';
  return unavailable(`mcp server "${server}": its entry was ${how} while ${name} waited${cure}`);
}

/** @param answer the verdict, and a person's reason for a denial */
export function refusal(
  { name, run }: FaultyCall & { readonly run?: string | undefined },
  { verdict, note }: { readonly verdict: string; readonly note?: string | undefined },
): CallFault {
  if (verdict === 'tooMany') {
    const whose = run === undefined ? 'its caller' : 'its run';
    const message = `${name} was not run: too many questions of ${whose} wait for a person already; answer them with \`agent approvals\`, then call it again`;
    return { code: 'too_many_approvals', message };
  }
  if (verdict === 'timedOut') {
    const message = `${name} was not run: it was not approved in time; answer with \`agent approvals\``;
    return { code: 'approval_timed_out', message };
  }
  const why = note === undefined ? '' : `: ${note}`;
  return { code: 'approval_denied', message: `${name} was not run: it was denied${why}` };
}

export function unavailable(why: string, code: CallFault['code'] = 'server_unavailable'): CallFault {
  return { code, message: why };
}

/** The call was not read. */
export const gatewayIsNotUp: CallFault = {
  code: 'server_unavailable',
  message: 'the call was not run: the gateway is starting or stopping; call again in a moment',
};

/** The caller lost its connection to the gateway during the call. */
export function gatewayLost(name: string, wasSent: boolean): CallFault {
  if (!wasSent) return unavailable(`${name} was not run: the gateway is not running; start it with \`agent gateway\``);
  return mayHaveRun(`the connection to the gateway was lost during ${name}`);
}

export function notReached({ server }: FaultyCall, afterMs: number): CallFault {
  return unavailable(`mcp server "${server}": not reached within ${afterMs / 1_000} s`);
}

export function cancelled(): CallFault {
  return { code: 'cancelled', message: 'the caller cancelled the call' };
}
