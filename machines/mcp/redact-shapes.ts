/**
 * Redacts secrets by their shape: keys of known services, bearer tokens, JWTs, logins and tokens in URLs. Secrets of the
 * configuration are redacted by value elsewhere.
 * @see LIF-13 in docs/specification.md
 */

/**
 * Each takes linear time: it begins with fixed text, after which one class repeats, followed by nothing or by a character
 * that the class excludes.
 */
const shapes: readonly (readonly [RegExp, string])[] = [
  // The look-behind prevents matching again at each hyphen of a long run.
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '[redacted]'],
  [/\b(Bearer\s{1,8})[\w.~+/=-]+/gi, '$1[redacted]'],
  [/\bsk-[\w-]{6,}/g, '[redacted]'],
  [/\bgh[pousr]_[A-Za-z0-9]+/g, '[redacted]'],
  [/\bgithub_pat_\w+/g, '[redacted]'],
  [/\bxox[a-z]-[A-Za-z0-9-]+/g, '[redacted]'],
  [/\bA(?:KIA|SIA)[A-Z0-9]{12,}/g, '[redacted]'],
  // Also removes a user name alone, because tokens are often given as one.
  [/:\/\/[^\s/?#]*@/g, '://[redacted]@'],
  // The address of an incoming webhook of Slack or Discord is all that a sender needs.
  [
    /\b(hooks\.slack\.com\/(?:services|triggers|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/g,
    '$1[redacted]',
  ],
  // Also matches names with these endings: access_token, client_secret.
  [/((?:token|api[-_]?key|secret|password|passwd)=)[^\s&#"'<>;,]+/gi, '$1[redacted]'],
];

/** Replaces every known shape with `[redacted]`; idempotent. */
export function redactShapes(text: string): string {
  return shapes.reduce((left, [shape, instead]) => left.replace(shape, instead), text);
}
