/**
 * Takes secrets out of a text by their shape: keys of known services, bearer tokens, JWTs, logins and tokens in URLs.
 * It cannot know a secret without a shape; what the configuration holds is redacted by value elsewhere.
 * @see LIF-13 in docs/specification.md
 */

/**
 * Each takes time linear in the text: it begins with a fixed text, and after it one class repeats without anything that
 * must follow, or with something that the class cannot hold.
 */
const shapes: readonly (readonly [RegExp, string])[] = [
  // The look-behind keeps one long run from being tried at each of its hyphens.
  [/(?<![\w-])eyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, '[redacted]'],
  [/\b(Bearer\s{1,8})[\w.~+/=-]+/gi, '$1[redacted]'],
  [/\bsk-[\w-]{6,}/g, '[redacted]'],
  [/\bgh[pousr]_[A-Za-z0-9]+/g, '[redacted]'],
  [/\bgithub_pat_\w+/g, '[redacted]'],
  [/\bxox[a-z]-[A-Za-z0-9-]+/g, '[redacted]'],
  [/\bA(?:KIA|SIA)[A-Z0-9]{12,}/g, '[redacted]'],
  // A user alone goes too: tokens are often given as one.
  [/:\/\/[^\s/?#]*@/g, '://[redacted]@'],
  // Also matches where the name only ends so: access_token, client_secret.
  [/((?:token|api[-_]?key|secret|password|passwd)=)[^\s&#"'<>;,]+/gi, '$1[redacted]'],
];

/** Replaces every known shape with `[redacted]`; doing it twice changes nothing more. */
export function redactShapes(text: string): string {
  return shapes.reduce((left, [shape, instead]) => left.replace(shape, instead), text);
}
