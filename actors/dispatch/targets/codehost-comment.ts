/**
 * Comments on a pull request or an issue of a code host through the host's own command-line client. The text goes in on
 * standard input: no argument limit, nothing in the process list, no shell.
 * @see DLV-3 in docs/specification.md
 */

import { cut, type Json } from '../../../machines/base/json.ts';
import type { DeliveryOutcome, DeliveryTarget } from '../../ports.ts';
import { endOf, runCommand, scrubbedEnv } from '../../process-group.ts';

export interface CodehostSettings {
  /** The client; `gh` unless configured. */
  readonly command: string;
  readonly cwd: string;
  readonly timeoutMs: number;
  /** The profile's `.env`, where GH_TOKEN and GH_HOST may stand. */
  readonly scope: ReadonlyMap<string, string>;
}

/** Neither part begins like a flag or is made of dots alone. */
const repoPattern = /^(?!\.+\/)[\w.][\w.-]*\/(?!\.+$)[\w.][\w.-]*$/;
const numberPattern = /^[1-9]\d{0,9}$/;
/** The host refuses longer comments. */
const longestComment = 65_536;
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

export function createCodehostTarget(settings: CodehostSettings): DeliveryTarget {
  return {
    deduplicates: false,
    async deliver({ text, extra }, signal) {
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
      const kind = extra.kind === 'issue' ? 'issue' : 'pr';
      const result = await runCommand({
        argv: [settings.command, kind, 'comment', number, '--repo', repo, '--body-file', '-'],
        cwd: settings.cwd,
        env: scrubbedEnv({ ...ofTheHost(), ...Object.fromEntries(settings.scope), GH_PROMPT_DISABLED: '1' }),
        stdin: cut(text, longestComment),
        timeoutMs: settings.timeoutMs,
        maxOutputBytes,
        signal,
      });
      switch (result.kind) {
        case 'exited':
          return exitOutcome(result.code, result.stdout.trim(), endOf(result.stderr, keptReason));
        case 'missing':
          if (result.cause !== undefined) return refused(`"${settings.command}" could not be started: ${result.cause}`);
          return refused(
            `"${settings.command}" was not found; install it on the gateway's host and log in with \`${settings.command} auth login\``,
          );
        case 'flooded':
          return { kind: 'unknown', reason: `"${settings.command}" printed more than expected and was ended` };
        case 'timedOut':
          return {
            kind: 'unknown',
            reason: `"${settings.command}" gave no answer within ${settings.timeoutMs / 1_000} s`,
          };
        case 'aborted':
          return { kind: 'unknown', reason: `"${settings.command}" was stopped before it answered` };
      }
    },
  };
}

function exitOutcome(code: number | null, stdout: string, stderr: string): DeliveryOutcome {
  if (code === 0) return stdout === '' ? { kind: 'delivered' } : { kind: 'delivered', messageId: stdout };
  if (code === 4) return refused(`the client is not logged in; run \`gh auth login\` as the gateway's user: ${stderr}`);
  // A client that a signal ended may have sent the comment before.
  if (code === null || code > signalled) return { kind: 'unknown', reason: 'the client was killed before it answered' };
  return refused(`the client exited with ${code}: ${stderr}`);
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

function refused(reason: string): DeliveryOutcome {
  return { kind: 'failed', reason: `codehost_comment: ${reason}` };
}
