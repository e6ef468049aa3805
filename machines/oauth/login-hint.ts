/**
 * The sentence for a server that needs a person's login: the problem, and the command that fixes it for its profile.
 * @see OAU-8 and LIF-1 in docs/specification.md
 */

import { profileOption } from '../base/names.ts';
import { shellWord } from '../base/shell-word.ts';

/** The command, quoted for a shell. */
export function loginCommand(server: string, profile: string): string {
  return serverCommand('login', server, profile);
}

/** A command for one server of a profile, quoted for a shell. */
export function serverCommand(
  verb: 'enable' | 'login' | 'logs' | 'remove' | 'test',
  server: string,
  profile: string,
): string {
  return `agent mcp ${verb} ${shellWord(server)}${profileOption(profile)}`;
}

/** @param reason why the stored credentials do not work; undefined if there are none, or nothing is wrong with them */
export function describeLoginNeed(server: string, profile: string, reason: string | undefined): string {
  const why = reason === undefined ? '' : `: ${reason}`;
  return `mcp server "${server}": needs a login${why}; run \`${loginCommand(server, profile)}\``;
}

/** A server's fault, prefixed with its name unless the text already begins with it. */
export function aboutServer(server: string, why: string): string {
  const name = `mcp server "${server}": `;
  return `${name}${why.replaceAll(name, '')}`;
}
