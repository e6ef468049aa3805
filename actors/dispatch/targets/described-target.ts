/**
 * Makes a target of a platform whose API is one call with a JSON body. The platform's file describes the call, the
 * meaning of its answers and what a text must not contain.
 * @see DLV-1, DLV-2 and DLV-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import type { WaitHints } from '../../../machines/dispatch/retry-after.ts';
import { deliveredAs, type SendOutcome, type Undelivered } from '../../../machines/dispatch/send-outcome.ts';
import type { HttpAnswer } from './http-request.ts';
import {
  type CodeMeaning,
  createClient,
  createPieceTarget,
  type Message,
  missing,
  optionOf,
  type PlatformCall,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
  type Wire,
  wrongPlace,
} from './platform-target.ts';

/** Where a text can go. */
export type Places =
  | {
      readonly form: RegExp;
      /** The form in words, after "chat_id is". */
      readonly is: string;
      readonly keys: readonly string[];
      /** Writes the values of `keys`, empty where one is missing, as a `chat_id`; by default the first of them. */
      readonly join?: (values: readonly string[], extra: JsonObject) => string;
    }
  /** The settings lead to this place only. */
  | { readonly only: string };

type Call = Omit<PlatformCall, 'method' | 'headers'> & Partial<Pick<PlatformCall, 'method' | 'headers'>>;

export interface Context {
  /** A setting as text; empty if it is missing, in which case no call is made. */
  readonly option: (key: string) => string;
  readonly settings: PlatformSettings;
  readonly nowMs: () => number;
}

export interface Description
  extends Pick<Wire, 'name' | 'limit' | 'maxPieces' | 'inert' | 'deduplicatesForMs' | 'takesEmpty'> {
  /** Its default address; absent if `api_base` is required or `url` contains it. */
  readonly base?: string;
  /** Required settings; no call is made without them. `url` is the complete address and may contain a secret. */
  readonly needs: readonly string[];
  readonly places: Places;
  readonly isOrderedByEvent?: true;
  /** Headers of every call. */
  headers?(context: Context): Readonly<Record<string, string>>;
  call(message: Message, context: Context): Call | Promise<Call>;
  /** The message's id, or true, if the answer says that the text was accepted; else undefined. */
  accepted(answer: HttpAnswer, json: JsonObject): unknown;
  /** A call that checks the credentials, and the account's name in its answer; or why there is none. */
  readonly verify:
    | { readonly call: Call; readonly account: (json: JsonObject) => unknown }
    | { readonly unverifiable: string };
  /** The code in the platform's error; undefined if only the status counts. */
  code?(json: JsonObject): Json | undefined;
  readonly meanings?: Readonly<Record<string, CodeMeaning>>;
  /** The wait that the platform asks for, if it is not in Retry-After. */
  hints?(answer: HttpAnswer, nowMs: number): WaitHints;
  /** The meaning of answers that `meanings` cannot express. */
  judge?(answer: HttpAnswer, nowMs: number): SendOutcome | undefined;
}

export function createDescribedTarget(
  description: Description,
  settings: PlatformSettings,
  ports: TargetPorts,
): PlatformTarget {
  const { name, needs, places, verify } = description;
  const address = addressOf(settings);
  const client = createClient(settings, address.origin ?? description.base ?? '');
  const context = (): Context => ({ option: (key) => optionOf(settings, key) ?? '', settings, nowMs: ports.now });

  const ask = <Outcome>(call: Call, signal: AbortSignal, read: (answer: HttpAnswer) => Outcome) =>
    client.ask(
      {
        method: 'POST',
        ...call,
        path: address.path === undefined ? call.path : withQuery(address.path, call.path),
        headers: { ...description.headers?.(context()), ...call.headers },
      },
      signal,
      read,
    );

  const refusal = (answer: HttpAnswer): SendOutcome => {
    const nowMs = ports.now();
    const judged = description.judge?.(answer, nowMs);
    if (judged !== undefined) return judged;
    const code = isJsonObject(answer.json) ? description.code?.(answer.json) : undefined;
    const hints = description.hints?.(answer, nowMs) ?? {};
    // `readStatus` reads no code, and no wait other than Retry-After.
    if (code !== undefined || answer.status === 429)
      return readCode(answer, { code, meanings: description.meanings ?? {}, nowMs, hints });
    return readStatus(answer, { nowMs });
  };

  return createPieceTarget(
    {
      ...description,
      problem: missing(name, settings, ...needs),
      ...('only' in places ? { onlyPlace: places.only } : placed(places)),
      send: async (message, signal) =>
        ask(await description.call(message, context()), signal, (answer) => {
          const id = description.accepted(answer, isJsonObject(answer.json) ? answer.json : {});
          return id === undefined ? refusal(answer) : deliveredAs(id);
        }),
      verify(signal) {
        if ('unverifiable' in verify)
          return Promise.resolve({ kind: 'unverifiable', reason: verify.unverifiable } as const);
        return ask({ method: 'GET', ...verify.call }, signal, (answer) => {
          const account = isJsonObject(answer.json) ? verify.account(answer.json) : undefined;
          return answer.status === 200 && account !== undefined ? verifiedAs(account) : refusal(answer);
        });
      },
    },
    settings,
    ports,
  );
}

function placed({ form, is, keys, join }: Extract<Places, { readonly form: RegExp }>) {
  return {
    placeKeys: keys,
    placeFrom(extra: JsonObject): string {
      const values = keys.map((key) => scalarText(extra[key]).trim());
      return join === undefined ? (values[0] ?? '') : join(values, extra);
    },
    placeProblem: (chat: string): Undelivered | undefined => (form.test(chat) ? undefined : wrongPlace(chat, is)),
  };
}

/** The origin and path of `url`, if it is set; `api_base` replaces the origin. */
function addressOf(settings: PlatformSettings): { readonly origin?: string; readonly path?: string } {
  const url = optionOf(settings, 'url');
  if (url === undefined || !URL.canParse(url)) return {};
  const { origin, pathname, search } = new URL(url);
  return { origin, path: `${pathname}${search}` };
}

/** Adds the query of a call to an address that may have one already. */
function withQuery(path: string, query: string): string {
  return query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}
