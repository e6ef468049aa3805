/**
 * `agent mcp login`, `reauth` and `logout`: starts a login in the daemon and shows its progress: the URL, opened if there is a
 * browser, or the code with a countdown. A redirect URL can be pasted back. Ctrl-C cancels.
 * @see OAU-8, DEV-1 and DEV-5 in docs/specification.md
 */

import { createInterface } from 'node:readline';
import type { JsonObject } from '../../machines/base/json.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import { openBrowser } from '../browser.ts';
import { connectGateway } from '../call.ts';
import { type CommandContext, type ExitCode, hasFlag, refuse, textFlag, textFlags } from '../context.ts';
import { startCountdown } from '../countdown.ts';
import { openForward } from '../forward-file.ts';
import { bold, oneLine } from '../terminal.ts';

/** How a login ended; `cancelled` by a person ends the remaining logins too. */
type Ended = 'loggedIn' | 'failed' | 'cancelled';

export async function login(context: CommandContext): Promise<ExitCode> {
  const [server = ''] = context.args;
  const where = { server, ...textFlags(context, 'profile') };
  const ended = await loginTo(context, where);
  return ended === 'loggedIn' ? 0 : ended === 'cancelled' ? 130 : 1;
}

export async function logout(context: CommandContext): Promise<ExitCode> {
  const [server = ''] = context.args;
  const where = { server, ...textFlags(context, 'profile') };
  const { was_logged_in: was } = await context.ask('mcp.logout', where);
  const shownName = shownServer(where);
  context.out.print(was ? `Logged out of ${shownName}.\n` : `There was no login to ${shownName}.\n`);
  return 0;
}

/** Logs in again to one or all servers, one at a time; continues after a failure and prints a summary. */
export async function reauthorize(context: CommandContext): Promise<ExitCode> {
  const [server] = context.args;
  const all = hasFlag(context, 'all');
  if ((server === undefined) === !all) return refuse(context, 'name one server, or give --all', 2);
  const given = textFlag(context, 'profile');
  const rows = all
    ? (await context.ask('mcp.oauthServers')).filter(({ profile }) => profile === (given ?? profile))
    : [{ server: server ?? '', profile: given ?? 'default' }];
  if (rows.length === 0) {
    context.out.print(`No server${given === undefined ? '' : ` of profile ${given}`} logs in by OAuth.\n`);
    return 0;
  }
  const failed: string[] = [];
  let done = 0;
  let cancelled = false;
  for (const row of rows) {
    const ended = await loginTo(context, { server: row.server, profile: row.profile, again: true });
    if (ended === 'loggedIn') done += 1;
    if (ended === 'failed') failed.push(shownServer(row));
    cancelled = ended === 'cancelled';
    if (cancelled) break;
  }
  if (rows.length > 1) {
    const tail = failed.length === 0 ? '' : `; failed: ${failed.join(', ')}`;
    context.out.print(`${done} of ${rows.length} logged in${tail}\n`);
  }
  return cancelled ? 130 : done === rows.length ? 0 : 1;
}

interface Wanted {
  readonly server: string;
  readonly profile?: string;
  /** Repeats a login: a refused client metadata document is not offered again. */
  readonly again?: true;
}

async function loginTo(context: CommandContext, wanted: Wanted): Promise<Ended> {
  const { out } = context;
  const { again, ...where } = wanted;
  const { server } = where;
  const shownName = shownServer(where);
  const client = await connectGateway(context.gateway);
  let cancelled = false;
  let endCountdown = (): void => {};
  const cancel = (): void => {
    cancelled = true;
    client.close();
  };
  process.once('SIGINT', cancel);
  process.once('SIGTERM', cancel);
  const typed = createInterface({ input: process.stdin });
  typed.on('line', (line) => {
    if (line.trim() === '') return;
    client
      .ask('mcp.loginPaste', { ...where, url: line })
      .catch((error: Error) => cancelled || out.complain(`agent: ${oneLine(error.message)}\n`));
  });
  client.onNotification((_, progress) => {
    if (progress.kind === 'warning') {
      out.complain(`agent: ${shownName}: warning: ${oneLine(`${progress.message} [${progress.code}]`)}\n`);
      return;
    }
    endCountdown();
    endCountdown = show(context, shownName, progress);
    if (progress.kind === 'url' && !hasFlag(context, 'no-browser')) openLogin(String(progress.url), context, client);
  });
  try {
    const asked = { ...where, ...textFlags(context, 'flow'), ...(again === undefined ? {} : { again }) };
    await client.ask('mcp.login', asked);
    endCountdown();
    out.print(`Logged in to ${shownName}.\n`);
    return 'loggedIn';
  } catch (thrown) {
    endCountdown();
    const { message, code } = thrown as Error & { readonly code?: string };
    const why = cancelled ? 'the login was cancelled' : message;
    const shown = cancelled ? ' [login-stopped]' : code === undefined ? '' : ` [${code}]`;
    // A refusal names the server itself.
    const place = why.includes(`"${server}"`) ? '' : `${shownName}: `;
    out.complain(`agent: ${place}${oneLine(why)}${shown}\n`);
    return cancelled ? 'cancelled' : 'failed';
  } finally {
    process.off('SIGINT', cancel);
    process.off('SIGTERM', cancel);
    typed.close();
    client.close();
  }
}

/** Two profiles may have a server of one name, and each has an account of its own. */
function shownServer({ server, profile = 'default' }: Wanted): string {
  return oneLine(profile === 'default' ? server : `${server} of profile ${profile}`);
}

/**
 * The desktop's browser gets the address by a file: with its `state`, another user of the machine could answer the login with
 * an account of that user. BROWSER gets the address itself: as in a remote editor, it may start a browser elsewhere.
 */
function openLogin(url: string, { env }: CommandContext, { closed }: Pick<ControlClient, 'closed'>): void {
  if (env.BROWSER !== undefined && env.BROWSER !== '') openBrowser(url, env);
  else
    openForward(
      url,
      env,
      closed.then(() => true),
    ).catch(() => {});
}

/** Shows the login's progress; returns a function that ends the countdown. */
function show(context: CommandContext, shownName: string, progress: JsonObject): () => void {
  const { out } = context;
  if (progress.kind === 'url') {
    const url = String(progress.url);
    out.print(`Log in to ${bold(out, shownName)} in your browser:\n\n  ${oneLine(url)}\n\n`);
    const minutes = Math.round(Number(progress.expires_in_seconds) / 60);
    out.print('If that browser is on another machine, paste the address that it ends at here.\n');
    out.print(`Waiting for ${minutes} minutes. Ctrl-C cancels.\n`);
  }
  if (progress.kind === 'code') {
    const address = oneLine(String(progress.verification_uri));
    out.print(`To log in to ${bold(out, shownName)}, open ${address} on any device and enter the code:\n\n`);
    out.print(`  ${bold(out, oneLine(String(progress.user_code)))}\n\n`);
    if (progress.verification_uri_complete !== undefined) {
      out.print(`Or open ${oneLine(String(progress.verification_uri_complete))}\n`);
    }
    const line = (left: string): string => `Waiting; the code is good for ${left}. Ctrl-C cancels.`;
    return startCountdown(out, { seconds: Number(progress.expires_in_seconds), line });
  }
  return () => {};
}
