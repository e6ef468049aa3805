/**
 * Finds what is wrong with the URL of a Postgres database. A password with an unencoded "/", "?" or "#" ends the host too
 * early, so that parts of the password would be taken for the host, the port or the database.
 * @see CFG-2 and OBS-1 in docs/specification.md
 */

/** Returns the reason why the URL is refused, without quoting it; undefined if it can be used. */
export function databaseUrlProblem(url: string): string | undefined {
  if (severalHosts.test(url)) return 'names several hosts; name one that leads to the primary, such as a proxy';
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    return url.includes('@') ? `is no URL of a Postgres database; ${encode}` : 'is no URL of a Postgres database';
  }
  const { host, pathname, search, hash, searchParams } = new URL(url);
  // A "@" in the query is a password cut by "?" only if the host was taken from before it.
  if (`${pathname}${hash}`.includes('@') || (search.includes('@') && !authorityOf(url).includes('@')))
    return `has "@" behind the host; ${encode}`;
  // Without a user the client takes that of the system, as with a socket's peer authentication.
  return host === '' && !searchParams.has('host') ? `has no host; ${encode}` : undefined;
}

/** What is between `//` and the next `/`, `?` or `#`. */
function authorityOf(url: string): string {
  return /^\w+:\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
}

/** Between the last "@" and the path, or in the query. A password may contain a comma. */
const severalHosts = /^postgres(ql)?:\/\/(?:[^/?#]*@)?[^@/?#]*,[^@/?#]*(?:[/?#][^@]*)?$|[?&]host=[^&]*(?:,|%2c)/i;

const encode = 'percent-encode / ? # @ and % of its password';
