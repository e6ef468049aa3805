/**
 * Runs any headless agent program: the prompt on its standard input, the response from its standard output.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { stripVTControlCharacters } from 'node:util';
import { causeOf } from '../../machines/base/fault.ts';
import { cut } from '../../machines/base/json.ts';
import { maxTimerMs } from '../../machines/base/timer.ts';
import { asArgument, runVariables, senderVariables } from '../../machines/config/program-variables.ts';
import { joinGlobs } from '../../machines/mcp/glob.ts';
import { isExhausted } from '../exhaustion.ts';
import { isDiskRefusal } from '../files.ts';
import type { AgentRunner, AgentRunOutcome, AgentRunRequest } from '../ports.ts';
import { endOf, runCommand, scrubbedEnv } from '../process-group.ts';
import { type RunFiles, type RunFilesSettings, writeRunFiles } from './run-files.ts';

export interface CommandRunnerSettings {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The variables that the profile gives its program. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the files of a run are written, and what goes into them. */
  readonly files: RunFilesSettings;
}

const maxResponseBytes = 10 * 1_048_576;
const keptReason = 500;
const nameable = new RegExp(`\\$\\{(${runVariables.join('|')})\\}`, 'g');
/** Characters per variable: far below the limits of the systems for starting a program, far above any real value. */
const maxVariableLength = 16_384;

export function createCommandRunner(settings: CommandRunnerSettings): AgentRunner {
  return async (request, signal) => {
    let files: RunFiles;
    try {
      files = await writeRunFiles(settings.files, request);
    } catch (thrown) {
      const kind = isExhausted(thrown) || isDiskRefusal(thrown) ? 'notBegun' : 'failed';
      return { kind, reason: `the files of the run cannot be written: ${causeOf(thrown)}` };
    }
    try {
      return await runProgram(settings, request, { files, signal });
    } finally {
      await files.remove();
    }
  };
}

async function runProgram(
  { command, cwd, env }: CommandRunnerSettings,
  request: AgentRunRequest,
  { files, signal }: { readonly files: RunFiles; readonly signal: AbortSignal },
): Promise<AgentRunOutcome> {
  const variables = startable({
    AGENT_RUN_ID: request.runId,
    AGENT_DELIVERY_ID: request.deliveryId,
    AGENT_ROUTE: request.route,
    AGENT_EVENT: request.event,
    AGENT_PROFILE: request.profile,
    AGENT_ATTEMPT: String(request.attempt),
    AGENT_TOOLSETS: joinGlobs(request.toolsets),
    AGENT_MCP_CONFIG: files.mcpConfig,
    AGENT_PROMPT_FILE: files.prompt,
    // The program's own `agent` commands speak to this gateway, as this run.
    AGENT_SOCKET: files.socket,
    ...(request.model === undefined ? {} : { AGENT_MODEL: request.model }),
    ...(request.traceparent === undefined ? {} : { TRACEPARENT: request.traceparent }),
  });
  const result = await runCommand({
    argv: command.map((word) => withVariables(word, variables)),
    cwd,
    env: scrubbedEnv({ ...env, ...variables }),
    stdin: request.prompt,
    ...(request.handOver === undefined ? {} : { before: request.handOver }),
    // The signal carries the run's own time limit; this one only has to be longer.
    timeoutMs: maxTimerMs,
    maxOutputBytes: maxResponseBytes,
    signal,
  });
  switch (result.kind) {
    case 'exited':
      if (result.code === 0) return { kind: 'responded', response: plainText(result.stdout) };
      return {
        kind: 'failed',
        reason: `the agent command exited with ${result.code ?? 'a signal'}${endOfOutput(result)}${withoutInterpreter(result.stderr, command)}`,
      };
    case 'missing':
      return { kind: 'failed', reason: `agent.command: "${command[0] ?? ''}" ${notStarted(result.cause)}` };
    case 'notBegun':
      return { kind: 'notBegun', reason: `agent.command: "${command[0] ?? ''}" ${notStarted(result.cause)}` };
    case 'flooded':
      return { kind: 'failed', reason: `the agent command printed more than ${maxResponseBytes} bytes` };
    case 'timedOut':
    case 'aborted':
      return { kind: 'failed', reason: 'the agent command was stopped', printed: endOfOutput(result) };
  }
}

/** What a program printed, without a byte order mark, white space at its end, and what is meant for a terminal. */
function plainText(printed: string): string {
  return stripVTControlCharacters(printed.replace(/^\ufeff/, '')).trimEnd();
}

/**
 * Senders choose some of the values. A zero byte or a huge value would keep the program from starting, so zero bytes are
 * removed and long values cut.
 */
function startable(variables: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(variables);
  return Object.fromEntries(entries.map(([name, value]) => [name, cut(value.replaceAll('\0', ''), maxVariableLength)]));
}

/** No shell is involved, so variables are substituted here, in one pass: a substituted value is not expanded again. */
function withVariables(word: string, variables: Readonly<Record<string, string>>): string {
  return word.replace(nameable, (_, name: string) => {
    const value = variables[name] ?? '';
    return senderVariables.has(name) ? asArgument(value) : value;
  });
}

/** Claude Code prints on standard output that its key is refused. */
function endOfOutput({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  return tail(stderr) || tail(stdout);
}

function tail(stderr: string): string {
  const text = endOf(plainText(stderr), keptReason);
  return text === '' ? '' : `: ${text}`;
}

/** It was looked for before it was started, so the shell means the program of its first line. */
function withoutInterpreter(stderr: string, [program = '']: readonly string[]): string {
  const line = stderr.trimEnd().split('\n').at(-1) ?? '';
  return line.startsWith('sh: ') && line.includes(` ${program}: `) && /not found$|no such file/i.test(line)
    ? '; the program of its first line (#!) is not there, or that line ends with a carriage return'
    : '';
}

function notStarted(cause: string | undefined): string {
  return cause === undefined
    ? "was not found in the gateway's PATH or cannot be executed; install it, or give its full path"
    : `could not be started: ${cause}`;
}
