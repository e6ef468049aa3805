/**
 * Finds what is wrong with the URL of a Postgres database. A password with an unencoded "/", "?" or "#" ends the host too
 * early, so that parts of the password would be taken for the host, the port or the database.
 * @see CFG-2 and OBS-1 in docs/specification.md
 */

/** Returns the reason why the URL is refused, without quoting it; undefined if it can be used. */
export function databaseUrlProblem(url: string): string | undefined {
  if (scheme.test(url) && hasSeveralHosts(url))
    return 'names several hosts; name one that leads to the primary, such as a proxy';
  if (!scheme.test(url) || !URL.canParse(url)) {
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

/** Whether there is a comma in the host or in `host` of the query. A "@" behind the host may mean that it is a password's. */
function hasSeveralHosts(url: string): boolean {
  const [, hosts = '', rest = ''] = /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)(.*)/s.exec(url) ?? [];
  const asked = new URLSearchParams(/\?([^#]*)/.exec(rest)?.[1]).getAll('host');
  return (hosts.includes(',') && !rest.includes('@')) || asked.some((host) => host.includes(','));
}

const scheme = /^postgres(?:ql)?:\/\//;
const encode = 'percent-encode / ? # @ and % of its password';
