/**
 * Makes a target of a platform with an HTTP API. The platform's file describes its calls, the meaning of its answers and
 * what a text must not contain.
 * @see DLV-1, DLV-2 and DLV-4 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import type { WaitHints } from '../../../machines/dispatch/retry-after.ts';
import {
  deliveredAs,
  limitedInChat,
  type SendOutcome,
  type Undelivered,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { createAccessToken, lifetimeOf, tokenRefused } from './access-token.ts';
import { type HttpAnswer, type HttpCall, httpRequest } from './http-request.ts';
import {
  type CodeMeaning,
  createPieceTarget,
  type Message,
  missing,
  optionOf,
  type PlatformTarget,
  readCode,
  readStatus,
  type TargetPorts,
  verifiedAs,
  type Wire,
  wrongPlace,
} from './platform-target.ts';

/** Where a text can go. */
type Places =
  | {
      readonly form: RegExp;
      /** The form in words, after "chat_id is". */
      readonly is: string;
      readonly keys?: readonly string[];
      /** Writes the values of `keys`, empty where one is missing, as a `chat_id`; by default the first of them. */
      readonly join?: (values: readonly string[], extra: JsonObject) => string;
    }
  /** The settings lead to this place only. */
  | { readonly only: string };

export interface Call extends Omit<HttpCall, 'url' | 'timeoutMs' | 'method'> {
  /** POST unless given. */
  readonly method?: HttpCall['method'];
  readonly path: string;
  /** Replaces the platform's default address; `api_base` in the settings replaces both. */
  readonly base?: string;
}

export interface Context {
  /** A setting as text; empty if it is missing. */
  readonly option: (key: string) => string;
  readonly settings: PlatformSettings;
  readonly nowMs: () => number;
  readonly random: TargetPorts['random'];
  /** The access token; empty on a platform without one. */
  readonly token: string;
  /** Makes a call. If `read` returns undefined, the answer is read as a refusal. */
  ask<Outcome>(
    call: Call,
    read: (answer: HttpAnswer, json: JsonObject) => Outcome | undefined,
  ): Promise<Outcome | SendOutcome>;
}

/** The call that was answered, and the place that it sends to; empty if it sends nothing. */
export interface Sent {
  readonly call: Call;
  readonly chat: string;
}

/** In each function, `json` is the object in the answer, or an empty one. */
export interface Description
  extends Pick<
    Wire,
    'name' | 'limit' | 'maxPieces' | 'inert' | 'deduplicatesForMs' | 'knowsAgain' | 'takesEmpty' | 'placeProblem'
  > {
  /** Its default address; absent if `api_base` is required or `url` contains it. */
  readonly base?: string;
  /** Required settings; no call is made without them. `url` is the complete address and may contain a secret. */
  readonly needs: readonly string[] | ((option: Context['option']) => readonly string[]);
  /** By the table of forms unless given. */
  readonly places?: Places;
  readonly isOrderedByEvent?: true;
  /** The short-lived token that the platform issues for the settings. */
  readonly token?: {
    call(context: Context): Call;
    /** The token and its lifetime in seconds. */
    issued(json: JsonObject): { readonly token: Json | undefined; readonly seconds: unknown } | undefined;
    isRefused(json: JsonObject, status: number): boolean;
  };
  /** Headers of every call but the one for a token. */
  headers?(context: Context): Readonly<Record<string, string>>;
  /** The call that sends a message, or why there is none. */
  call(message: Message, context: Context): Call | SendOutcome | Promise<Call | SendOutcome>;
  /** The message's id, or true, if the answer says that the text was accepted; else undefined. */
  accepted(answer: HttpAnswer, json: JsonObject, message: Message): unknown;
  /** A call that checks the credentials, and the account's name in its answer; or why there is none. */
  readonly verify:
    | { readonly call: Call; readonly account: (json: JsonObject) => unknown; readonly oncePerToken?: true }
    | { readonly unverifiable: string }
    | ((context: Context) => Promise<SendOutcome | VerifyOutcome>);
  /** The code in the platform's error; undefined if only the status counts. */
  code?(json: JsonObject, status: number): Json | undefined;
  readonly meanings?: Readonly<Record<string, CodeMeaning>>;
  /** The wait that the platform asks for, if it is not in Retry-After. */
  hints?(answer: HttpAnswer, json: JsonObject, nowMs: number): WaitHints;
  /** The wait if the platform asks for one without saying how long. */
  readonly otherwiseMs?: number;
  /** Whether a rate limit applies only to the chat. */
  limitsChat?(answer: HttpAnswer, json: JsonObject): boolean;
  /** The meaning of answers that `meanings` cannot express, or a corrected call to make instead. */
  judge?(answer: HttpAnswer, json: JsonObject, context: Context & Sent): Judged | Promise<Judged>;
}

type Judged = SendOutcome | Call | undefined;

/** The header for a token among the settings; none if it is not set. */
export function bearer({ option }: Context): Record<string, string> {
  return option('token') === '' ? {} : { authorization: `Bearer ${option('token')}` };
}

export function createDescribedTarget(
  description: Description,
  settings: PlatformSettings,
  ports: TargetPorts,
): PlatformTarget {
  const { name, needs, places, verify, token: issuing } = description;
  const address = addressOf(settings);
  const option = (key: string): string => optionOf(settings, key) ?? '';
  /** The last token that was verified with `oncePerToken`, and the outcome. */
  let known: { readonly token: string; readonly outcome: VerifyOutcome } | undefined;

  function contextOf(signal: AbortSignal, token: string): Context {
    const context: Context = {
      option,
      settings,
      nowMs: ports.now,
      random: ports.random,
      token,
      ask: (call, read) => askOf(context, { call, chat: '' }, signal, read),
    };
    return context;
  }

  async function askOf<Outcome>(
    context: Context,
    { call, chat }: Sent,
    signal: AbortSignal,
    read: (answer: HttpAnswer, json: JsonObject) => Outcome | undefined,
  ): Promise<Outcome | SendOutcome> {
    const root = settings.apiBase ?? call.base ?? address.origin ?? description.base ?? '';
    const path = address.path === undefined ? call.path : withQuery(address.path, call.path);
    const url = `${root.replace(/\/+$/, '')}${path}`;
    // The request for a token has none to show.
    const isForToken = issuing !== undefined && context.token === '';
    const headers = { ...(isForToken ? {} : description.headers?.(context)), ...call.headers };
    const { timeoutMs } = settings;
    const answer = await httpRequest({ method: 'POST', ...call, url, headers, timeoutMs }, signal);
    if (answer.kind !== 'answered') return answer;
    const json = isJsonObject(answer.json) ? answer.json : {};
    const outcome = read(answer, json);
    if (outcome !== undefined) return outcome;
    if (!isForToken && issuing?.isRefused(json, answer.status)) return tokenRefused;
    const judged = await description.judge?.(answer, json, { ...context, call, chat });
    if (judged !== undefined && 'path' in judged) return askOf(context, { call: judged, chat }, signal, read);
    return judged ?? refusalOf(answer, json);
  }

  function refusalOf(answer: HttpAnswer, json: JsonObject): Undelivered {
    const nowMs = ports.now();
    const code = description.code?.(json, answer.status);
    // `readStatus` reads no wait other than Retry-After.
    if (code === undefined && answer.status !== 429) return readStatus(answer, { nowMs });
    const { meanings = {}, otherwiseMs } = description;
    const hints = description.hints?.(answer, json, nowMs) ?? {};
    const outcome = readCode(answer, { code, meanings, nowMs, hints, otherwiseMs });
    return description.limitsChat?.(answer, json) ? limitedInChat(outcome) : outcome;
  }

  const token =
    issuing &&
    createAccessToken((signal) => {
      const context = contextOf(signal, '');
      return context.ask(issuing.call(context), (_, json) => {
        const issued = issuing.issued(json);
        return typeof issued?.token === 'string'
          ? { kind: 'token', token: issued.token, lifetimeMs: lifetimeOf(issued.seconds) }
          : undefined;
      });
    }, ports.now);
  const within = <Outcome>(signal: AbortSignal, use: (context: Context) => Promise<Outcome>) =>
    token === undefined ? use(contextOf(signal, '')) : token.use(signal, (current) => use(contextOf(signal, current)));

  return createPieceTarget(
    {
      ...description,
      problem: missing(name, settings, ...(typeof needs === 'function' ? needs(option) : needs)),
      ...placesOf(places),
      send: (message, signal) =>
        within(signal, async (context) => {
          const call = await description.call(message, context);
          if (!('path' in call)) return call;
          return askOf(context, { call, chat: message.chat }, signal, (answer, json) => {
            const id = description.accepted(answer, json, message);
            return id === undefined ? undefined : deliveredAs(id);
          });
        }),
      verify: async (signal) => {
        if ('unverifiable' in verify) return { kind: 'unverifiable', reason: verify.unverifiable };
        return within<SendOutcome | VerifyOutcome>(signal, async (context) => {
          if (typeof verify === 'function') return verify(context);
          if (verify.oncePerToken && known?.token === context.token) return known.outcome;
          return context.ask({ method: 'GET', ...verify.call }, ({ status }, json): VerifyOutcome | undefined => {
            const account = verify.account(json);
            if (status !== 200 || account === undefined) return undefined;
            known = { token: context.token, outcome: verifiedAs(account) };
            return known.outcome;
          });
        });
      },
    },
    settings,
    ports,
  );
}

function placesOf(places: Places | undefined): Partial<Wire> {
  if (places === undefined) return {};
  // Its name has no form.
  if ('only' in places) return { onlyPlace: places.only, placeProblem: () => undefined };
  const { form, is, keys, join } = places;
  return {
    placeProblem: (chat) => (form.test(chat) ? undefined : wrongPlace(chat, is)),
    ...(keys && {
      placeKeys: keys,
      placeFrom(extra) {
        const values = keys.map((key) => scalarText(extra[key]).trim());
        return join === undefined ? (values[0] ?? '') : join(values, extra);
      },
    }),
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
