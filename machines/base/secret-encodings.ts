/**
 * The forms in which a text that quotes a request may contain a secret: as it is, in JSON, in a URL and in a form, whose
 * encoding differs from that of a URL.
 * @see OBS-1 in docs/specification.md
 * @see [URL, application/x-www-form-urlencoded](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)
 */

/** Without repetitions; never throws. */
export function encodingsOf(secret: string): readonly string[] {
  // Half of a surrogate pair cannot be encoded in a URL.
  const url = encodeURIComponent(secret.replace(/\p{Surrogate}/gu, '\uFFFD'));
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), url, formEncoded(secret)])];
}

export function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
