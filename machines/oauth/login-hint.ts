/**
 * The sentence for a server that only a person can log in to: what is amiss, and the command that fixes it, for the profile
 * that it belongs to.
 * @see OAU-8 and LIF-1 in docs/specification.md
 */

/** The command, fit to be pasted into a shell. */
export function loginCommand(server: string, profile: string): string {
  return serverCommand('login', server, profile);
}

/** A command about one server of a profile, fit to be pasted into a shell. */
export function serverCommand(verb: 'login' | 'logs', server: string, profile: string): string {
  return `agent mcp ${verb} ${quoted(server)}${profile === 'default' ? '' : ` --profile ${quoted(profile)}`}`;
}

/**
 * @param reason what is known of the standing credentials; undefined where there are none, or nothing is wrong with them
 */
export function describeLoginNeed(server: string, profile: string, reason: string | undefined): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return `mcp server "${server}": needs a login${why}; run \`${loginCommand(server, profile)}\``;
}

/** What befell a server, which says its own name at most once: what is told from below may name it already. */
export function aboutServer(server: string, why: string): string {
  const name = `mcp server "${server}": `;
  return `${name}${why.replaceAll(name, '')}`;
}

function quoted(word: string): string {
  return /^[\w.@:/+-]+$/.test(word) && !word.startsWith('-') ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
