/**
 * Chooses what of a request's head the journal keeps, so that a replay is read as the event was: its type, its encoding
 * and what the route's filters ask for. A header that carries a credential is never kept, whoever asks for it.
 * @see DUR-2 and OBS-1 in docs/specification.md
 */

type Headers = Readonly<Record<string, string>>;

const keptAlways = [
  'content-type',
  'x-github-event',
  'x-hosta-event',
  'x-gitlab-event',
  'x-hostb-event',
  'user-agent',
] as const;

/** By the words in its name: authorization, cookies, tokens, signatures, keys. */
const credential = /authorization|cookie|token|secret|passw|passphrase|signature|credential|key/;

/** Chooses from headers with lower-case names; `asked` are the names that filters read. */
export function keptHeaders(headers: Headers, asked: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of [...keptAlways, ...asked]) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (value !== undefined && !isCredentialHeader(name)) kept[name] = value;
  }
  return kept;
}

/** Whether a header's value is a credential, so that it is neither stored nor quoted. */
export function isCredentialHeader(name: string): boolean {
  return credential.test(name.toLowerCase());
}
