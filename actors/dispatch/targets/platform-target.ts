/**
 * What all platforms have in common: where a text goes, how it is cut, one piece after the other, what a failure in the
 * middle means, and how an answer reads that is not of the platform's own making. A platform's file says the rest.
 * @see DLV-1, DLV-2 and DLV-4 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { type JsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { retryAfterMs, type WaitHints } from '../../../machines/dispatch/retry-after.ts';
import {
  nothingToSend,
  type RefusalClass,
  refusalWords,
  refused,
  type SendOutcome,
  stillUnsure,
  transient,
  type Undelivered,
  unknownOutcome,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { lengthIn, messagesOf, type TextLimit } from '../../../machines/dispatch/split-text.ts';
import type { DeliveryRequest, DeliveryTarget, Now } from '../../ports.ts';
import { type HttpAnswer, type HttpCall, type HttpOutcome, httpRequest } from './http-request.ts';
import { sendPieces } from './send-pieces.ts';

export interface PlatformTarget extends DeliveryTarget {
  /** Asks the platform whether the credentials are good, and delivers nothing. Never rejects. */
  verify(signal: AbortSignal): Promise<VerifyOutcome>;
}

export interface TargetPorts {
  readonly now: Now;
  /** Resolves after a time, or as soon as the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A whole number below 2³². */
  readonly random: () => number;
}

export interface Message {
  readonly chat: string;
  readonly text: string;
  readonly extra: JsonObject;
  /** The same for the same piece of the same delivery, and for no other; 32 characters of base64url's alphabet. */
  readonly key: string;
  readonly index: number;
  readonly of: number;
  readonly report: DeliveryRequest['report'];
}

/** A platform, as its file describes it. Reasons carry no name; it is put before them here. */
export interface Wire {
  readonly name: string;
  readonly limit: TextLimit;
  /** A longer text is refused whole: a chat is no place for it, and some platforms take money for each. */
  readonly maxPieces: number;
  readonly deduplicatesForMs?: number;
  /** Whether the platform knows this message again; all of them where it is not said. */
  knowsAgain?(message: Pick<Message, 'chat' | 'extra'>): boolean;
  /** An empty text is a message there; elsewhere it is not sent (DIS-4). */
  readonly takesEmpty?: true;
  /** The text as the platform shows it and does nothing else with it; before it is cut. */
  inert?(text: string): string;
  /** What is wrong with the settings. */
  readonly problem?: string | undefined;
  /** Where the credentials lead to one place only: its name. */
  readonly onlyPlace?: string;
  /** Keys of `deliver_extra` that name the place together, beside `chat_id`. */
  readonly placeKeys?: readonly string[];
  /** The place that those keys name, as `chat_id` would; called where one of them is there. */
  placeFrom?(extra: JsonObject): string;
  /** What is wrong with a place to deliver to. */
  placeProblem?(chat: string, extra: JsonObject): Undelivered | undefined;
  send(message: Message, signal: AbortSignal): Promise<SendOutcome>;
  verify(signal: AbortSignal): Promise<SendOutcome | VerifyOutcome>;
}

export function createPieceTarget(wire: Wire, settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const deduplicatesForMs = wire.deduplicatesForMs ?? 0;
  const name = settings.name ?? wire.name;
  const named = <Outcome extends SendOutcome | VerifyOutcome>(outcome: Outcome): Outcome =>
    outcome.kind !== 'delivered' && 'reason' in outcome
      ? { ...outcome, reason: `${name}: ${outcome.reason}` }
      : outcome;

  const sendOne = async (message: Message, { pace }: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> => {
    const outcome = await wire.send(message, signal);
    // Where the platform knows a message again, asking once more turns not knowing into knowing.
    const known = wire.knowsAgain?.(message) ?? deduplicatesForMs > 0;
    if (outcome.kind !== 'unknown' || !known || signal.aborted) return outcome;
    // A message to the platform like any other.
    await pace?.turn(signal);
    if (signal.aborted) return outcome;
    const again = await wire.send(message, signal);
    // A refusal of the second request says nothing about the first.
    return again.kind === 'delivered' ? again : stillUnsure(again);
  };

  const ownPlace = (extra: JsonObject): string | undefined =>
    wire.placeKeys?.some((key) => extra[key] !== undefined) ? wire.placeFrom?.(extra) : textOf(extra.chat_id);
  const placeOf = (extra: JsonObject, begunAt?: string): string | undefined =>
    wire.onlyPlace ?? ownPlace(extra) ?? begunAt ?? textOf(settings.homeChannel);

  const deliver = async (request: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> => {
    const { extra, sent, begunAt, pace } = request;
    const text = wire.inert?.(request.text) ?? request.text;
    if (wire.problem !== undefined) return refused('auth', wire.problem);
    const asked = textOf(extra.chat_id);
    if (wire.onlyPlace !== undefined && asked !== undefined) {
      return refused('notFound', `these credentials lead to ${wire.onlyPlace} only; leave deliver_extra.chat_id out`);
    }
    const chat = placeOf(extra, begunAt);
    if (chat === undefined) {
      const keys = wire.placeKeys === undefined ? 'chat_id' : `${wire.placeKeys.join(' and ')}, or chat_id,`;
      const where = `set ${keys} in deliver_extra, or in on_failure_extra for a notice, or platforms.${name}.home_channel`;
      return refused('notFound', `there is nowhere to deliver to; ${where}`);
    }
    const unfilled = placeholderIn(chat);
    if (unfilled !== undefined) return refused('notFound', unfilled);
    const problem = wire.placeProblem?.(chat, extra);
    if (problem !== undefined) return problem;
    const messages = fits(text, wire) ? messagesOf(text, wire.limit) : undefined;
    if (messages === undefined || messages.length > wire.maxPieces) {
      const length = lengthIn(text, wire.limit.unit);
      const most = `${wire.maxPieces} messages of ${wire.limit.most} are sent at most`;
      return refused('tooLong', `a text of ${length} ${unitWord[wire.limit.unit]} is too long; ${most}`);
    }
    if (messages.length === 0) {
      if (wire.takesEmpty !== true) return nothingToSend;
      messages.push('');
    }

    return sendPieces(messages, { sent, wait: ports.wait, signal, pace }, (piece, index) => {
      const key = keyOf(request, chat, index, piece);
      return sendOne(
        { chat, text: piece, extra, key, index, of: messages.length, report: request.report },
        request,
        signal,
      );
    });
  };

  return {
    placeOf: (extra) => placeOf(extra),
    deduplicatesForMs(extra, begunAt) {
      const chat = placeOf(extra, begunAt) ?? '';
      const known = wire.knowsAgain?.({ chat, extra }) ?? true;
      return known ? deduplicatesForMs : 0;
    },
    async deliver(request, signal) {
      try {
        return named(await deliver(request, signal));
      } catch {
        // Its words may quote what the platform answered.
        return named(unknownOutcome('the target’s own code failed'));
      }
    },
    async verify(signal) {
      if (wire.problem !== undefined) return named(refused('auth', wire.problem) as VerifyOutcome);
      try {
        const outcome = await wire.verify(signal);
        if (outcome.kind === 'delivered') return { kind: 'verified' };
        // Nothing was asked that could not be asked again.
        return named(outcome.kind === 'unknown' ? (transient(outcome.reason) as VerifyOutcome) : outcome);
      } catch {
        return named(transient('the target’s own code failed') as VerifyOutcome);
      }
    },
  };
}

/** A platform's address and its time limit; each call says its path and headers. */
export interface PlatformClient {
  /** Asks, and lets `read` say what an answer means; what is no answer is read here. */
  ask<Outcome>(
    call: PlatformCall,
    signal: AbortSignal,
    read: (answer: HttpAnswer) => Outcome | Promise<Outcome>,
  ): Promise<Outcome | Undelivered>;
  /** The same without a reading. */
  call(call: PlatformCall, signal: AbortSignal): Promise<HttpOutcome>;
}

export interface PlatformCall extends Omit<HttpCall, 'url' | 'timeoutMs'> {
  readonly path: string;
  /** Where it is not the client's own. */
  readonly base?: string;
}

/** A base in the settings stands for every base of the platform. */
export function createClient(settings: PlatformSettings, defaultBase: string): PlatformClient {
  const call: PlatformClient['call'] = ({ path, base, ...rest }, signal) => {
    const root = (settings.apiBase ?? base ?? defaultBase).replace(/\/+$/, '');
    return httpRequest({ ...rest, url: `${root}${path}`, timeoutMs: settings.timeoutMs }, signal);
  };
  return {
    call,
    async ask(words, signal, read) {
      const outcome = await call(words, signal);
      return outcome.kind === 'answered' ? read(outcome) : withoutAnswer(outcome);
    },
  };
}

function withoutAnswer(outcome: Exclude<HttpOutcome, HttpAnswer>): Undelivered {
  switch (outcome.kind) {
    case 'neverSent':
      return transient(outcome.reason);
    case 'lost':
      return unknownOutcome(outcome.reason);
    case 'unsendable':
      return refused('permanent', outcome.reason);
  }
}

/**
 * Reads an answer by its status alone: what a proxy, a page or a platform without words of its own says. A 5xx counts as
 * not delivered, except where it says that somebody behind it had the request and took too long.
 */
export function readStatus(
  answer: HttpAnswer,
  words: { readonly nowMs: number; readonly code?: unknown },
): Undelivered {
  const { status } = answer;
  const said = saying(status, words.code);
  if (status === 429) return rateLimited(said, { header: answer.headers.get('retry-after') }, words.nowMs);
  if (status < 300) return unknownOutcome(`the answer is not in the platform’s form (${said}); check api_base`);
  if (status < 400) return refused('permanent', `the answer is a redirect (${said}); check api_base`);
  if (status === 408 || status === 425) return transient(`the request was not taken (${said})`);
  if (status === 504 || status === 520 || status === 524)
    return unknownOutcome(`the platform took too long behind its proxy (${said})`);
  if (status === 503) {
    const wait = retryAfterMs({ header: answer.headers.get('retry-after') }, words.nowMs);
    if (wait !== undefined)
      return { kind: 'rateLimited', retryAfterMs: wait, reason: `the platform is busy (${said})` };
  }
  if (status >= 500) return transient(`the platform failed (${said})`);
  return refusedAs(classOf(status), said);
}

/** What a platform's code means. */
export type CodeMeaning =
  | RefusalClass
  | 'rateLimited'
  | 'transient'
  | 'unknown'
  | { readonly refusal: RefusalClass; readonly because: string };

export interface CodeWords {
  readonly code: unknown;
  readonly meanings: Readonly<Record<string, CodeMeaning>>;
  readonly nowMs: number;
  readonly hints?: WaitHints;
  /** The wait where the platform says none. */
  readonly otherwiseMs?: number;
}

/** Reads the code in a platform's answer; one that is not known by its status, or as a refusal where that says success. */
export function readCode(answer: HttpAnswer, words: CodeWords): Undelivered {
  const said = saying(answer.status, words.code);
  const key = scalarText(words.code);
  const meaning = Object.hasOwn(words.meanings, key) ? words.meanings[key] : undefined;
  const hints = { header: answer.headers.get('retry-after'), ...words.hints };
  switch (meaning) {
    case undefined:
      if (answer.status === 429) return rateLimited(said, hints, words.nowMs, words.otherwiseMs);
      return answer.status < 300 ? refusedAs('permanent', said) : readStatus(answer, words);
    case 'rateLimited':
      return rateLimited(said, hints, words.nowMs, words.otherwiseMs);
    case 'transient':
      return transient(`the platform failed (${said})`);
    case 'unknown':
      return unknownOutcome(`the platform does not say whether it took the message (${said})`);
    default:
      return typeof meaning === 'string'
        ? refusedAs(meaning, said)
        : refused(meaning.refusal, `${meaning.because} (${said})`);
  }
}

/** A refusal in this program's words, with the platform's code. */
export function refusedAs(refusal: RefusalClass, said: string): Undelivered {
  return refused(refusal, `${refusalWords[refusal]} (${said})`);
}

/** Where the platform does not say how long, `otherwiseMs` is waited. */
export function rateLimited(said: string, hints: WaitHints, nowMs: number, otherwiseMs = 30_000): Undelivered {
  const wait = retryAfterMs(hints, nowMs) ?? otherwiseMs;
  return { kind: 'rateLimited', retryAfterMs: wait, reason: `the platform asks for fewer messages (${said})` };
}

/** Status and code: all that is kept of a platform's words, and only where it looks like a code. */
export function saying(status: number, code?: unknown): string {
  const spelled = typeof code === 'number' ? String(code) : code;
  const kept = typeof spelled === 'string' && /^[\w.-]{1,48}$/.test(spelled) ? ` ${spelled}` : '';
  return `HTTP ${status}${kept}`;
}

/** A setting that must be there; undefined where it is not, or stands for a variable that is not set. */
export function optionOf(settings: PlatformSettings, key: string): string | undefined {
  const text = textOf(settings.options[key]);
  return text?.includes('${') === true ? undefined : text;
}

/** The sentence about the settings that are missing; undefined where none is. */
export function missing(name: string, settings: PlatformSettings, ...keys: readonly string[]): string | undefined {
  const absent = keys.filter((key) =>
    key === 'api_base' ? settings.apiBase === undefined : optionOf(settings, key) === undefined,
  );
  if (absent.length === 0) return undefined;
  const names = absent.map((key) => `platforms.${settings.name ?? name}.${key}`).join(' and ');
  return `${names} ${absent.length === 1 ? 'is' : 'are'} not set; give ${absent.length === 1 ? 'it' : 'them'}, or the variable in .env that is named there`;
}

/** A word of `deliver_extra` by the first of its names that has one. A template renders a number as text. */
export function wordOf(extra: JsonObject, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOf(extra[name]);
    if (text !== undefined && placeholderIn(text) === undefined) return text;
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined;
}

/** A template leaves the name of a missing value standing. */
function placeholderIn(chat: string): string | undefined {
  return /^\{[\w.-]+\}$|\$\{/.test(chat)
    ? `the place to deliver to is the unfilled ${JSON.stringify(chat.slice(0, 64))}; check deliver_extra.chat_id`
    : undefined;
}

/** Counting needs no cutting: a text of a megabyte is not looked at twice. */
function fits(text: string, { limit, maxPieces }: Wire): boolean {
  return lengthIn(text, limit.unit) <= limit.most * maxPieces;
}

/** The delivery's id alone would not do: two routes may deliver the same event to the same chat. */
function keyOf({ profile, deliveryId, extra }: DeliveryRequest, chat: string, index: number, piece: string): string {
  const whole = JSON.stringify([profile, deliveryId, chat, extra, index, piece]);
  return createHash('sha256').update(whole).digest('base64url').slice(0, 32);
}

function classOf(status: number): RefusalClass {
  if (status === 401) return 'auth';
  if (status === 403) return 'forbidden';
  if (status === 404 || status === 410) return 'notFound';
  return status === 413 ? 'tooLong' : 'permanent';
}

const unitWord: Readonly<Record<TextLimit['unit'], string>> = {
  utf16: 'characters',
  codePoints: 'characters',
  utf8Bytes: 'bytes',
  jsonBytes: 'bytes of JSON',
  entities: 'characters',
};

/** An account's name as a platform gives it, without what could confuse a terminal. */
export function verifiedAs(name: unknown): VerifyOutcome {
  const shown = typeof name === 'string' ? name.replace(/[^\p{L}\p{N} .:@_+-]/gu, '').slice(0, 64) : '';
  return shown === '' ? { kind: 'verified' } : { kind: 'verified', as: shown };
}

/** A place that is written wrongly, shown without what could be a secret behind it. */
export function wrongPlace(chat: string, form: string): Undelivered {
  return refused('notFound', `${JSON.stringify(chat.slice(0, 64))} is no place to deliver to; chat_id is ${form}`);
}
