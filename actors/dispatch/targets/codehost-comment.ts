/**
 * Comments on a pull request or an issue of a code host through the host's own command-line client. The text goes in on
 * standard input: no argument limit, nothing in the process list, no shell.
 * @see DLV-3 in docs/specification.md
 */

import type { Json } from '../../../machines/base/json.ts';
import {
  type RefusalClass,
  refused as refusedAs,
  type SendOutcome,
  transient,
  unknownOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { messagesOf } from '../../../machines/dispatch/split-text.ts';
import type { DeliveryTarget } from '../../ports.ts';
import { endOf, runCommand, scrubbedEnv } from '../../process-group.ts';
import { type Sending, sendPieces } from './send-pieces.ts';

export interface CodehostSettings {
  /** The client; `gh` unless configured. */
  readonly command: string;
  readonly cwd: string;
  readonly timeoutMs: number;
  /** The profile's `.env`, where GH_TOKEN and GH_HOST may stand. */
  readonly scope: ReadonlyMap<string, string>;
  readonly wait: Sending['wait'];
}

/** Neither part begins like a flag or is made of dots alone. */
const repoPattern = /^(?!\.+\/)[\w.][\w.-]*\/(?!\.+$)[\w.][\w.-]*$/;
const numberPattern = /^[1-9]\d{0,9}$/;
/** The host refuses longer comments. */
const limit = { most: 65_536, unit: 'utf16' } as const;
/** Nobody reads more under one pull request. */
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
const keptReason = 300;
/** A shell's code for a command that a signal ended is this and the signal's number. */
const signalled = 128;
/** The host answers a burst of comments with its secondary limit, and asks for a minute. */
const limitedMs = 60_000;

/** What the client says where it fails, first match first. Whatever is not here is a refusal. */
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

export function createCodehostTarget(settings: CodehostSettings): DeliveryTarget {
  return {
    placeOf({ repo, pr_number }) {
      const number = numberOf(pr_number);
      return typeof repo === 'string' && number !== undefined ? `${repo}#${number}` : undefined;
    },
    deduplicatesForMs: () => 0,
    async deliver({ text, extra, sent, pace }, signal) {
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
      if (text.length > limit.most * mostComments) {
        const most = `${mostComments} comments of ${limit.most} are written at most`;
        return refused(`a text of ${text.length} characters is too long; ${most}`, 'tooLong');
      }
      const comments = messagesOf(text, limit);
      if (comments.length === 0) return refused('the text is empty, and the host takes no empty comment');
      const words = [extra.kind === 'issue' ? 'issue' : 'pr', 'comment', number, '--repo', repo, '--body-file', '-'];
      return sendPieces(comments, { sent, wait: settings.wait, signal, pace }, (comment) =>
        writeComment(settings, { words, comment }, signal),
      );
    },
  };
}

async function writeComment(
  { command, cwd, scope, timeoutMs }: CodehostSettings,
  { words, comment }: { readonly words: readonly string[]; readonly comment: string },
  signal: AbortSignal,
): Promise<SendOutcome> {
  const result = await runCommand({
    argv: [command, ...words],
    cwd,
    env: scrubbedEnv({ ...ofTheHost(), ...Object.fromEntries(scope), GH_PROMPT_DISABLED: '1' }),
    stdin: comment,
    timeoutMs,
    maxOutputBytes,
    signal,
  });
  switch (result.kind) {
    case 'exited':
      return exitOutcome(result.code, result.stdout.trim(), endOf(result.stderr, keptReason));
    case 'missing':
      if (result.cause !== undefined) return refused(`"${command}" could not be started: ${result.cause}`);
      return refused(
        `"${command}" was not found; install it on the gateway's host and log in with \`${command} auth login\``,
      );
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
  // A client that a signal ended may have sent the comment before.
  if (code === null || code > signalled) return unknown('the client was killed before it answered');
  const reason = `the client exited with ${code}: ${stderr}`;
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

/** What the client needs to find its login and its way out; tokens come from the profile alone (PRF-2). */
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
  return `codehost_comment: ${reason}`;
}
