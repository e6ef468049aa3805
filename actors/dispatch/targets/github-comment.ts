/**
 * Comments on a pull request or an issue on GitHub through the installed command-line client. The text goes through
 * standard input: no argument limit, nothing in the process list, no shell.
 * @see DLV-3 in docs/specification.md
 */

import type { Json } from '../../../machines/base/json.ts';
import { withoutMentions } from '../../../machines/dispatch/inert-text.ts';
import {
  nothingToSend,
  type RefusalClass,
  refused as refusedAs,
  type SendOutcome,
  transient,
  unknownOutcome,
  type VerifyOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { messagesOf } from '../../../machines/dispatch/split-text.ts';
import { endOf, runCommand, scrubbedEnv } from '../../process-group.ts';
import { type PlatformTarget, verifiedAs } from './platform-target.ts';
import { type Sending, sendPieces } from './send-pieces.ts';

export interface GithubCommentSettings {
  /** The client; `gh` unless configured. */
  readonly command: string;
  readonly cwd: string;
  readonly timeoutMs: number;
  /** The profile's `.env`, which may set GH_TOKEN and GH_HOST. */
  readonly scope: ReadonlyMap<string, string>;
  readonly wait: Sending['wait'];
}

/** Neither part begins like a flag or consists of dots only. */
const repoPattern = /^(?!\.+\/)[\w.][\w.-]*\/(?!\.+$)[\w.][\w.-]*$/;
const numberPattern = /^[1-9]\d{0,9}$/;
/** GitHub refuses longer comments. */
const limit = { most: 65_536, unit: 'utf16' } as const;
/** More comments under one pull request would not be read. */
const mostComments = 10;
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
/** GitHub answers many comments in a row with its secondary rate limit, and asks for a minute. */
const limitedMs = 60_000;

/** The client's error messages, first match first. Any other is a refusal. */
const complaints: readonly (readonly [RegExp, RefusalClass | 'rateLimited' | 'transient' | 'unknown'])[] = [
  [/rate limit|submitted too quickly|HTTP 429/i, 'rateLimited'],
  [/HTTP 401|bad credentials|gh auth login/i, 'auth'],
  [/could not resolve to an?|HTTP 404|HTTP 410|no pull requests found/i, 'notFound'],
  [/HTTP 403|not accessible|is locked|must have|does not have the correct permissions/i, 'forbidden'],
  [/too long|HTTP 413/i, 'tooLong'],
  [/error connecting to|dial tcp|no such host|connection refused|network is unreachable|HTTP 503/i, 'transient'],
  // The comment may have been written before the answer was lost.
  [/HTTP 5\d\d|reset by peer|broken pipe|EOF|timed? ?out|something went wrong/i, 'unknown'],
];

export function createGithubComment(settings: GithubCommentSettings): PlatformTarget {
  return {
    verify: (signal) => verifyLogin(settings, signal),
    placeOf({ repo, pr_number }) {
      const number = numberOf(pr_number);
      return typeof repo === 'string' && number !== undefined ? `${repo}#${number}` : undefined;
    },
    deduplicatesForMs: () => 0,
    async deliver({ text: written, extra, sent, pace, waits }, signal) {
      const text = withoutMentions(written, limit.most);
      const repo = extra.repo;
      const number = numberOf(extra.pr_number);
      if (typeof repo !== 'string' || !repoPattern.test(repo)) {
        return refused(`deliver_extra.repo must be owner/name; it is ${JSON.stringify(repo ?? null)}`);
      }
      if (number === undefined) {
        return refused(
          `deliver_extra.pr_number must be a positive whole number; it is ${JSON.stringify(extra.pr_number ?? null)}`,
        );
      }
      // A text far over the limit is refused without splitting it.
      const comments = text.length > limit.most * mostComments ? undefined : messagesOf(text, limit);
      if (comments === undefined || comments.length > mostComments) {
        const most = `${mostComments} comments of ${limit.most} are written at most`;
        return refused(`a text of ${text.length} characters is too long; ${most}`, 'tooLong');
      }
      if (comments.length === 0) return nothingToSend;
      const words = [extra.kind === 'issue' ? 'issue' : 'pr', 'comment', number, '--repo', repo, '--body-file', '-'];
      return sendPieces(comments, { sent, wait: settings.wait, signal: waits ?? signal, pace }, (comment) =>
        writeComment(settings, { words, comment }, signal),
      );
    },
  };
}

/**
 * Asks the client for its login at the host that it comments at. Without a host it would test every account, and fail for
 * one that no comment needs. Another client may lack this command; then the first comment shows whether it is logged in.
 */
async function verifyLogin(settings: GithubCommentSettings, signal: AbortSignal): Promise<VerifyOutcome> {
  const host = settings.scope.get('GH_HOST');
  const answer = await askLogin(settings, host ?? commonHost, signal);
  if ('kind' in answer) return answer;
  if (answer.code === 0 || hostsOf(answer.said).size > 0 || !noAccount.test(answer.said))
    return readLogin(settings, answer);
  // If it has logins at one host only, it comments there.
  const all = host === undefined ? await askLogin(settings, undefined, signal) : answer;
  if ('kind' in all) return all;
  return hostsOf(all.said).size === 1 ? readLogin(settings, all) : loggedOut(settings);
}

interface LoginAnswer {
  readonly code: number | null;
  readonly said: string;
}

async function askLogin(
  settings: GithubCommentSettings,
  host: string | undefined,
  signal: AbortSignal,
): Promise<LoginAnswer | VerifyOutcome> {
  const words = ['auth', 'status', ...(host === undefined ? [] : ['--hostname', host])];
  const result = await runClient(settings, { words, text: '' }, signal);
  if (result.kind === 'missing') return missingClient(settings.command, result.cause) as VerifyOutcome;
  if (result.kind !== 'exited')
    return transient(named('the client did not say whether it is logged in')) as VerifyOutcome;
  return { code: result.code, said: `${result.stdout}\n${result.stderr}` };
}

/** The hosts for which an account is listed. */
function hostsOf(said: string): ReadonlySet<string | undefined> {
  return new Set([...said.matchAll(/log(?:ged)? in to (\S+)/gi)].map(([, name]) => name));
}

/** If one host has several accounts, only the active one writes comments. */
function readLogin(settings: GithubCommentSettings, { code, said }: LoginAnswer): VerifyOutcome {
  const accounts = said.split(/^(?=.*(?:logged|log) in to \S)/im);
  const active = accounts.filter((account) => /active account: true/i.test(account)).join('\n') || said;
  if (/token .*invalid|failed to log in|auth(?:entication)? failed/i.test(active)) return loggedOut(settings);
  if (complaints.some(([words, meaning]) => meaning === 'transient' && words.test(active)))
    return transient(named('the client did not reach its host')) as VerifyOutcome;
  const account = /logged in to \S+ (?:account|as) (\S+)/i.exec(active)?.[1];
  if (code === 0 || account !== undefined) return verifiedAs(account);
  return { kind: 'unverifiable', reason: "the client's login shows with the first comment" };
}

function loggedOut({ command }: GithubCommentSettings): VerifyOutcome {
  return refused(
    `the client is not logged in; run \`${command} auth login\` as the gateway's user`,
    'auth',
  ) as VerifyOutcome;
}

function runClient(
  { command, cwd, scope, timeoutMs }: GithubCommentSettings,
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

function missingClient(command: string, cause: string | undefined): SendOutcome {
  if (cause !== undefined) return refused(`"${command}" could not be started: ${cause}`);
  return refused(
    `"${command}" was not found in the gateway's PATH; install it there and log in with \`${command} auth login\``,
  );
}

async function writeComment(
  settings: GithubCommentSettings,
  { words, comment }: { readonly words: readonly string[]; readonly comment: string },
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { command, timeoutMs } = settings;
  const result = await runClient(settings, { words, text: comment }, signal);
  switch (result.kind) {
    case 'exited':
      return exitOutcome(result.code, result.stdout.trim(), endOf(result.stderr, keptReason));
    case 'missing':
      return missingClient(command, result.cause);
    case 'notBegun':
      return transient(`"${command}" could not be started: ${result.cause}`);
    case 'flooded':
      return unknown(`"${command}" printed more than expected and was ended`);
    case 'timedOut':
      return unknown(`"${command}" gave no answer within ${timeoutMs / 1_000} s`);
    case 'aborted':
      return unknown(`"${command}" was stopped before it answered`);
  }
}

function exitOutcome(code: number | null, stdout: string, stderr: string): SendOutcome {
  if (code === 0) return stdout === '' ? { kind: 'delivered' } : { kind: 'delivered', messageId: stdout };
  if (code === 4)
    return refused(`the client is not logged in; run \`gh auth login\` as the gateway's user: ${stderr}`, 'auth');
  // A client that was ended by a signal may already have sent the comment.
  if (code === null || code > signalled) return unknown('the client was killed before it answered');
  const cure = /resolve to a PullRequest/i.test(stderr) ? '; for an issue, deliver_extra.kind must be "issue"' : '';
  const reason = `the client exited with ${code}: ${stderr}${cure}`;
  const meaning = complaints.find(([words]) => words.test(stderr))?.[1] ?? 'permanent';
  switch (meaning) {
    case 'rateLimited':
      return { kind: 'rateLimited', retryAfterMs: limitedMs, reason: named(reason) };
    case 'transient':
      return transient(named(reason));
    case 'unknown':
      return unknown(reason);
    default:
      return refused(reason, meaning);
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

function refused(reason: string, refusal: RefusalClass = 'permanent'): SendOutcome {
  return refusedAs(refusal, named(reason));
}

function unknown(reason: string): SendOutcome {
  return unknownOutcome(named(reason));
}

function named(reason: string): string {
  return `github_comment: ${reason}`;
}
