/**
 * Runs any headless agent program: the prompt on its standard input, the response from its standard output.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { AgentRunner } from '../ports.ts';
import { endOf, runCommand, scrubbedEnv } from '../process-group.ts';

export interface CommandRunnerSettings {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The profile's `.env`, which the program sees: it needs its keys. */
  readonly scope: ReadonlyMap<string, string>;
  /** Writes the file that offers the supervised tools and returns its path; rejects where it cannot be written. */
  readonly mcpConfig?: () => Promise<string>;
}

const maxResponseBytes = 10 * 1_048_576;
/** The run's own time limit comes with the signal; this one only has to be longer. */
const longestMs = 2_147_483_647;
const keptReason = 500;

export function createCommandRunner({ command, cwd, scope, mcpConfig }: CommandRunnerSettings): AgentRunner {
  return async (request, signal) => {
    let tools: string | undefined;
    try {
      tools = await mcpConfig?.();
    } catch (thrown) {
      return { kind: 'failed', reason: `the file that AGENT_MCP_CONFIG names cannot be written: ${causeOf(thrown)}` };
    }
    const result = await runCommand({
      argv: command,
      cwd,
      env: scrubbedEnv({
        ...Object.fromEntries(scope),
        AGENT_RUN_ID: request.runId,
        AGENT_DELIVERY_ID: request.deliveryId,
        AGENT_ROUTE: request.route,
        AGENT_EVENT: request.event,
        AGENT_PROFILE: request.profile,
        AGENT_ATTEMPT: String(request.attempt),
        AGENT_TOOLSETS: request.toolsets.join(','),
        ...(request.traceparent === undefined ? {} : { TRACEPARENT: request.traceparent }),
        ...(tools === undefined ? {} : { AGENT_MCP_CONFIG: tools }),
      }),
      stdin: request.prompt,
      timeoutMs: longestMs,
      maxOutputBytes: maxResponseBytes,
      signal,
    });
    switch (result.kind) {
      case 'exited':
        if (result.code === 0) return { kind: 'responded', response: result.stdout.trimEnd() };
        return {
          kind: 'failed',
          reason: `the agent command exited with ${result.code ?? 'a signal'}${tail(result.stderr)}`,
        };
      case 'missing':
        return { kind: 'failed', reason: `agent.command: "${command[0] ?? ''}" ${notStarted(result.cause)}` };
      case 'flooded':
        return { kind: 'failed', reason: `the agent command printed more than ${maxResponseBytes} bytes` };
      case 'timedOut':
      case 'aborted':
        return { kind: 'failed', reason: 'the agent command was stopped' };
    }
  };
}

function tail(stderr: string): string {
  const text = endOf(stderr, keptReason);
  return text === '' ? '' : `: ${text}`;
}

function notStarted(cause: string | undefined): string {
  return cause === undefined ? 'was not found or cannot be executed' : `could not be started: ${cause}`;
}
