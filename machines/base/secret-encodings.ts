/**
 * The forms in which a text that quotes a request may contain a secret: as it is, in JSON, in JSON that is a text of JSON, in
 * a URL and in a form, whose encoding differs from that of a URL.
 * @see OBS-1 in docs/specification.md
 * @see [URL, application/x-www-form-urlencoded](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)
 */

/** Without repetitions; never throws. */
export function encodingsOf(secret: string): readonly string[] {
  // With tens of thousands of routes, to encode the secrets that stay as they are would take most of the time.
  if (/^[\w.-]*$/.test(secret)) return [secret];
  const url = urlEncoded(secret);
  const json = inJson(secret);
  // PHP escapes slashes in JSON.
  const php = json.replaceAll('/', '\\/');
  const escaped = [url, formEncoded(secret)];
  // .NET writes the digits in lower case.
  const lower = escaped.map((text) => text.replace(/%../g, (byte) => byte.toLowerCase()));
  return [...new Set([secret, json, inJson(json), php, inJson(php), ...escaped, ...lower])];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function urlEncoded(text: string): string {
  // Half of a surrogate pair cannot be encoded in a URL.
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD'));
}

export function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}

/**
 * A half of the pair of basic authentication, encoded no further than necessary: both decoding as a form and as a URL return
 * the text, and `~!*'()/=@$,;?`, which are usual in secrets, also reach a server that decodes nothing.
 * @see [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
 */
export function basicEncoded(text: string): string {
  return urlEncoded(text).replace(/%(?:2F|3D|40|24|2C|3B|3F)/g, decodeURIComponent);
}
