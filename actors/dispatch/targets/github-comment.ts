/**
 * Comments on a pull request or an issue on GitHub through the installed command-line client. The text goes through
 * standard input: no argument limit, nothing in the process list, no shell.
 * @see DLV-3 in docs/specification.md
 */

import type { Json, JsonObject } from '../../../machines/base/json.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import {
  deliveredAs,
  type RefusalClass,
  refused,
  type SendOutcome,
  transient,
  type Undelivered,
  unknownOutcome,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { endOf, runCommand, scrubbedEnv } from '../../process-group.ts';
import {
  createPieceTarget,
  type Message,
  type PlatformTarget,
  type TargetPorts,
  verifiedAs,
} from './platform-target.ts';

export interface GithubClient {
  /** `gh` unless configured. */
  readonly command: string;
  readonly cwd: string;
  readonly timeoutMs: number;
  /** The profile's `.env`, which may set GH_TOKEN and GH_HOST. */
  readonly scope: ReadonlyMap<string, string>;
}

/** Neither part begins like a flag or consists of dots only. */
const repoPattern = /^(?!\.+\/)[\w.][\w.-]*\/(?!\.+$)[\w.][\w.-]*$/;
const numberPattern = /^[1-9]\d{0,9}$/;
/** GitHub refuses longer comments. */
const limit = { max: 65_536, unit: 'utf16' } as const;
/** More comments under one pull request would not be read. */
const maxComments = 10;
const passed = [
  'GH_CONFIG_DIR',
  'XDG_CONFIG_HOME',
  'HTTPS_PROXY',
  'https_proxy',
  'NO_PROXY',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];
const maxOutputBytes = 65_536;
/** The host that the client uses unless configured otherwise. */
const commonHost = 'github.com';
const noAccount = /not logged in|gh auth login/i;
const keptReason = 300;
/** A shell's exit code for a command ended by a signal is this plus the signal's number. */
const signalled = 128;
const unanswered = 'the client did not say whether it is logged in';
const shownLater: VerifyOutcome = {
  kind: 'unverifiable',
  reason: "the client's login shows with the first comment",
};
/** GitHub answers many comments in a row with its secondary rate limit, and asks for a minute. */
const limitedMs = 60_000;

/** The client's error messages, first match first. Any other is a refusal. */
const complaints: readonly (readonly [RegExp, RefusalClass | 'rateLimited' | 'transient' | 'unknown'])[] = [
  [/rate limit|submitted too quickly|HTTP 429/i, 'rateLimited'],
  [/HTTP 401|bad credentials|gh auth login/i, 'auth'],
  [/could not resolve to an?|HTTP 404|HTTP 410|no pull requests found/i, 'notFound'],
  [/HTTP 403|not accessible|is locked|must have|does not have the correct permissions/i, 'forbidden'],
  [/too long|HTTP 413/i, 'tooLong'],
  [
    /error connecting to|dial tcp|no such host|connection refused|network is unreachable|x509: certificate has expired|HTTP 503/i,
    'transient',
  ],
  // The comment may have been written before the answer was lost.
  [/HTTP 5\d\d|reset by peer|broken pipe|EOF|timed? ?out|something went wrong/i, 'unknown'],
];

export function createGithubComment(
  client: GithubClient,
  settings: PlatformSettings,
  ports: TargetPorts,
): PlatformTarget {
  return createPieceTarget(
    {
      name: 'github_comment',
      limit,
      maxPieces: maxComments,
      inert: (text) => withoutMentions(text, limit.max),
      extraProblem,
      placeKeys: ['repo', 'pr_number'],
      placeFrom({ repo, pr_number }) {
        const number = numberOf(pr_number);
        return typeof repo === 'string' && number !== undefined ? `${repo}#${number}` : undefined;
      },
      send: (message, signal) => writeComment(client, message, signal),
      verify: (signal) => verifyLogin(client, signal),
    },
    settings,
    ports,
  );
}

function extraProblem({ repo, pr_number }: JsonObject): Undelivered | undefined {
  if (typeof repo !== 'string' || !repoPattern.test(repo))
    return refused('permanent', `deliver_extra.repo must be owner/name; it is ${JSON.stringify(repo ?? null)}`);
  if (numberOf(pr_number) !== undefined) return undefined;
  const given = JSON.stringify(pr_number ?? null);
  return refused('permanent', `deliver_extra.pr_number must be a positive whole number; it is ${given}`);
}

/**
 * Asks the client for its login at the host that it comments at. Without a host it would test every account, and fail for
 * one that no comment needs. Another client may lack this command; then the first comment shows whether it is logged in.
 */
async function verifyLogin(client: GithubClient, signal: AbortSignal): Promise<Undelivered | VerifyOutcome> {
  const host = client.scope.get('GH_HOST');
  const answer = await askLogin(client, host ?? commonHost, signal);
  if ('kind' in answer) return answer;
  if (answer.code === 0 || hostsOf(answer.said).size > 0 || !noAccount.test(answer.said))
    return readLogin(client, { ...answer, host: host ?? commonHost }, signal);
  // If it has logins at one host only, it comments there.
  const all = host === undefined ? await askLogin(client, undefined, signal) : answer;
  if ('kind' in all) return all;
  const [only, ...others] = hostsOf(all.said);
  return only === undefined || others.length > 0
    ? loggedOut(client)
    : readLogin(client, { ...all, host: only }, signal);
}

interface LoginAnswer {
  readonly code: number | null;
  readonly said: string;
}

async function askLogin(
  client: GithubClient,
  host: string | undefined,
  signal: AbortSignal,
): Promise<LoginAnswer | Undelivered> {
  const words = ['auth', 'status', ...(host === undefined ? [] : ['--hostname', host])];
  const result = await runClient(client, { words, text: '' }, signal);
  if (result.kind === 'missing') return missingClient(client.command, result.cause);
  if (result.kind !== 'exited') return transient(unanswered);
  return { code: result.code, said: `${result.stdout}\n${result.stderr}` };
}

/** The hosts for which an account is listed. */
function hostsOf(said: string): ReadonlySet<string> {
  const named = said.matchAll(/log(?:ged)? in to (\S+)|(\S+): authentication failed/gi);
  return new Set([...named].map(([, name = '', refused]) => refused ?? name));
}

/** If one host has several accounts, only the active one writes comments. */
async function readLogin(
  client: GithubClient,
  { code, said, host }: LoginAnswer & { readonly host: string },
  signal: AbortSignal,
): Promise<Undelivered | VerifyOutcome> {
  const accounts = said.split(/^(?=.*(?:logged|log) in to \S)/im);
  const active = accounts.filter((account) => /active account: true/i.test(account)).join('\n') || said;
  if (/token .*invalid|failed to log in|auth(?:entication)? failed/i.test(active)) return askHost(client, host, signal);
  if (complaints.some(([words, meaning]) => meaning === 'transient' && words.test(active)))
    return transient('the client did not reach its host');
  const account = /logged in to \S+ (?:account|as) (\S+)/i.exec(active)?.[1];
  if (code === 0 || account !== undefined) return verifiedAs(account);
  return shownLater;
}

/** The client calls a token invalid also while its host cannot be reached, so only a request of its own shows which. */
async function askHost(client: GithubClient, host: string, signal: AbortSignal): Promise<Undelivered | VerifyOutcome> {
  const words = ['api', '--hostname', host, 'rate_limit'];
  const result = await runClient(client, { words, text: '' }, signal);
  if (result.kind !== 'exited') return transient(unanswered);
  const said = endOf(result.stderr, keptReason);
  const meaning = complaints.find(([complaint]) => complaint.test(said))?.[1];
  if (result.code === 0 || meaning === 'notFound' || meaning === 'forbidden') return shownLater;
  if (meaning === undefined && said.includes('x509:'))
    return refused('permanent', `the client does not trust its host: ${said}`);
  if (meaning === undefined || meaning === 'auth') return loggedOut(client);
  return transient(`the client did not reach its host: ${said}`);
}

function loggedOut({ command }: GithubClient): Undelivered {
  return refused('auth', `the client is not logged in; run \`${command} auth login\` as the gateway's user`);
}

function runClient(
  { command, cwd, scope, timeoutMs }: GithubClient,
  { words, text }: { readonly words: readonly string[]; readonly text: string },
  signal: AbortSignal,
) {
  return runCommand({
    argv: [command, ...words],
    cwd,
    env: scrubbedEnv({ ...ofTheHost(), ...Object.fromEntries(scope), GH_PROMPT_DISABLED: '1' }),
    stdin: text,
    timeoutMs,
    maxOutputBytes,
    signal,
  });
}

function missingClient(command: string, cause: string | undefined): Undelivered {
  if (cause !== undefined) return refused('permanent', `"${command}" could not be started: ${cause}`);
  return refused(
    'permanent',
    `"${command}" was not found in the gateway's PATH; install it there and log in with \`${command} auth login\``,
  );
}

async function writeComment(
  client: GithubClient,
  { text, extra }: Pick<Message, 'text' | 'extra'>,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { command, timeoutMs } = client;
  const about = [extra.kind === 'issue' ? 'issue' : 'pr', 'comment', numberOf(extra.pr_number) ?? ''];
  const words = [...about, '--repo', String(extra.repo), '--body-file', '-'];
  const result = await runClient(client, { words, text }, signal);
  switch (result.kind) {
    case 'exited':
      return exitOutcome(result.code, result.stdout.trim(), endOf(result.stderr, keptReason));
    case 'missing':
      return missingClient(command, result.cause);
    case 'notBegun':
      return transient(`"${command}" could not be started: ${result.cause}`);
    case 'flooded':
      return unknownOutcome(`"${command}" printed more than expected and was ended`);
    case 'timedOut':
      return unknownOutcome(`"${command}" gave no answer within ${timeoutMs / 1_000} s`);
    case 'aborted':
      return unknownOutcome(`"${command}" was stopped before it answered`);
  }
}

function exitOutcome(code: number | null, stdout: string, stderr: string): SendOutcome {
  if (code === 0) return deliveredAs(stdout);
  if (code === 4)
    return refused('auth', `the client is not logged in; run \`gh auth login\` as the gateway's user: ${stderr}`);
  // A client that was ended by a signal may already have sent the comment.
  if (code === null || code > signalled) return unknownOutcome('the client was killed before it answered');
  const cure = /resolve to a PullRequest/i.test(stderr) ? '; for an issue, deliver_extra.kind must be "issue"' : '';
  const reason = `the client exited with ${code}: ${stderr}${cure}`;
  const meaning = complaints.find(([words]) => words.test(stderr))?.[1] ?? 'permanent';
  switch (meaning) {
    case 'rateLimited':
      return { kind: 'rateLimited', retryAfterMs: limitedMs, reason };
    case 'transient':
      return transient(reason);
    case 'unknown':
      return unknownOutcome(reason);
    default:
      return refused(meaning, reason);
  }
}

/** What the client needs to find its login and its proxy; tokens come from the profile alone (PRF-2). */
function ofTheHost(): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of passed) {
    const value = process.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** A template renders a number as text. */
function numberOf(value: Json | undefined): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && numberPattern.test(text) ? text : undefined;
}
