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

/** Compiles the choice for a route; `asked` are the names that its filters and its source read, in lower case. */
export function compileKeptHeaders(asked: readonly string[]): (headers: Headers) => Headers {
  const names = [...keptAlways, ...asked].filter((name) => !isCredentialHeader(name));
  return (headers) => {
    const kept: Record<string, string> = new HeaderTable();
    for (const name of names) {
      const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
      if (value !== undefined) kept[name] = value;
    }
    return kept;
  };
}

/**
 * An object that holds nothing but its own properties, whatever a header's name is: `constructor` and `__proto__` are names
 * like others. It has a tree of layouts of its own: all that begin as `{}` share one, which a schema compiler fills; where
 * that is full, every object gets a layout that nothing else has, half a kilobyte each.
 */
export class HeaderTable {
  [name: string]: string;
}
Object.setPrototypeOf(HeaderTable.prototype, null);
Reflect.deleteProperty(HeaderTable.prototype, 'constructor');

/** Whether a header's value is a credential, so that it is neither stored nor quoted. */
export function isCredentialHeader(name: string): boolean {
  return credential.test(name.toLowerCase());
}
