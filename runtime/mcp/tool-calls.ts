/** Provides the effects of the call chart: resolving the tool, the question to a person, reaching the server, the call. */

import { assign } from 'xstate';
import type { CallOutcome } from '../../actors/mcp/call-outcome.ts';
import type { CallQueues } from '../../actors/mcp/call-queues.ts';
import { createSchemaTime, type SchemaTime } from '../../actors/mcp/schema-time.ts';
import type { Session } from '../../actors/mcp/session.ts';
import {
  type ArgumentVerdict,
  checkArguments,
  createKnownChecks,
  type KnownChecks,
} from '../../actors/mcp/validate-arguments.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { cut, defined, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { type ApprovalRule, isCovered } from '../../machines/mcp/approval-rules.ts';
import {
  type CallFault,
  noSuchTool,
  notOffered,
  toolIsGone,
  toolKeepsChanging,
  unavailable,
  uncheckedArguments,
  unclear,
} from '../../machines/mcp/call-faults.ts';
import { shapeOffer } from '../../machines/mcp/offer-result.ts';
import { isOfferList } from '../../machines/mcp/offers.ts';
import type { BreakerEvent } from '../../machines/mcp/retry-plan.ts';
import { oauthPlanOf, type ServerSettings } from '../../machines/mcp/server-settings.ts';
import {
  type CallContext,
  type CallEvent,
  type CallVerdict,
  type Resolution,
  toolCallMachine,
} from '../../machines/mcp/tool-call.machine.ts';
import { shapeResult } from '../../machines/mcp/tool-result.ts';
import { needsApproval } from '../../machines/mcp/trust.ts';
import { aboutServer, describeLoginNeed, loginCommand } from '../../machines/oauth/login-hint.ts';
import { lackWords } from '../../machines/oauth/scope.ts';
import type { Redactor } from '../observe/redact.ts';
import type { Approvals, AskedCall } from './approvals.ts';
import type { CallRequest, Calls, LiveCall } from './calls.ts';
import { askerOf } from './calls.ts';
import type { Reach } from './reach.ts';
import type { RegisteredTool, Registry } from './registry.ts';
import { callBySession, type SessionCall, type SessionCallPorts } from './session-calls.ts';
import { connectionKey } from './sessions.ts';

interface ToolCallPorts extends SessionCallPorts {
  readonly calls: Calls;
  readonly approvals: Approvals;
  readonly reach: Reach;
  readonly queues: CallQueues;
  readonly registry: (profile: string) => Registry | undefined;
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly rules: (profile: string, server: string) => readonly ApprovalRule[];
  /** Adds the scope to the request of the next login to the server. */
  readonly demandScope: (profile: string, server: string, scope: string) => void;
  /** Why the credentials of a server do not work; undefined if there are none, or no problem is known. */
  readonly loginProblem: (profile: string, server: string) => string | undefined;
  /** The scope of a server's token; undefined if it is not known. */
  readonly grantedScope: (profile: string, server: string) => string | undefined;
  readonly redactor: Redactor;
  readonly nowMs: () => number;
  /** The clock for the processor time of schemas; that of this thread unless given. */
  readonly cpuTimeMs?: () => number;
  readonly log: Logger;
}

/** How long an approval may take. */
const approvalTimeoutMs = 300_000;
/** Time beyond the connect timeout, for closing and starting the session and for a queue of other starts. */
const reachSlackMs = 30_000;
/** A tool that changes after every approval is refused. */
const maxQuestions = 2;
/** Characters of a tool's description in a question. */
const maxDescriptionLength = 2_000;

interface Wired extends ToolCallPorts {
  /** The lost sessions that were counted for the breaker. */
  readonly counted: WeakSet<Session>;
  /** The time budget and the compiled schemas of each server by its settings, kept across sessions and listings. */
  readonly schemas: WeakMap<ServerSettings, { readonly time: SchemaTime; readonly known: KnownChecks }>;
}

export function wireToolCall(given: ToolCallPorts) {
  const ports: Wired = { ...given, counted: new WeakSet(), schemas: new WeakMap() };
  return toolCallMachine.provide({
    actions: {
      resolveTool: assign<CallContext, CallEvent, unknown, CallEvent, never>(({ context }) => resolve(context, ports)),
      askApproval: ({ context, self }) => {
        const row = ports.calls.get(context.id);
        if (row === undefined) return;
        const tool = ports.registry(context.profile)?.find(context.name);
        const askedAtMs = ports.nowMs();
        row.approval = ports.approvals.ask(
          {
            profile: context.profile,
            server: context.server ?? '',
            ...askerOf(row.request),
            kind: 'tool',
            tool: context.name,
            message: cut(ports.redactor.text(String(tool?.definition.description ?? '')), maxDescriptionLength),
            detail: ports.redactor.value(row.request.args) as Json,
            timeoutMs: approvalTimeoutMs,
            ...(tool === undefined ? {} : { call: askedCallOf(tool, row.request) }),
          },
          ({ verdict, note }) => {
            row.question = { askedAtMs, answeredAtMs: ports.nowMs(), verdict };
            self.send({ type: 'approval.settled', verdict, note });
          },
        );
        const question = row.approval;
        ports.calls.waits(context.id, question, () => ports.approvals.show(question) !== undefined);
      },
      reachServer: ({ context, self }) => {
        ports.reach.wait(keyOf(context), { id: context.id, isSentAgain: context.tries > 0, send: self.send });
      },
      sendCall: ({ context, self }) =>
        sendCall(context, ports, (verdict) => self.send({ type: 'call.answered', verdict })),
      takeBack: ({ context }) => ports.calls.takeBack(context.id),
    },
  });
}

/** Resolves the call again if its tool has changed; otherwise this costs one look-up in a map. */
function resolve(context: CallContext, ports: Wired): Partial<CallContext> {
  const { id, profile, name } = context;
  const row = ports.calls.get(id);
  const tool = ports.registry(profile)?.find(name);
  if (tool !== undefined && tool === row?.tool) return { reached: isReached(tool, context, ports) };
  const found = find(context, tool, ports);
  if (found.kind === 'refused') return { fault: found.fault };
  if (row !== undefined && found.kind === 'found') row.tool = tool;
  return found;
}

function find(context: CallContext, tool: RegisteredTool | undefined, ports: Wired): Resolution {
  const { id, profile } = context;
  const settings = tool === undefined ? undefined : ports.settings(profile, tool.server);
  const row = ports.calls.get(id);
  if (tool === undefined || settings === undefined) return findLater(context, ports);
  if (row?.request.allows?.(tool) === false) return { kind: 'refused', fault: notOffered(context.name) };
  // A tool of the server has taken the utility's name.
  if (row?.request.method !== undefined && tool.kind !== 'utility')
    return { kind: 'refused', fault: toolIsGone({ ...context, server: tool.server }) };
  // The approval, and the caller's choice, were for that server's tool.
  const before = row?.tool;
  if (before !== undefined && !isSame(before, tool)) return { kind: 'refused', fault: toolIsGone(context) };
  // The approval was for the tool as a person saw it.
  const isOutdated = context.approved && before !== undefined && isOtherwise(before, tool);
  if (isOutdated && context.questions >= maxQuestions) return { kind: 'refused', fault: toolKeepsChanging(context) };
  const fault = argumentFault(context, tool, { args: row?.request.args ?? {}, settings, ports });
  if (fault !== undefined) {
    // While the server connects for the first time, its tools may be those of an earlier run of the gateway.
    const { server } = tool;
    const absent = context.server === null ? ports.reach.absentFor(profile, tool.name, row?.request.allows) : undefined;
    return absent?.comes && absent.server === server
      ? { kind: 'awaited', server, reachMs: settings.connectTimeoutMs + reachSlackMs }
      : { kind: 'refused', fault };
  }
  const { annotations } = tool.definition;
  const hints = isJsonObject(annotations) ? annotations : undefined;
  return {
    kind: 'found',
    server: tool.server,
    tool: tool.tool,
    readOnly: hints?.readOnlyHint === true,
    asks: needsApproval(settings.trust, hints) && !isRemembered(tool, context, ports),
    reached: isReached(tool, context, ports),
    reachMs: settings.connectTimeoutMs + reachSlackMs,
    ...(isOutdated ? { approved: false } : {}),
  };
}

/** Waits once for a server that has not listed anything yet; wakes no server, because the name may be wrong. */
function findLater(context: CallContext, ports: ToolCallPorts): Resolution {
  const { id, profile, name, server } = context;
  if (context.tool !== null) return { kind: 'refused', fault: toolIsGone(context) };
  const allows = ports.calls.get(id)?.request.allows;
  const absent = server === null ? ports.reach.absentFor(profile, name, allows) : undefined;
  if (absent === undefined) {
    const known = (): readonly string[] =>
      ports
        .registry(profile)
        ?.all()
        .map((tool) => tool.name) ?? [];
    return { kind: 'refused', fault: allows === undefined ? noSuchTool(name, known()) : notOffered(name) };
  }
  const connectTimeoutMs = ports.settings(profile, absent.server)?.connectTimeoutMs ?? 0;
  if (absent.comes) return { kind: 'awaited', server: absent.server, reachMs: connectTimeoutMs + reachSlackMs };
  return { kind: 'refused', fault: unavailable(`no tool is named "${name}" yet: ${absent.why}`, absent.code) };
}

/** Whether a person has already allowed such a call: for its run, or by a rule of the server's entry. */
function isRemembered(tool: RegisteredTool, { id, profile, run, name }: CallContext, ports: ToolCallPorts): boolean {
  const request = ports.calls.get(id)?.request;
  if (request === undefined) return false;
  if (ports.approvals.isAllowed(run, { server: tool.server, tool: name, definition: tool.definition })) return true;
  return isCovered(ports.rules(profile, tool.server), askedCallOf(tool, request));
}

function askedCallOf({ tool, definition }: RegisteredTool, { args, said }: CallRequest): AskedCall {
  const { annotations } = definition;
  const destructive = isJsonObject(annotations) && annotations.destructiveHint === true;
  return { tool, args, destructive, definition, ...(said === undefined ? {} : { said }) };
}

function isSame(one: RegisteredTool, other: RegisteredTool): boolean {
  return one.server === other.server && one.tool === other.tool && one.kind === other.kind;
}

function isOtherwise(one: RegisteredTool, other: RegisteredTool): boolean {
  return JSON.stringify(one.definition) !== JSON.stringify(other.definition);
}

function isReached({ server }: RegisteredTool, context: CallContext, ports: ToolCallPorts): boolean {
  // A connection sends this event during its transition, before its snapshot shows the new state.
  if (context.reached && context.server === server) return true;
  return ports.reach.isReached(connectionKey(context.profile, server));
}

/** Why these arguments must not be sent; undefined if they match the tool's input schema. */
function argumentFault(
  call: CallContext,
  { definition, server }: RegisteredTool,
  { args, settings, ports }: { readonly args: JsonObject; readonly settings: ServerSettings; readonly ports: Wired },
): CallFault | undefined {
  const { inputSchema } = definition;
  const { time, known } = schemasOf(settings, ports);
  const verdict: ArgumentVerdict = isJsonObject(inputSchema)
    ? checkArguments(inputSchema, args, time.forOne(), known)
    : { kind: 'unchecked', why: 'it is missing', isFinal: true };
  switch (verdict.kind) {
    case 'invalid':
      return { code: 'invalid_arguments', message: `${call.name}: ${verdict.why}` };
    case 'unchecked':
      return uncheckedArguments({ name: call.name, server }, verdict);
    case 'fits':
      return undefined;
  }
}

function schemasOf(settings: ServerSettings, { schemas, steadyMs, cpuTimeMs }: Wired) {
  return getOrMake(schemas, settings, () => ({
    time: createSchemaTime(defined({ steadyMs, cpuTimeMs })),
    known: createKnownChecks(),
  }));
}

type Outdated = Extract<CallVerdict, { readonly kind: 'outdated' }>;
const outdated: Outdated = { kind: 'outdated' };

/** Sends a call in its turn by its session, and reports its outcome once. */
function sendCall(context: CallContext, ports: Wired, report: (verdict: CallVerdict) => void): void {
  const key = keyOf(context);
  const row = ports.calls.get(context.id);
  const tool = row?.tool;
  const settings = ports.settings(context.profile, context.server ?? '');
  if (row === undefined || tool === undefined || settings === undefined) {
    report({ kind: 'failed', fault: toolIsGone(context) });
    return;
  }
  const { args, method, onProgress, traceparent } = row.request;
  const of = tool.kind === 'native' ? 'call' : method === undefined ? 'utility' : 'offer';
  const call: SessionCall = {
    of,
    name: of === 'offer' ? (method ?? '') : tool.tool,
    args,
    options: { id: context.id, onProgress, traceparent },
    reading: (outcome, session) => readingOf(outcome, session, ports),
  };
  const work = (settle: (outcome: CallOutcome | Outdated) => void): (() => void) => {
    // Other calls ran before, and the server may have listed its tools again meanwhile.
    if (ports.registry(context.profile)?.find(context.name) !== tool) {
      settle(outdated);
      return () => {};
    }
    row.sentTo = key;
    return callBySession(key, call, ports, (outcome) => {
      row.sentTo = undefined;
      if (outcome.kind === 'needsScope' && outcome.scope !== undefined)
        ports.demandScope(context.profile, context.server ?? '', outcome.scope);
      settle(outcome);
    });
  };
  // A listing for a client does not wait for tools, like the listing of tools.
  const parallel = settings.parallel || isOfferList(method);
  row.abandon = ports.queues.run({ server: key, parallel }, work, (outcome) => {
    if (outcome.kind === 'outdated') report(outcome);
    else report(verdictOf(outcome, { context, settings, row, log: ports.log, ports }));
  });
}

interface Answered {
  readonly context: CallContext;
  readonly settings: ServerSettings;
  readonly row: LiveCall;
  readonly log: Logger;
  readonly ports: Pick<ToolCallPorts, 'loginProblem' | 'grantedScope'>;
}

/** Never throws, because the caller waits for a verdict. */
function verdictOf(outcome: CallOutcome, answered: Answered): CallVerdict {
  const { context } = answered;
  if (outcome.kind !== 'result') return verdictWithout(outcome, answered);
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

function keepResult(given: Json, { context, settings: { resultCap: cap }, row, log }: Answered): void {
  const { method } = row.request;
  const { result, notes } = method === undefined ? shapeResult(given, cap) : shapeOffer(method, given, cap);
  for (const note of notes) {
    log.log('warn', `mcp server "${context.server}": ${context.name}: ${note}`, fieldsOf(context));
  }
  row.result = result;
}

function verdictWithout(
  outcome: Exclude<CallOutcome, { readonly kind: 'result' }>,
  { context, settings: { transport }, ports }: Omit<Answered, 'row' | 'log'>,
): CallVerdict {
  const { profile } = context;
  const server = context.server ?? '';
  const place = `mcp server "${server}"`;
  const command = loginCommand(server, profile);
  switch (outcome.kind) {
    case 'refused':
      return {
        kind: 'failed',
        fault: {
          code: 'rpc_error',
          message: `${place}: ${context.name}: ${outcome.message}`,
          ...(outcome.rpc === undefined ? {} : { rpc: outcome.rpc }),
        },
      };
    case 'unusable': {
      // Another call would have the same outcome.
      const message = `${place}: ${context.name}: ${outcome.why}`;
      const fault = context.readOnly ? ({ code: 'rpc_error', message } as const) : unclear(context, outcome.why);
      return { kind: 'failed', fault };
    }
    case 'unauthorized': {
      const cure = outcome.namesOauth
        ? `it logs in by OAuth: set auth: oauth in its entry, then run \`${command}\``
        : 'check headers';
      const message = oauthPlanOf(transport)
        ? describeLoginNeed(server, profile, ports.loginProblem(profile, server))
        : `${place}: the server refuses the credentials; ${cure}`;
      return { kind: 'failed', fault: { code: 'needs_login', message } };
    }
    case 'needsScope': {
      const isOauth = oauthPlanOf(transport) !== undefined;
      const needs = lackWords(outcome.scope, isOauth ? ports.grantedScope(profile, server) : undefined);
      const cure = isOauth ? `run \`${command}\`` : 'put a token that has it into headers';
      const message = `${place}: ${context.name} needs ${needs}; ${cure}`;
      return { kind: 'failed', fault: { code: 'needs_login', message } };
    }
    case 'unsent': {
      const why = aboutServer(server, `${context.name} was not run: ${outcome.why}`);
      return { kind: 'failed', fault: unavailable(why) };
    }
    case 'timedOut': {
      const message = `${place}: ${context.name} had no answer in ${outcome.afterMs / 1_000} s and was cancelled; raise timeout`;
      return { kind: 'failed', fault: { code: 'timed_out', message } };
    }
    case 'cancelled':
      return { kind: 'failed', fault: { code: 'cancelled', message: `${context.name} was cancelled` } };
    case 'unclear':
      return { kind: 'unclear', why: outcome.why };
    case 'expired':
      return { kind: 'lost', dispatched: true, why: 'its session had expired' };
    case 'lost':
      return { kind: 'lost', dispatched: outcome.dispatched, why: outcome.why };
  }
}

/** What a call's outcome shows about the transport; null for a slow tool and a cancelled call. */
function readingOf(outcome: CallOutcome, session: Session, { counted, steadyMs }: Wired): BreakerEvent | null {
  switch (outcome.kind) {
    case 'result':
    case 'refused':
    case 'unusable':
    case 'unauthorized':
    case 'needsScope':
    case 'expired':
      return { kind: 'answered' };
    case 'unclear':
      return outcome.behind ? { kind: 'transportFailed', nowMs: steadyMs() } : { kind: 'answered' };
    case 'lost':
      // Either a reload or a changed entry closed it, or its session was already counted.
      if (outcome.closedHere || counted.has(session)) return null;
      counted.add(session);
      return { kind: 'transportFailed', nowMs: steadyMs() };
    case 'unsent':
    case 'timedOut':
    case 'cancelled':
      return null;
  }
}

function keyOf({ profile, server }: CallContext): string {
  return connectionKey(profile, server ?? '');
}
