/**
 * Calls the daemon by the same methods as the command line, and keeps results for views that are drawn again.
 * @see CLI-3 and INS-2 in docs/specification.md
 */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import type { Ask, Method, Params, Result } from '../../../control/contract.ts';
import { onlyReads } from '../../../control/methods.ts';
import { sentenceCase } from './format.ts';
import { link, onReturn } from './live.ts';
import { fetchProven, NotSent } from './session.ts';

/** The daemon's reason for a refusal. */
class RpcRefusal extends Error {
  readonly code: string;
  /** The parameter at fault. */
  readonly field: string | undefined;
  constructor(message: string, code: string, field?: string) {
    super(message);
    this.code = code;
    this.field = field;
  }
}

/** The connection broke within an answer. */
class CutOff extends Error {}

interface RpcMessage {
  readonly id?: number;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: Json;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: { readonly code?: string; readonly field?: string };
  };
}

let last = 0;
export const unreachable = 'unreachable';
/** The code of a change that may have been made before the connection broke, and what is said of it. */
const unanswered = 'unanswered';
const unansweredWords = 'the daemon’s answer did not arrive; look whether it was done before you do it again';

/**
 * Resolves with the result; rejects with an RpcRefusal, or with another error if the daemon cannot be reached. A daemon that
 * hung may still carry out a change when it wakes, so its answer is waited for: a person who is shown a failure would repeat
 * the change.
 */
export const call: Ask = (method: string, params: object = {}) => {
  const asked = async (signal?: AbortSignal): Promise<Json> =>
    resultOf(await bodyOf<RpcMessage>(await post(method, params, 'application/json', signal)));
  // The contract types the daemon's results.
  return (onlyReads(method) ? read(asked) : change(asked)) as never;
};

/** Asks once more if the connection breaks within the answer. While the stream is lost too, the return of the daemon does. */
async function read<Value>(ask: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  try {
    return await untilLost(ask);
  } catch (error) {
    if (!(error instanceof CutOff) || link.get() !== 'live') throw error;
    return untilLost(ask);
  }
}

async function change<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof RpcRefusal || error instanceof NotSent ? error : new RpcRefusal(unansweredWords, unanswered);
  }
}

/** Aborts `ask` when the stream is lost: a daemon that hangs would never answer. */
async function untilLost<Value>(ask: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const lost = new AbortController();
  const forget = link.onChange(() => {
    if (link.get() === 'lost') lost.abort();
  });
  try {
    return await ask(lost.signal);
  } finally {
    forget();
  }
}

/** Like `call`, with the notifications before the result; aborting ends the command. Rejects with why if it is cut off. */
export async function stream<M extends Method>(
  method: M,
  params: Params<M>,
  { signal, heard }: { readonly signal: AbortSignal; readonly heard: (method: string, params: JsonObject) => void },
): Promise<Result<M>> {
  try {
    for await (const message of messagesOf(method, params, signal)) {
      if (message.method === undefined) return resultOf(message) as Result<M>;
      heard(message.method, message.params ?? {});
    }
  } catch (error) {
    if (!(error instanceof CutOff) || signal.aborted) throw error;
  }
  throw new RpcRefusal('the daemon ended the connection before its answer was complete; try again', 'closed');
}

/** Subscribes: passes on the result, then each notification, until it is aborted. Rejects when the stream ends. */
export async function subscribe<M extends Method>(
  method: M,
  params: Params<M>,
  {
    signal,
    begun,
    heard,
  }: {
    readonly signal: AbortSignal;
    readonly begun: (result: Result<M>) => void;
    readonly heard: (params: JsonObject) => void;
  },
): Promise<never> {
  for await (const message of messagesOf(method, params, signal)) {
    if (message.method === undefined) begun(resultOf(message) as Result<M>);
    else heard(message.params ?? {});
  }
  throw new RpcRefusal('the daemon closed the connection', 'closed');
}

async function* messagesOf(method: string, params: object, signal: AbortSignal): AsyncGenerator<RpcMessage> {
  const response = await post(method, params, 'application/x-ndjson', signal);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const read = await reader?.read().catch(cutOff);
    if (read === undefined || read.done) return;
    const lines = (rest + read.value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as RpcMessage;
  }
}

/** Fetches JSON from an address of the daemon; undefined for 404. */
export async function look<Found>(path: string): Promise<Found | undefined> {
  return read(async (signal) => {
    const response = await fetchProven(path, { signal });
    if (response.status === 404) return undefined;
    refuseFailed(response);
    return bodyOf<Found>(response);
  });
}

export type Asked<Found> =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'there'; readonly value: Found }
  | { readonly kind: 'refused'; readonly why: string; readonly code: string };

export interface Asking<Found> {
  readonly asked: Asked<Found>;
  /** Calls again; the present value stays until the new one is there. Resolves with it. */
  again(): Promise<void>;
}

/** The last results by key, shown where the daemon cannot be reached; the oldest is dropped. */
const remembered = new Map<string, unknown>();
const maxRemembered = 50;

function remember(key: string, value: unknown): void {
  remembered.delete(key);
  remembered.set(key, value);
  const [oldest = key] = remembered.keys();
  if (remembered.size > maxRemembered) remembered.delete(oldest);
}

/**
 * Calls for each new key, and again once the daemon can answer again. The result for an earlier key is dropped. A key stands
 * for one method and its parameters.
 */
export function useAsked<Found>(key: string, ask: () => Promise<Found>): Asking<Found> {
  const [state, setState] = useState<{ key: string; asked: Asked<Found> }>({ key, asked: { kind: 'waiting' } });
  /** The numbers of the last call, and of the newest one whose answer is not to be replaced by those of earlier ones. */
  const turn = useRef({ last: 0, settled: 0 });
  const asker = useRef(ask);
  asker.current = ask;
  const again = useCallback((): Promise<void> => {
    const { current: turns } = turn;
    turns.last += 1;
    const mine = turns.last;
    // Not only the last call: with changes faster than answers, none would ever be shown.
    const settle = (asked: Asked<Found>): void => {
      if (mine <= turns.settled) return;
      turns.settled = mine;
      setState({ key, asked });
    };
    return asker.current().then(
      (value) => {
        remember(key, value);
        settle({ kind: 'there', value });
      },
      (error: unknown) => {
        const refused = { kind: 'refused', ...wordsOf(error) } as const;
        // If the daemon cannot be reached, the last value stays; it is read again after a reconnect. A new object, so that a
        // view that calls again after each result does so after this one too.
        const stays = refused.code === unreachable && remembered.has(key);
        settle(stays ? { kind: 'there', value: remembered.get(key) as Found } : refused);
      },
    );
  }, [key]);
  useEffect(() => {
    const { current: turns } = turn;
    void again();
    const forget = onReturn(() => void again());
    return () => {
      turns.settled = turns.last;
      forget();
    };
  }, [again]);
  return { asked: state.key === key ? state.asked : { kind: 'waiting' }, again };
}

export interface Kept<Found> extends Asking<Found> {
  /** Why the value could not be read again; empty if it could. */
  readonly failed: string;
}

/** The same, but what was read stays if it cannot be read again, and with it what a person types or selects in it. */
export function useKept<Found>({ asked, again }: Asking<Found>): Kept<Found> {
  const last = useRef(asked);
  if (asked.kind !== 'refused' || last.current.kind !== 'there') last.current = asked;
  const failed = asked.kind === 'refused' && last.current.kind === 'there' ? asked.why : '';
  return { asked: last.current, again, failed };
}

/** The value, or the last one while there is none; for a component that is of one thing as long as it is drawn. */
export function useLast<Value>(value: Value | undefined): Value | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}

export function wordsOf(error: unknown): { readonly why: string; readonly code: string; readonly field?: string } {
  if (error instanceof RpcRefusal) {
    const { message: why, code, field } = error;
    return field === undefined ? { why, code } : { why, code, field };
  }
  return { why: 'the daemon cannot be reached', code: unreachable };
}

/** Says what was not done and why; for a change without an answer only the latter, since it may have been made. */
export function failureWords(what: string, { why, code }: { readonly why: string; readonly code: string }): string {
  return code === unanswered ? `${sentenceCase(why)}.` : `${what}: ${why}`;
}

async function post(method: string, params: object, accept: string, signal?: AbortSignal): Promise<Response> {
  last += 1;
  const response = await fetchProven('./rpc', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify({ jsonrpc: '2.0', id: last, method, params }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status === 401) throw new RpcRefusal('this page has no session; open a fresh link', 'session');
  refuseFailed(response);
  return response;
}

async function bodyOf<Body>(response: Response): Promise<Body> {
  try {
    return (await response.json()) as Body;
  } catch (error) {
    return cutOff(error);
  }
}

function cutOff(error: unknown): never {
  throw new CutOff('the answer was cut off', { cause: error });
}

function refuseFailed({ ok, status }: Response): void {
  // A proxy answers so for a daemon that is not there, as while it restarts.
  if (status >= 502) throw new Error(`the proxy answered ${status}`);
  if (!ok) throw new RpcRefusal(`the daemon answered ${status}`, String(status));
}

function resultOf({ result, error }: RpcMessage): Json {
  if (error === undefined) return result ?? null;
  throw new RpcRefusal(error.message, error.data?.code ?? String(error.code), error.data?.field);
}
