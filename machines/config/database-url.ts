/**
 * Finds what is wrong with the URL of a Postgres database. A password with an unencoded "/", "?" or "#" ends the host too
 * early, so that parts of the password would be taken for the host, the port or the database.
 * @see CFG-2 and OBS-1 in docs/specification.md
 */

/** Returns the reason why the URL is refused, without quoting it; undefined if it can be used. */
export function databaseUrlProblem(url: string): string | undefined {
  if (scheme.test(url) && hasSeveralHosts(url))
    return 'names several hosts; name one that leads to the primary, such as a proxy';
  const parsed = parseDatabaseUrl(url);
  if (parsed === undefined)
    return url.includes('@') ? `is no URL of a Postgres database; ${encode}` : 'is no URL of a Postgres database';
  const { host, pathname, search, hash, searchParams } = parsed;
  // A "@" in the query is a password cut by "?" if the host was taken from before it, or the query is none of a database's.
  const isCut = search.includes('@') && (!authorityOf(url).includes('@') || ignoredParameters(url).length > 0);
  if (isCut || `${pathname}${hash}`.includes('@')) return `has "@" behind the host; ${encode}`;
  // Without a user the client takes that of the system, as with a socket's peer authentication.
  return host === '' && !searchParams.has('host') ? `has no host; ${encode}` : undefined;
}

/**
 * Undefined if it is no URL of a Postgres database. With a user and no host, as for a socket that the query names, it is one
 * for the client, but not for `URL`.
 */
export function parseDatabaseUrl(
  url: string,
): Readonly<Pick<URL, 'host' | 'password' | 'pathname' | 'search' | 'hash' | 'searchParams'>> | undefined {
  if (!scheme.test(url)) return undefined;
  if (URL.canParse(url)) return new URL(url);
  const hosted = url.replace(/^(\w+:\/\/[^/?#@]*@)\//, '$1host/');
  if (hosted === url || !URL.canParse(hosted)) return undefined;
  const { password, pathname, search, hash, searchParams } = new URL(hosted);
  return { host: '', password, pathname, search, hash, searchParams };
}

/** Returns the names that are none of `parameters`: the client ignores them. */
export function ignoredParameters(url: string): readonly string[] {
  return [...new Set(parseDatabaseUrl(url)?.searchParams.keys())].filter((name) => !parameters.test(name));
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
/**
 * Those of libpq (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS) and of the client, without
 * libpq's `dbname`: the client would use another database.
 */
const parameters = new RegExp(
  `^(?:${[
    'host|hostaddr|port|user|password|passfile|service|options|replication',
    'application_name|fallback_application_name|client_encoding|encoding|uselibpqcompat',
    '(?:connect|statement|lock|query|idle_in_transaction_session|tcp_user)_timeout|keepalives(?:_\\w+)?',
    'ssl|ssl(?:mode|negotiation|compression|cert|certmode|key|keylogfile|password|rootcert|crl|crldir|sni)',
    'ssl_(?:min|max)_protocol_version|(?:min|max)_protocol_version|channel_binding|require_auth|requirepeer',
    'gss\\w+|krbsrvname|target_session_attrs|load_balance_hosts',
  ].join('|')})$`,
);
