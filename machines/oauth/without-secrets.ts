/**
 * Removes the secrets of a request from a third party's message about it: an authorization server may quote the code or
 * refresh token that it refuses. Keeps one short line.
 * @see OBS-1 in docs/specification.md
 */

import { basicEncoded, encodingsOf, formEncoded } from '../base/secret-encodings.ts';

const mask = '[redacted]';
/** Redacting shorter ones would hide ordinary words. */
const shortestSecret = 6;

export function withoutSecrets(text: string, secrets: readonly (string | undefined)[], maxLength = 300): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret === undefined || secret.length < shortestSecret) continue;
    for (const encoded of encodingsOf(secret)) clean = clean.replaceAll(encoded, mask);
  }
  const line = clean.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}

/** A client secret, plain and as in basic authentication: RFC 6749 §2.3.1 encodes both halves, but many clients do not. */
export function clientSecrets({
  clientId,
  clientSecret,
}: {
  readonly clientId: string;
  readonly clientSecret?: string;
}): readonly string[] {
  if (clientSecret === undefined) return [];
  const pairs = [(text: string) => text, formEncoded, basicEncoded].map(
    (encoded) => `${encoded(clientId)}:${encoded(clientSecret)}`,
  );
  // A quote may lack the padding.
  return [clientSecret, ...pairs.map((pair) => base64(pair).replace(/=+$/, ''))];
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
