/** Fills the holes of the call chart: the registry's answer, the question to a person, the way to the server, the call. */

import { type AnyActorRef, assign } from 'xstate';
import type { CallLanes } from '../../actors/mcp/call-lanes.ts';
import type { CallOutcome } from '../../actors/mcp/call-outcome.ts';
import type { Session } from '../../actors/mcp/session.ts';
import { checkOf } from '../../actors/mcp/validate-arguments.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { cut, isJsonObject, type Json } from '../../machines/base/json.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { BreakerEvent } from '../../machines/mcp/retry-plan.ts';
import type { ConnectionContext, ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import {
  type CallContext,
  type CallEvent,
  type CallVerdict,
  type Resolution,
  toolCallMachine,
} from '../../machines/mcp/tool-call.machine.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import { shapeResult } from '../../machines/mcp/tool-result.ts';
import { needsApproval } from '../../machines/mcp/trust.ts';
import { loginCommand } from '../../machines/oauth/login-hint.ts';
import type { Approvals } from '../mcp/approvals.ts';
import type { Calls, LiveCall } from '../mcp/calls.ts';
import type { Reach } from '../mcp/reach.ts';
import type { RegisteredTool, Registry } from '../mcp/registry.ts';
import { connectionKey, type Sessions } from '../mcp/sessions.ts';
import type { Redactor } from '../redact.ts';

export interface ToolCallPorts {
  readonly calls: Calls;
  readonly sessions: Sessions;
  readonly approvals: Approvals;
  readonly reach: Reach;
  readonly lanes: CallLanes;
  readonly registry: (profile: string) => Registry | undefined;
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly connections: () => WardHandle<ConnectionInput>;
  /** The next login to the server asks for this scope too. */
  readonly demandScope: (profile: string, server: string, scope: string) => void;
  readonly redactor: Redactor;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** How long a person has for a yes to a call. */
const approvalTimeoutMs = 300_000;
/** Stopping the session and starting it again comes before a connect, and a queue of others may. */
const reachSlackMs = 30_000;
/** Of a tool's description, as much as a person reads. */
const longestDescription = 2_000;

export function wireToolCall(ports: ToolCallPorts) {
  return toolCallMachine.provide({
    actions: {
      resolveTool: assign<CallContext, CallEvent, unknown, CallEvent, never>(({ context }) => {
        const found = resolve(context, ports);
        return found.kind === 'refused' ? { fault: found.fault } : found;
      }),
      askApproval: ({ context, self }) => {
        const row = ports.calls.get(context.id);
        if (row === undefined) return;
        const tool = ports.registry(context.profile)?.find(context.name);
        row.approval = ports.approvals.ask(
          {
            profile: context.profile,
            server: context.server ?? '',
            ...(context.run === undefined ? {} : { run: context.run }),
            kind: 'tool',
            tool: context.name,
            message: ports.redactor.text(cut(String(tool?.definition.description ?? ''), longestDescription)),
            detail: ports.redactor.value(row.request.args) as Json,
            timeoutMs: approvalTimeoutMs,
          },
          ({ verdict }) => self.send({ type: 'approval.settled', verdict }),
        );
      },
      withdrawApproval: ({ context }) => {
        const approval = ports.calls.get(context.id)?.approval;
        if (approval !== undefined) ports.approvals.withdraw(approval);
      },
      reachServer: ({ context, self }) => ports.reach.wait(keyOf(context), { id: context.id, send: self.send }),
      sendCall: ({ context, self }) =>
        sendCall(context, ports, (verdict) => self.send({ type: 'call.answered', verdict })),
      abandonCall: ({ context }) => ports.calls.get(context.id)?.abandon?.(),
    },
  });
}

function resolve({ id, profile, name }: CallContext, ports: ToolCallPorts): Resolution {
  const tool = ports.registry(profile)?.find(name);
  const settings = tool === undefined ? undefined : ports.settings(profile, tool.server);
  if (tool === undefined || settings === undefined) {
    const message = `no tool is named "${name}"; \`agent mcp tools\` lists them`;
    return { kind: 'refused', fault: { code: 'unknown_tool', message } };
  }
  const wrong = checkArguments(tool, ports.calls.get(id)?.request.args ?? {});
  if (wrong !== undefined)
    return { kind: 'refused', fault: { code: 'invalid_arguments', message: `${name}: ${wrong}` } };
  const { annotations } = tool.definition;
  const hints = isJsonObject(annotations) ? annotations : undefined;
  return {
    kind: 'found',
    server: tool.server,
    tool: tool.tool,
    readOnly: hints?.readOnlyHint === true,
    asks: needsApproval(settings.trust, hints),
    reached: ports.reach.isReached(connectionKey(profile, tool.server)),
    reachMs: settings.connectTimeoutMs + reachSlackMs,
  };
}

function checkArguments({ definition }: RegisteredTool, args: Parameters<ReturnType<typeof checkOf>>[0]) {
  const { inputSchema } = definition;
  return isJsonObject(inputSchema) ? checkOf(inputSchema)(args) : undefined;
}

/** Gives a call its turn and its session, and says once what came of it. */
function sendCall(context: CallContext, ports: ToolCallPorts, tell: (verdict: CallVerdict) => void): void {
  const key = keyOf(context);
  const row = ports.calls.get(context.id);
  const tool = ports.registry(context.profile)?.find(context.name);
  const settings = ports.settings(context.profile, context.server ?? '');
  if (row === undefined || tool === undefined || settings === undefined) {
    const message = `the tool "${context.name}" is gone; \`agent mcp tools\` lists what there is`;
    tell({ kind: 'failed', fault: { code: 'unknown_tool', message } });
    return;
  }
  const work = (settle: (outcome: CallOutcome) => void): (() => void) => {
    const session = ports.sessions.get(key);
    if (session === undefined) {
      settle({ kind: 'lost', dispatched: false, why: 'the connection was lost before the call' });
      return () => {};
    }
    const connection = ports.connections().get(key);
    const number = numberOf(connection);
    const { args } = row.request;
    row.sentTo = key;
    connection?.send({ type: 'call.began', atMs: ports.nowMs() });
    const ended = (outcome: CallOutcome): void => {
      row.sentTo = undefined;
      connection?.send({ type: 'call.ended', session: number, reading: readingOf(outcome, ports.nowMs()) });
      tellLoss(outcome, { context, session, ports });
      settle(outcome);
    };
    return tool.kind === 'utility'
      ? session.callUtility(tool.tool as Utility, args, row.request, ended)
      : session.call(tool.tool, args, row.request, ended);
  };
  row.abandon = ports.lanes.run({ server: key, parallel: settings.parallel }, work, (outcome) => {
    tell(verdictOf(outcome, { context, cap: settings.resultCap, row, log: ports.log }));
  });
}

/** What a call found out about its session, its connection hears. */
function tellLoss(
  outcome: CallOutcome,
  {
    context,
    session,
    ports,
  }: { readonly context: CallContext; readonly session: Session; readonly ports: ToolCallPorts },
): void {
  const key = keyOf(context);
  switch (outcome.kind) {
    case 'needsScope':
      if (outcome.scope !== undefined) ports.demandScope(context.profile, context.server ?? '', outcome.scope);
      return;
    case 'expired':
      ports.sessions.lose(key, { kind: 'expired' }, session);
      return;
    case 'unauthorized':
      // The next attempt to connect finds out whether a login is needed, and says so.
      ports.sessions.lose(key, { kind: 'broken', why: 'its credentials are refused' }, session);
      return;
    case 'lost':
      ports.sessions.lose(key, { kind: 'broken', why: outcome.why }, session);
      return;
    default:
      return;
  }
}

interface Answered {
  readonly context: CallContext;
  readonly cap: number;
  readonly row: LiveCall;
  readonly log: Logger;
}

/** Never throws: who waits for the call must hear of it. */
function verdictOf(outcome: CallOutcome, answered: Answered): CallVerdict {
  const { context } = answered;
  if (outcome.kind !== 'result') return verdictWithout(outcome, context);
  try {
    keepResult(outcome.result, answered);
    return { kind: 'answered' };
  } catch (thrown) {
    answered.log.log(
      'error',
      `mcp server "${context.server}": ${context.name}: its result: ${causeOf(thrown)}`,
      fieldsOf(context),
    );
    const message = 'the call crashed in the gateway; see the log';
    return { kind: 'failed', fault: { code: 'outcome_uncertain', message } };
  }
}

function fieldsOf({ server, profile, run, id }: CallContext): Record<string, unknown> {
  return { server, profile, run, actor: `calls/${id}` };
}

function keepResult(given: Json, { context, cap, row, log }: Answered): void {
  const { result, notes } = shapeResult(given, cap);
  for (const note of notes) {
    log.log('warn', `mcp server "${context.server}": ${context.name}: ${note}`, fieldsOf(context));
  }
  row.result = result;
}

function verdictWithout(outcome: Exclude<CallOutcome, { readonly kind: 'result' }>, context: CallContext): CallVerdict {
  const place = `mcp server "${context.server}"`;
  const command = loginCommand(context.server ?? '', context.profile);
  switch (outcome.kind) {
    case 'refused':
      return { kind: 'failed', fault: { code: 'rpc_error', message: `${place}: ${context.name}: ${outcome.message}` } };
    case 'unauthorized': {
      const message = `${place}: the server refuses the credentials; run \`${command}\`, or check headers`;
      return { kind: 'failed', fault: { code: 'needs_login', message } };
    }
    case 'needsScope': {
      const message = `${place}: ${context.name} needs the scope ${JSON.stringify(outcome.scope ?? '')}; run \`${command}\``;
      return { kind: 'failed', fault: { code: 'needs_login', message } };
    }
    case 'timedOut': {
      const message = `${place}: ${context.name} had no answer in ${outcome.afterMs / 1_000} s and was cancelled; raise timeout`;
      return { kind: 'failed', fault: { code: 'timed_out', message } };
    }
    case 'cancelled':
      return { kind: 'failed', fault: { code: 'cancelled', message: `${context.name} was cancelled` } };
    case 'expired':
      return { kind: 'lost', dispatched: true, why: 'its session had expired' };
    case 'lost':
      return { kind: 'lost', dispatched: outcome.dispatched, why: outcome.why };
  }
}

/** What the end of a call says of the transport; a slow tool and a cancelled call say nothing. */
function readingOf(outcome: CallOutcome, nowMs: number): BreakerEvent | null {
  switch (outcome.kind) {
    case 'result':
    case 'refused':
    case 'unauthorized':
    case 'needsScope':
    case 'expired':
      return { kind: 'answered' };
    case 'lost':
      return { kind: 'transportFailed', nowMs };
    case 'timedOut':
    case 'cancelled':
      return null;
  }
}

function keyOf({ profile, server }: CallContext): string {
  return connectionKey(profile, server ?? '');
}

/** Which session a connection has now. */
function numberOf(connection: AnyActorRef | undefined): number {
  const snapshot = connection?.getSnapshot() as { readonly context: ConnectionContext } | undefined;
  return snapshot?.context.session ?? 0;
}
