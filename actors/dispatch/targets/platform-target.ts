/**
 * The common part of all platforms: where a text goes, how it is split and sent in order, what a failure in the middle
 * means, and how an answer is read that is not in the platform's format. A platform's file describes the rest.
 * @see DLV-1, DLV-2 and DLV-4 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { type JsonObject, scalarText } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { targets } from '../../../machines/config/targets.ts';
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
import { isKnownAgain } from '../../../machines/webhook/interruption.ts';
import type { DeliveryRequest, DeliveryTarget, Now } from '../../ports.ts';
import type { HttpAnswer } from './http-request.ts';
import { sendPieces } from './send-pieces.ts';

export interface PlatformTarget extends DeliveryTarget {
  /** Checks the credentials with the platform without delivering anything. Never rejects. */
  verify(signal: AbortSignal): Promise<VerifyOutcome>;
}

export interface TargetPorts {
  readonly now: Now;
  /** Resolves after a time, or as soon as the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  /** An integer from 0 to 2³² − 1. */
  readonly random: () => number;
}

export interface Message {
  readonly chat: string;
  readonly text: string;
  readonly extra: JsonObject;
  /** The same for the same piece of the same delivery, and different for any other; 32 characters of base64url. */
  readonly key: string;
  readonly index: number;
  readonly of: number;
  readonly report: DeliveryRequest['report'];
}

/** A platform, as its file describes it. Reasons lack the platform's name, which is prefixed here. */
export interface Wire {
  readonly name: string;
  readonly limit: TextLimit;
  /** A text that needs more pieces is refused: it would flood a chat, and some platforms charge for each message. */
  readonly maxPieces: number;
  readonly deduplicatesForMs?: number;
  /** Whether the platform deduplicates this message. Default: all of them. */
  knowsAgain?(message: Pick<Message, 'chat' | 'extra'>): boolean;
  /** An empty text is sent as a message; on other platforms it is not sent (DIS-4). */
  readonly takesEmpty?: true;
  /** Defuses what the platform would act on, such as mentions, and writes its markup. Applied before the text is split. */
  inert?(text: string): string;
  /** What is missing or wrong in the settings. */
  readonly problem?: string | undefined;
  /** The name of the place, if the credentials lead to only one. */
  readonly onlyPlace?: string;
  /** The same as in `DeliveryTarget`. */
  readonly isOrderedByEvent?: true;
  /** What is missing or wrong in `deliver_extra`, checked before the place. */
  extraProblem?(extra: JsonObject): Undelivered | undefined;
  /** Keys of `deliver_extra` that together name the place, instead of `chat_id`. */
  readonly placeKeys?: readonly string[];
  /** The place that those keys name, in the form of a `chat_id`; called if one of them is set. */
  placeFrom?(extra: JsonObject): string | undefined;
  /** Why a place is not valid; by the table of forms unless given. */
  placeProblem?(chat: string, extra: JsonObject): Undelivered | undefined;
  send(message: Message, signal: AbortSignal): Promise<SendOutcome>;
  verify(signal: AbortSignal): Promise<SendOutcome | VerifyOutcome>;
}

export function createPieceTarget(wire: Wire, settings: PlatformSettings, ports: TargetPorts): PlatformTarget {
  const deduplicatesForMs = wire.deduplicatesForMs ?? 0;
  const name = settings.name ?? wire.name;
  const named = <Outcome extends SendOutcome | VerifyOutcome>(outcome: Outcome): Outcome =>
    outcome.kind !== 'delivered' && 'reason' in outcome
      ? { ...outcome, reason: `${name}: ${outcome.reason.replace('check api_base', `check ${addressKey(settings)}`)}` }
      : outcome;

  const sendOne = async (message: Message, { pace }: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> => {
    const begunMs = ports.now();
    const outcome = await wire.send(message, signal);
    // If the platform deduplicates this message, a second request settles an unknown outcome.
    const known = wire.knowsAgain?.(message) ?? deduplicatesForMs > 0;
    if (outcome.kind !== 'unknown' || !known || signal.aborted) return outcome;
    // The second request counts for the rate limit too, and a pause may outlast the memory of the platform.
    const { deduplicatesForMs: memoryMs = Number.POSITIVE_INFINITY } = wire;
    if ((await pace?.turn(signal, memoryMs)) !== undefined) return outcome;
    if (signal.aborted || !isKnownAgain(begunMs, { nowMs: ports.now(), deduplicatesForMs: memoryMs })) return outcome;
    const again = await wire.send(message, signal);
    // A refusal of the second request does not show the outcome of the first.
    return again.kind === 'delivered' ? again : stillUnsure(again);
  };

  const ownPlace = (extra: JsonObject): string | undefined =>
    wire.placeKeys?.some((key) => extra[key] !== undefined) ? wire.placeFrom?.(extra) : textOf(extra.chat_id);
  const placeOf = (extra: JsonObject, begunAt?: string): string | undefined =>
    wire.onlyPlace ?? ownPlace(extra) ?? begunAt ?? textOf(settings.homeChannel);

  const deliver = async (request: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> => {
    const { extra, sent, begunAt, pace, waits = signal } = request;
    if (wire.problem !== undefined) return refused('auth', wire.problem);
    const wrong = wire.extraProblem?.(extra);
    if (wrong !== undefined) return wrong;
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
    if (placeholder.test(chat)) {
      const shown = JSON.stringify(chat.slice(0, 64));
      const cure = `check deliver_extra, or platforms.${name}.home_channel`;
      return refused('notFound', `the place to deliver to is not filled in: ${shown}; ${cure}`);
    }
    const problem = wire.placeProblem === undefined ? placeProblemOf(wire.name, chat) : wire.placeProblem(chat, extra);
    if (problem !== undefined) return problem;
    if (isFarTooLong(request.text, wire)) return tooLong(request.text.length, 'characters', wire);
    const text = wire.inert?.(request.text) ?? request.text;
    const messages = fits(text, wire) ? messagesOf(text, wire.limit) : undefined;
    if (messages === undefined || messages.length > wire.maxPieces)
      return tooLong(lengthIn(text, wire.limit.unit), unitWord[wire.limit.unit], wire);
    if (messages.length === 0) {
      if (wire.takesEmpty !== true) return nothingToSend;
      messages.push('');
    }

    return sendPieces(messages, { sent, wait: ports.wait, signal: waits, pace }, (piece, index) => {
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
    ...(wire.isOrderedByEvent && { isOrderedByEvent: true }),
    deduplicatesForMs(extra, begunAt) {
      const chat = placeOf(extra, begunAt) ?? '';
      const known = wire.knowsAgain?.({ chat, extra }) ?? true;
      return known ? deduplicatesForMs : 0;
    },
    async deliver(request, signal) {
      try {
        return named(await deliver(request, signal));
      } catch {
        // The error may quote the platform's answer.
        return named(unknownOutcome('the target’s own code failed'));
      }
    },
    async verify(signal) {
      if (wire.problem !== undefined) return named(refused('auth', wire.problem) as VerifyOutcome);
      try {
        const outcome = await wire.verify(signal);
        if (outcome.kind === 'delivered') return { kind: 'verified' };
        // A verification changes nothing, so it can be repeated.
        return named(outcome.kind === 'unknown' ? (transient(outcome.reason) as VerifyOutcome) : outcome);
      } catch {
        return named(transient('the target’s own code failed') as VerifyOutcome);
      }
    },
  };
}

/** The setting that has the platform's address: what reads an answer names api_base, which most platforms have. */
function addressKey(settings: PlatformSettings): string {
  if (optionOf(settings, 'bridge_url') !== undefined) return 'bridge_url';
  return settings.apiBase === undefined && optionOf(settings, 'url') !== undefined ? 'url' : 'api_base';
}

/**
 * Reads an answer by its status alone, as from a proxy, a page or a platform without error codes. A 5xx counts as not
 * delivered, unless it means that a server behind a proxy received the request and took too long.
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
  if (status === 408 || status === 425)
    return transientFailure(answer, `the request was not taken (${said})`, words.nowMs);
  if (status === 504 || status === 520 || status === 524)
    return unknownOutcome(`the platform took too long behind its proxy (${said})`);
  return status >= 500 ? failed(answer, said, words.nowMs) : refusedAs(classOf(status), said);
}

/** The meaning of a platform's code. */
export type CodeMeaning =
  | RefusalClass
  | 'rateLimited'
  | 'transient'
  | 'unknown'
  | { readonly refusal: RefusalClass; readonly because: string };

/** The codes that have one meaning, as a part of a table of meanings. */
export function codes(
  meaning: CodeMeaning,
  ...alike: readonly (number | string)[]
): Readonly<Record<string, CodeMeaning>> {
  return Object.fromEntries(alike.map((code) => [code, meaning]));
}

interface CodeWords {
  readonly code: unknown;
  readonly meanings: Readonly<Record<string, CodeMeaning>>;
  readonly nowMs: number;
  readonly hints?: WaitHints;
  /** The wait if the platform gives none. */
  readonly otherwiseMs?: number | undefined;
}

/** Reads the code in a platform's answer. An unknown code is read by the status, or as a refusal if that is a success. */
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
      return failed(answer, said, words.nowMs);
    case 'unknown':
      return unknownOutcome(`the platform does not say whether it took the message (${said})`);
    default:
      return typeof meaning === 'string'
        ? refusedAs(meaning, said)
        : refused(meaning.refusal, `${meaning.because} (${said})`);
  }
}

/** Unless the status means that the platform takes no messages now, the failure may be that of one message: no rate limit. */
function failed(answer: HttpAnswer, said: string, nowMs: number): Undelivered {
  const { status, headers } = answer;
  const wait = retryAfterMs({ header: headers.get('retry-after') }, nowMs) ?? 0;
  if (wait > 0 && (status === 429 || status === 503))
    return { kind: 'rateLimited', retryAfterMs: wait, reason: `the platform is busy (${said})` };
  return transientFailure(answer, `the platform failed (${said})`, nowMs);
}

/** A failure of this message that may pass, but not before the wait that the answer asks for. */
export function transientFailure({ headers }: HttpAnswer, reason: string, nowMs: number): Undelivered {
  const wait = retryAfterMs({ header: headers.get('retry-after') }, nowMs) ?? 0;
  return { kind: 'transient', reason, ...(wait > 0 && { notBeforeMs: wait }) };
}

/** A refusal in our own words, with the platform's code. */
export function refusedAs(refusal: RefusalClass, said: string): Undelivered {
  return refused(refusal, `${refusalWords[refusal]} (${said})`);
}

/** Waits `otherwiseMs` if the platform does not say how long. */
export function rateLimited(said: string, hints: WaitHints, nowMs: number, otherwiseMs = 30_000): Undelivered {
  const wait = retryAfterMs(hints, nowMs) ?? otherwiseMs;
  return { kind: 'rateLimited', retryAfterMs: wait, reason: `the platform asks for fewer messages (${said})` };
}

/** Status and code. Nothing else of a platform's answer is kept, and the code only if it looks like one. */
export function saying(status: number, code?: unknown): string {
  const word = typeof code === 'number' ? String(code) : code;
  const kept = typeof word === 'string' && /^[\w.-]{1,48}$/.test(word) ? ` ${word}` : '';
  return `HTTP ${status}${kept}`;
}

/** The text of a setting; undefined if it is missing or refers to a variable that is not set. */
export function optionOf(settings: PlatformSettings, key: string): string | undefined {
  const text = textOf(settings.options[key]);
  return text?.includes('${') === true ? undefined : text;
}

/** The sentence about the missing settings; undefined if none is missing. */
export function missing(name: string, settings: PlatformSettings, ...keys: readonly string[]): string | undefined {
  const absent = keys.filter((key) =>
    key === 'api_base' ? settings.apiBase === undefined : optionOf(settings, key) === undefined,
  );
  if (absent.length === 0) return undefined;
  const names = absent.map((key) => `platforms.${settings.name ?? name}.${key}`).join(' and ');
  return `${names} ${absent.length === 1 ? 'is' : 'are'} not set; give ${absent.length === 1 ? 'it' : 'them'}, or the variable in .env that is named there`;
}

/** The value of the first name in `deliver_extra` that has one. A template renders a number as text. */
export function wordOf(extra: JsonObject, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textOf(extra[name]);
    if (text !== undefined && !onlyPlaceholder.test(text)) return text;
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined;
}

/** A template keeps the name of a missing value, and a setting that of a variable, also within other text. */
const placeholder = /\{[\w.-]+\}|\$\{/;
const onlyPlaceholder = /^\{[\w.-]+\}$|\$\{/;

/**
 * Whether a text cannot fit in any unit, whatever its markup is written as. To read megabytes for each of several targets
 * would hold up everything else, and let the platforms close connections that the gateway takes for open.
 */
function isFarTooLong(text: string, { limit, maxPieces }: Wire): boolean {
  return text.length > 4 * limit.max * maxPieces;
}

function tooLong(length: number, unit: string, { limit, maxPieces }: Wire): Undelivered {
  return refused(
    'tooLong',
    `a text of ${length} ${unit} is too long; ${maxPieces} messages of ${limit.max} are sent at most`,
  );
}

/** A text over the limit is refused by counting, without splitting it. */
function fits(text: string, { limit, maxPieces }: Wire): boolean {
  return lengthIn(text, limit.unit) <= limit.max * maxPieces;
}

/** How long a delivery id is known (IDM-1); after that its sender means another event. */
const hourMs = 3_600_000;

/**
 * The delivery id alone is not unique: two routes may deliver the same event to the same chat, and homeservers and
 * mailboxes remember a message for longer than the hour in which an id is accepted once.
 */
function keyOf(
  { profile, deliveryId, queuedAtMs = 0, extra }: DeliveryRequest,
  chat: string,
  index: number,
  piece: string,
): string {
  const whole = JSON.stringify([profile, deliveryId, Math.floor(queuedAtMs / hourMs), chat, extra, index, piece]);
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

/** The account's name as the platform gives it, without characters that could confuse a terminal. */
export function verifiedAs(name: unknown): VerifyOutcome {
  const shown = typeof name === 'string' ? name.replace(/[^\p{L}\p{N} .:@_+-]/gu, '').slice(0, 64) : '';
  return shown === '' ? { kind: 'verified' } : { kind: 'verified', as: shown };
}

/** Compares a place with the form that its platform has in the table. */
export function placeProblemOf(target: string, chat: string): Undelivered | undefined {
  const place = targets.get(target)?.place;
  return place === undefined || place.form.test(chat) ? undefined : wrongPlace(chat, place.is);
}

/** A malformed place, cut to 64 characters in case it contains a secret. */
export function wrongPlace(chat: string, form: string): Undelivered {
  return refused('notFound', `${JSON.stringify(chat.slice(0, 64))} is no place to deliver to; chat_id is ${form}`);
}
