/**
 * Decides what is secret: the exact values registered from configuration and `.env`, and the formats of well-known
 * tokens. Everything that leaves the process for a person to read is redacted here. Takes time linear in the length of
 * any text, even a hostile one, and keeps JSON well-formed.
 * @see OBS-1 and INS-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { insecureSecret } from '../../machines/config/secret-strength.ts';
import { maskOf, shortestSecret } from './mask-of.ts';

export interface Redactor {
  /** Registers an exact secret. Ignores texts under six characters and everyday words, which would mask harmless text. */
  learn(secret: string): void;
  /** Registers a secret that replaces earlier ones, such as a renewed token: the last two of each place are kept. */
  learnNext(place: string, secret: string): void;
  text(text: string): string;
  /**
   * Masks the registered secrets alone, and none that is a word, for texts that a model needs: a `.env` also holds names,
   * such as `postgres`.
   */
  known(text: string): string;
  /** A JSON copy of any value, bounded in depth and size: texts redacted, values of secret-looking keys masked. */
  value(value: unknown): unknown;
  /** A redacted copy of a record that people read, not truncated. */
  record<Given extends object>(record: Given): Given;
}

const mask = '[redacted]';
/** Values of a `.env`, or of a secret's key, that are not secret. */
const everyday: ReadonlySet<string> = new Set([
  ...'localhost 127.0.0.1 0.0.0.0 production development staging default enabled disabled'.split(' '),
  insecureSecret.toLowerCase(),
]);
/** Google's passwords for programs have 16 letters. */
const word = /^\p{L}{1,15}$/u;
/** The previous one may still be in use when the next arrives. More would make the combined pattern grow without bound. */
const keptOfPlace = 2;
/** A line of a longer secret, such as a private key, is registered by itself from this length on. */
const shortestLine = 20;

const secretName =
  '(?:secret|token|password|passwd|passphrase|api[_-]?key|authorization|cookie|private[_-]?key|client[_-]?key|credential)s?';
const secretKey = new RegExp(`(?:^|[_-])${secretName}$`, 'i');

type Rule = readonly [pattern: RegExp, replacement: string];

/** A quote, and the text between two of them, as written in JSON that is nested as text in JSON this many times. */
function quotingAt(nesting: number): { readonly quote: string; readonly inside: string } {
  const backslash = '\\\\'.repeat(2 ** nesting);
  const quote = `${'\\\\'.repeat(2 ** nesting - 1)}"`;
  return { quote, inside: `(?:[^"\\\\]|${backslash}(?:${quote}|${backslash}|[^"\\\\]))*` };
}

function quotedIn(nesting: number): string {
  const { quote, inside } = quotingAt(nesting);
  return `${quote}${inside}(?:${quote})?`;
}

/** Object members with a secret-looking name, by the nesting of their JSON in other JSON. */
const members: readonly Rule[] = [0, 1, 2].flatMap((nesting): Rule[] => {
  const { quote, inside } = quotingAt(nesting);
  const member = `(${quote}[\\w.-]{0,64}?${secretName}${quote}\\s*:\\s*)`;
  const shown = '\\'.repeat(2 ** nesting - 1);
  return [
    [new RegExp(`${member}${quote}${inside}(${quote})?`, 'gi'), `$1${shown}"${mask}$2`],
    [
      new RegExp(`${member.replace(secretName, '(?:secret|password|passwd|api[_-]?key)')}-?\\d[\\d.eE+-]*`, 'gi'),
      `$1${shown}"${mask}${shown}"`,
    ],
  ];
});

/** Each pattern bounds what precedes its deciding character, so a hostile text costs no more than its length. */
const rules: readonly Rule[] = [
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?:(?:(?!-----BEGIN)[^"]){0,20000}?-----END [A-Z0-9 ]{0,40}-----|(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})*(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{1,19}(?=[ \t]*(?:$|["\\\r\n])))?)/g,
    mask,
  ],
  [/\bgh[pousr]_[A-Za-z0-9]{20,}/g, mask],
  [/\bgithub_pat_[A-Za-z0-9_]{20,}/g, mask],
  [/\bglpat-[A-Za-z0-9_-]{16,}/g, mask],
  [/\bsk-[A-Za-z0-9_-]{16,}/g, mask],
  [/\bxox[abeoprs]-[A-Za-z0-9-]{8,}/g, mask],
  [/\bxapp-[A-Za-z0-9-]{8,}/g, mask],
  [/\bwhsec_[A-Za-z0-9+/=_-]{8,}/g, mask],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, mask],
  // A bot token follows the word "bot" in the path of a URL.
  [/(?<!\d)\d{6,20}:[A-Za-z0-9_-]{30,}/g, mask],
  [/\b(Bearer|Basic|QQBot|Bot) +[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${mask}`],
  [/:\/\/[^\s/?#"'<>\\]{1,512}@/g, `://${mask}@`],
  [
    /\b(x-[a-z-]{0,40}?(?:token|key|secret|signature)|private-token|authorization|(?:set-)?cookie)( *: *)[^\r\n"'\\]+/gi,
    `$1$2${mask}`,
  ],
  ...members,
  [
    new RegExp(
      `((?:[?&](?:key|sign|sig|code))|(?:${secretName}|signature))=(?:${quotedIn(1)}|${quotedIn(2)}|"(?![,}\\]:\\s])[^"\\\\\\n]*"(?=\\s|$)|[^\\s&"'\\\\]+)`,
      'gi',
    ),
    `$1=${mask}`,
  ],
];

/**
 * A JSON Web Token. The first part also matches without a second one: if the pattern required the dot, each `eyJ` of a
 * long word would search for it again.
 */
const webToken = /\beyJ[A-Za-z0-9_-]{8,}(\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)?/g;

/**
 * Every rule needs one of these; a text with none is returned at once. Words are listed in the three cases that occur,
 * which costs a clean line a third less than matching any case.
 */
const suspicious =
  /gh[pousr]_|_pat_|glpat-|sk-|xox|xapp-|whsec_|AKIA|ASIA|eyJ|:[\w-]{30}|:\/\/[^\s/]{0,512}@|[Tt]oken|TOKEN|[Ss]ecret|SECRET|[Pp]ass[wp]|PASS[WP]|[Kk]ey|KEY|[Aa]uthorization|AUTHORI|[Cc]ookie|COOKIE|[Cc]redential|CREDENT|[Bb]earer |BEARER |[Bb]asic |BASIC |[Bb]ot |ignature|[?&](?:sig|code)/;

const maxDepth = 12;
const maxItems = 200;
const maxNodes = 10_000;
const maxTextLength = 8_192;

export function createRedactor(): Redactor {
  const learnt = new Set<string>();
  const turns = new Map<string, readonly string[]>();
  let exact: ((text: string) => string) | undefined;
  let apart: ((text: string) => string) | undefined;

  const secrets = (): readonly string[] => [...learnt, ...[...turns.values()].flat()];

  function forget(): void {
    exact = undefined;
    apart = undefined;
  }

  function known(source: string): string {
    apart ??= maskOf(
      secrets().filter((secret) => !word.test(secret)),
      mask,
    );
    return apart(source);
  }

  function text(source: string): string {
    exact ??= maskOf(secrets(), mask);
    let clean = exact(source);
    if (!suspicious.test(clean)) return clean;
    clean = clean.replace(webToken, (found, rest?: string) => (rest === undefined ? found : mask));
    for (const [pattern, replacement] of rules) clean = clean.replace(pattern, replacement);
    return clean;
  }

  /** Redacts before it cuts: a cut through a secret would leave half of it unrecognized. */
  function shortText(source: string): string {
    const clean = text(source);
    return clean.length > maxTextLength ? `${clean.slice(0, maxTextLength)}…` : clean;
  }

  function whole(held: Json): Json {
    if (typeof held === 'string') return text(held);
    if (Array.isArray(held)) return held.map(whole);
    return isJsonObject(held) ? wholeRecord(held) : held;
  }

  function wholeRecord(record: JsonObject): JsonObject {
    return Object.fromEntries(
      Object.entries(record).map(([key, inner]) => [key, isMasked(key, inner) ? mask : whole(inner)]),
    );
  }

  function copy(held: unknown, depth: number, budget: { nodes: number }): unknown {
    budget.nodes -= 1;
    switch (typeof held) {
      case 'string':
        return shortText(held);
      case 'bigint':
        return String(held);
      case 'function':
      case 'symbol':
      case 'undefined':
        return undefined;
      case 'object':
        break;
      default:
        return held;
    }
    if (held === null) return null;
    if (depth >= maxDepth || budget.nodes < 0) return '…';
    if (held instanceof Error) return shortText(held.message);
    if (held instanceof Date) return Number.isNaN(held.valueOf()) ? null : held.toISOString();
    if (ArrayBuffer.isView(held)) return `${held.byteLength} bytes`;
    if (Array.isArray(held) || held instanceof Set) {
      return [...held].slice(0, maxItems).map((item) => copy(item, depth + 1, budget));
    }
    const entries = held instanceof Map ? [...held] : Object.entries(held);
    // From entries, because a key such as `__proto__` must stay a key.
    return Object.fromEntries(
      entries.slice(0, maxItems).map(([key, inner]) => {
        const name = String(key);
        return [shortText(name), isMasked(name, inner) ? mask : copy(inner, depth + 1, budget)];
      }),
    );
  }

  return {
    learn(secret) {
      if (!isSecret(secret) || learnt.has(secret)) return;
      learnt.add(secret);
      for (const line of secret.split('\n')) if (line.trim().length >= shortestLine) learnt.add(line.trim());
      forget();
    },
    learnNext(place, secret) {
      const known = turns.get(place) ?? [];
      if (!isSecret(secret) || known.includes(secret)) return;
      turns.set(place, [...known.slice(1 - keptOfPlace), secret]);
      forget();
    },
    text,
    known,
    value: (held) => copy(held, 0, { nodes: maxNodes }),
    // The copy has the keys and types of the original, except that masked values are texts.
    record: (given) => wholeRecord(given as JsonObject) as typeof given,
  };
}

function isSecret(text: string): boolean {
  return text.length >= shortestSecret && !everyday.has(text.toLowerCase());
}

/** A number under a name such as `max_tokens` is a count, not a secret. */
function isMasked(key: string, value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return isSecretName(key) && !(typeof value === 'number' && /tokens$/i.test(key));
}

export function isSecretName(key: string): boolean {
  return secretKey.test(key.replace(/([a-z0-9])([A-Z])/g, '$1_$2'));
}
