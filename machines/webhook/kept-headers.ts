/**
 * Selects the headers that the journal stores, so that a replay is read like the original: its type, its encoding and what
 * the route's filters read. A header with a credential is never stored.
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

/** Matches names that contain authorization, cookie, token, signature, key and the like; Bitbucket's event type is none. */
const credential = /authorization|cookie|token|secret|passw|passphrase|signature|credential|(?<!^x-event-)key/;

/** Compiles the selection for a route; `asked` are the lower-case names that its filters and source read. */
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
 * An object without prototype properties, so that headers named `constructor` and `__proto__` are ordinary keys. It has its
 * own tree of hidden classes: all objects that begin as `{}` share one tree, which a schema compiler fills up, and then
 * every object gets a class of its own, half a kilobyte each.
 */
export class HeaderTable {
  [name: string]: string;
}
Object.setPrototypeOf(HeaderTable.prototype, null);
Reflect.deleteProperty(HeaderTable.prototype, 'constructor');

/** Whether a header's value is a credential, which is neither stored nor quoted. */
export function isCredentialHeader(name: string): boolean {
  return credential.test(name.toLowerCase());
}
