/**
 * What is weak about a shared secret, in words that do not quote it: too short, too few different characters, a keyboard
 * row, a common word, or the name of its route.
 * @see SEC-6 and CLI-2 in docs/specification.md
 */

/** A secret that means: do not verify. */
export const insecureSecret = 'INSECURE_NO_AUTH';

/** Shorter HMAC keys can be guessed; `generate` makes 64 characters. */
const shortest = 16;
const fewestKinds = 6;
const common =
  /^(?:(?:my|the|your|a)?[-_ ]?(?:webhook|hmac|shared|super|top)?[-_ ]?(?:[-_ ]?(?:secret|password|passwd|token|key))+|changeme|change[-_ ]?me|replace[-_ ]?me|example|test|testing|default|admin|letmein|qwerty\w*|hunter2)[-_ ]?(?:key|here|\d*|!*)$/i;
/** Keyboard rows and the alphabet, which people type. */
const rows = ['1234567890', '0123456789abcdef', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiopasdfghjklzxcvbnm'];

/** What is weak, as the predicate of a sentence; undefined for a strong enough secret. */
export function weaknessOf(secret: string, route?: string): string | undefined {
  // Standard Webhooks: the prefix is not part of the key.
  const key = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret;
  if (route !== undefined && key.toLowerCase() === route.toLowerCase()) return 'is the name of its route';
  if (common.test(key)) return 'is a word that everybody tries first';
  if (key.length < shortest)
    return `has ${key.length} ${key.length === 1 ? 'character' : 'characters'}, fewer than ${shortest}`;
  const kinds = new Set(key).size;
  if (kinds === 1) return 'is one character, repeated';
  if (kinds < fewestKinds) return `has only ${kinds} different characters`;
  if (isRepeated(key)) return 'repeats a short piece';
  return rows.some((row) => isAlong(row, key.toLowerCase())) ? 'is a row of neighbouring keys or letters' : undefined;
}

function isAlong(row: string, key: string): boolean {
  return row.repeat(Math.ceil(key.length / row.length) + 1).includes(key);
}

function isRepeated(key: string): boolean {
  // A text that occurs within its own doubling, other than at the ends, is a repetition.
  const period = `${key}${key}`.indexOf(key, 1);
  return period < key.length && period < shortest;
}
