/**
 * The one judge of what is secret: the exact values it has learnt from configuration and `.env`, and the shapes that
 * well-known tokens have. Everything that leaves the process for a person to read passes it.
 * @see OBS-1 and INS-1 in docs/specification.md
 */

export interface Redactor {
  /** Learns an exact secret; shorter than six characters it would hide ordinary words and is left alone. */
  learn(secret: string): void;
  text(text: string): string;
  /** A copy of a JSON-like value with its texts redacted and the values of secret-looking keys masked. */
  value(value: unknown): unknown;
}

const mask = '[redacted]';
const shortestSecret = 6;
const mostDepth = 12;
const mostItems = 200;
const longestText = 8_192;

const secretKey =
  /(^|[_-])(secret|token|password|passwd|api[_-]?key|authorization|cookie|private[_-]?key|client[_-]?key|credential)s?$/i;
const shapes: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{8,}/g,
  /\bwhsec_[A-Za-z0-9+/=_-]{8,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\b\d{6,}:[A-Za-z0-9_-]{30,}/g,
];
const bearer = /\b(Bearer|Basic|QQBot|Bot) +[A-Za-z0-9._~+/=-]{8,}/g;
const urlCredentials = /([a-z][a-z0-9+.-]*:\/\/)[^\s/:@]+:[^\s/@]+@/gi;
const parameter =
  /\b((?:access_|refresh_|id_)?token|secret|client_secret|password|api_?key|key|sign|signature)=[^\s&"']{3,}/gi;

/** What every shape above contains; a text without any of it needs no further look. */
const suspicious =
  /PRIVATE|gh[pousr]_|github_pat_|glpat-|sk-|xox|whsec_|AKIA|ASIA|eyJ|\d:[A-Za-z]|B(?:earer|asic|ot) |:\/\/[^\s/]*@|(?:token|secret|password|key|sign|signature)=/i;

export function createRedactor(): Redactor {
  const learnt = new Set<string>();
  let exact: RegExp | undefined;

  function text(source: string): string {
    let clean = exact === undefined ? source : source.replace(exact, mask);
    if (!suspicious.test(clean)) return clean;
    for (const shape of shapes) clean = clean.replace(shape, mask);
    return clean.replace(bearer, `$1 ${mask}`).replace(urlCredentials, `$1${mask}@`).replace(parameter, `$1=${mask}`);
  }

  function value(held: unknown, depth: number): unknown {
    if (typeof held === 'string') return text(held.length > longestText ? `${held.slice(0, longestText)}…` : held);
    if (typeof held !== 'object' || held === null) return typeof held === 'function' ? undefined : held;
    if (depth >= mostDepth) return '…';
    if (held instanceof Error) return text(held.message);
    if (Array.isArray(held)) return held.slice(0, mostItems).map((item) => value(item, depth + 1));
    const copy: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(held).slice(0, mostItems)) {
      copy[key] = secretKey.test(key) && inner !== null && inner !== undefined ? mask : value(inner, depth + 1);
    }
    return copy;
  }

  return {
    learn(secret) {
      if (secret.length < shortestSecret || learnt.has(secret)) return;
      learnt.add(secret);
      // The longest first, so that a secret within another leaves no tail; as JSON spells it too.
      const spelled = [...learnt].flatMap((one) => [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one)]);
      const sorted = [...new Set(spelled)].sort((one, other) => other.length - one.length);
      exact = new RegExp(sorted.map(escaped).join('|'), 'g');
    },
    text,
    value: (held) => value(held, 0),
  };
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
