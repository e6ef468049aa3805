/** Provides the effects of the server request chart: its policy, the form for a person, the model, the answer. */

import { assign, fromPromise } from 'xstate';
import type { ModelVerdict as ModelAnswer } from '../../actors/agent/stream-model.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { type ModelQuestion, refusedToAnswer, type Turn } from '../../machines/agent/model-talk.ts';
import { withoutThought } from '../../machines/agent/thought.ts';
import { isJsonObject, type Json, type JsonObject, scalarText } from '../../machines/base/json.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import {
  type ModelVerdict,
  type ServerRequestContext,
  type ServerRequestEvent,
  serverRequestMachine,
} from '../../machines/mcp/server-request.machine.ts';
import { admitElicitation, admitSampling } from '../../machines/mcp/server-request.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { mapStrings, stripTags } from '../../machines/mcp/strip-tags.ts';
import type { Redactor } from '../observe/redact.ts';
import type { ApprovalQuestion, Approvals } from './approvals.ts';
import type { LiveServerRequest, ServerRequests } from './server-requests.ts';

interface ServerRequestPorts {
  readonly requests: ServerRequests;
  readonly approvals: Approvals;
  /** The run of a call, or the caller of a call outside of a run. */
  readonly askerOf: (call: string) => Asker | undefined;
  /** Reports that a call waits for a person. */
  readonly waits: (call: string, question: string, isOpen: () => boolean) => void;
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  /** The model of the `agent` settings; undefined while none is configured. */
  readonly model: (profile: string) => ModelSettings | undefined;
  readonly redactor: Redactor;
  readonly askModel: (model: ModelSettings, question: ModelQuestion, signal: AbortSignal) => Promise<ModelAnswer>;
  /** Milliseconds that only rise, by which the rate of model requests is counted. */
  readonly steadyMs: () => number;
}

type Asker = Pick<ApprovalQuestion, 'run' | 'caller'>;

export function wireServerRequest(ports: ServerRequestPorts) {
  const { requests } = ports;
  return serverRequestMachine.provide({
    actors: {
      runModel: fromPromise<ModelVerdict, ServerRequestContext>(({ input, signal }) => runModel(input, signal, ports)),
    },
    actions: {
      admit: assign<ServerRequestContext, ServerRequestEvent, unknown, ServerRequestEvent, never>(({ context }) => {
        const why = refusalOf(context, ports);
        return why === undefined ? {} : { refused: true, why };
      }),
      askPerson: ({ context, self }) => {
        const row = requests.get(context.id);
        const settings = ports.settings(context.profile, context.server);
        if (row?.form === undefined || settings === undefined) return;
        const { message, requestedSchema } = row.form;
        const during = [...(row.during ?? [])];
        const askers = during.map((call) => ports.askerOf(call) ?? {});
        const runs = new Set(askers.map(({ run }) => run));
        row.question = ports.approvals.ask(
          {
            profile: context.profile,
            server: context.server,
            ...onlyAsker(askers),
            kind: 'form',
            tool: '',
            message: ports.redactor.text(message),
            detail: mapStrings(requestedSchema, ports.redactor.text),
            timeoutMs: settings.elicitation.timeoutMs,
          },
          ({ verdict, values }) => {
            if (values !== null) row.made = values;
            // No person saw it, so it does not count as unfilled.
            if (verdict === 'tooMany') row.form = undefined;
            self.send({ type: 'approval.settled', verdict });
          },
          [...runs].flatMap((each) => each ?? []),
        );
        const { question } = row;
        for (const call of during) ports.waits(call, question, () => ports.approvals.show(question) !== undefined);
      },
      withdrawQuestion: ({ context }) => {
        const question = requests.get(context.id)?.question;
        if (question !== undefined) ports.approvals.withdraw(question);
      },
      answer: ({ context }) => {
        const row = requests.get(context.id);
        if (row === undefined) return;
        requests.answered(
          context.id,
          context.kind === 'elicitation' ? formAnswer(context, row) : modelAnswer(context, row),
        );
      },
    },
  });
}

/** The run or the caller of all calls that a form may be for; empty if they differ, since any of them may be the cause. */
function onlyAsker(askers: readonly Asker[]): Asker {
  const [one = {}, ...others] = askers;
  if (others.some(({ run }) => run !== one.run)) return {};
  if (one.run !== undefined) return { run: one.run };
  return one.caller === undefined || others.some(({ caller }) => caller !== one.caller) ? {} : { caller: one.caller };
}

/** Why a request is refused by the server's policy or for lack of a model; undefined if it is admitted. */
function refusalOf({ id, profile, server, kind }: ServerRequestContext, ports: ServerRequestPorts): string | undefined {
  const row = ports.requests.get(id);
  const settings = ports.settings(profile, server);
  if (row === undefined || settings === undefined) return 'the server is not configured any more';
  if (kind === 'elicitation') {
    const verdict = admitElicitation(settings.elicitation, row.params, {
      waiting: ports.requests.waiting(profile, server),
      unfilled: ports.requests.unfilled(id),
      unbidden: ports.requests.unbidden(id),
    });
    if (verdict.kind === 'decline') return verdict.why;
    row.form = verdict;
    return undefined;
  }
  if (ports.model(profile) === undefined) {
    return 'no model is configured for sampling; set agent.model in config.yaml';
  }
  const nowMs = ports.steadyMs();
  const recent = ports.requests.recent(profile, server);
  const verdict = admitSampling(settings.sampling, row.params, recent, nowMs);
  if (verdict.kind === 'refused') return verdict.reason;
  recent.push(nowMs);
  row.admitted = verdict;
  return undefined;
}

async function runModel(
  { id, profile, server }: ServerRequestContext,
  signal: AbortSignal,
  ports: ServerRequestPorts,
): Promise<ModelVerdict> {
  const row = ports.requests.get(id);
  const model = ports.model(profile);
  const settings = ports.settings(profile, server);
  if (row?.admitted === undefined || model === undefined || settings === undefined) {
    return { kind: 'failed', why: 'the server or the model is not configured any more' };
  }
  const { params, admitted } = row;
  const { timeoutMs } = settings.sampling;
  const stop = createStopSignal([signal, row.signal], timeoutMs);
  const asked = { ...model, name: admitted.model ?? model.name, maxTokens: admitted.maxTokens };
  const verdict = await ports.askModel(asked, questionOf(params), stop.signal).finally(stop.release);
  if (verdict.kind === 'failed') {
    const isLate = stop.signal.aborted && !signal.aborted && !row.signal.aborted;
    return { kind: 'failed', why: isLate ? `the model gave no answer in ${timeoutMs / 1_000} s` : verdict.why };
  }
  if (verdict.answer.stop === 'refused') return { kind: 'failed', why: refusedToAnswer };
  row.made = {
    role: 'assistant',
    content: { type: 'text', text: withoutThought(verdict.answer) },
    model: asked.name,
    stopReason: verdict.answer.stop === 'cut' ? 'maxTokens' : 'endTurn',
  };
  return { kind: 'made' };
}

/** The model may only produce text: it gets no tools. */
function questionOf({ systemPrompt, temperature, stopSequences, messages }: JsonObject): ModelQuestion {
  return {
    system: typeof systemPrompt === 'string' ? stripTags(systemPrompt) : '',
    turns: turnsOf(messages),
    tools: [],
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(Array.isArray(stopSequences) && stopSequences.length > 0 ? { stopSequences: stopSequences.map(String) } : {}),
  };
}

function turnsOf(messages: Json | undefined): Turn[] {
  if (!Array.isArray(messages)) return [];
  return (messages as readonly Json[]).filter(isJsonObject).map(({ role, content }) => {
    const blocks: readonly Json[] = Array.isArray(content) ? content : [content ?? null];
    const texts = blocks.map((block) => (isJsonObject(block) && block.type === 'text' ? scalarText(block.text) : ''));
    const text = stripTags(texts.join(''));
    return role === 'assistant' ? { role, text, calls: [] } : { role: 'user', text };
  });
}

/** A form that policy refuses is declined; one that times out or is withdrawn is cancelled. */
function formAnswer(context: ServerRequestContext, row: LiveServerRequest): { kind: 'answered'; result: JsonObject } {
  if (!context.refused) return { kind: 'answered', result: { action: 'accept', content: row.made ?? {} } };
  const isOver = context.why === 'timedOut' || context.why === 'cancelled';
  return { kind: 'answered', result: { action: isOver ? 'cancel' : 'decline' } };
}

function modelAnswer(context: ServerRequestContext, row: LiveServerRequest) {
  if (!context.refused && row.made !== undefined) return { kind: 'answered' as const, result: row.made };
  return { kind: 'refused' as const, reason: `sampling refused: ${context.why ?? 'no answer'}` };
}
