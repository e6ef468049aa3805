/**
 * Says what is weak about a shared secret, in words that name none of it: too short, too few different characters, or a
 * word that everybody tries first.
 * @see CLI-2 in docs/specification.md
 */

/** HMAC keys shorter than this can be tried out; what `generate` makes has 64. */
const shortest = 16;
const fewestKinds = 6;
const common =
  /^(?:(?:my|the|your|a)?[-_ ]?(?:webhook|hmac|shared|super|top)?[-_ ]?(?:secret|password|passwd|token|key)|changeme|change[-_ ]?me|replace[-_ ]?me|example|test|testing|default|admin|letmein|qwerty\w*|hunter2)[-_ ]?(?:key|here|\d{0,6}|!*)$/i;

/** What is weak; undefined for a secret that will do. */
export function weaknessOf(secret: string): string | undefined {
  // Standard Webhooks: the prefix is no part of the key.
  const key = secret.startsWith('whsec_') ? secret.slice('whsec_'.length) : secret;
  if (common.test(key)) return 'is a word that everybody tries first';
  if (key.length < shortest) return `has ${key.length} characters; ${shortest} are the least`;
  const kinds = new Set(key).size;
  if (kinds < fewestKinds) return `has only ${kinds} different characters`;
  return isRepeated(key) ? 'repeats a short piece' : undefined;
}

function isRepeated(key: string): boolean {
  // A text that stands in its own doubling, other than at its ends, is made of repetitions.
  const period = `${key}${key}`.indexOf(key, 1);
  return period < key.length && period < shortest;
}
