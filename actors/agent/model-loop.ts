/**
 * Asks a model, runs the tool calls of each answer in parallel, and continues until an answer has no call. `nextStep`
 * decides what follows an answer, and the caller provides the tools. Never rejects.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { noTokens, type Tokens, type ToolOffer, type ToolReply, type Turn } from '../../machines/agent/model-talk.ts';
import { type Spending, spendingOf } from '../../machines/agent/spending.ts';
import { nextStep, type PlannedCall } from '../../machines/agent/tool-loop.ts';
import type { TranscriptEntry } from '../../machines/agent/transcript.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { cut, type JsonObject } from '../../machines/base/json.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import { wireName } from '../../machines/mcp/wire-name.ts';
import { type StreamModelPorts, streamModel, sum, waitFor } from './stream-model.ts';

/** What a tool returns. The model reads errors too. */
export interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
  /** The tokens that asking a model about a picture took. */
  readonly tokens?: Tokens;
}

/** A tool that a run has without any server. */
export interface BuiltInTool {
  readonly offer: ToolOffer;
  /** Never rejects. The arguments are as the model gave them. */
  readonly call: (args: JsonObject, signal: AbortSignal) => Promise<ToolAnswer>;
}

export interface RunTools {
  readonly offers: readonly ToolOffer[];
  /**
   * Never rejects.
   * @param said the model's text beside the call
   */
  call(name: string, args: JsonObject, signal: AbortSignal, said?: string): Promise<ToolAnswer>;
}

interface LoopRequest {
  readonly model: ModelSettings;
  readonly system: string;
  /**
   * The conversation so far, ending with the current question. The loop appends complete exchanges only, so the
   * conversation can continue however the loop ends.
   */
  readonly turns: Turn[];
  readonly tools: RunTools;
  /** Called for each answer, call and result as it arrives. */
  readonly report: (entry: TranscriptEntry) => void;
  /** Awaited before the first request is sent. */
  readonly beforeFirst?: () => Promise<void>;
}

export type LoopPorts = Omit<StreamModelPorts, 'wait'> & {
  /** Resolves after `ms`. Default: a timer of the process. */
  readonly wait?: StreamModelPorts['wait'];
};

export type LoopOutcome = { readonly spending: Spending } & (
  | { readonly kind: 'responded'; readonly response: string }
  /** `overflows`: the conversation was too long for the model at the first request; later, calls have been made. */
  | { readonly kind: 'failed'; readonly reason: string; readonly overflows: boolean }
);

/** Characters that one tool result may add to the conversation. */
const maxReplyLength = 100_000;
const stopped = 'the run was stopped';

export async function runModelLoop(
  { model, system, turns, tools, report, beforeFirst }: LoopRequest,
  { wait = waitFor, ...ports }: LoopPorts,
  signal: AbortSignal,
): Promise<LoopOutcome> {
  let steps = 0;
  let tokens = noTokens;
  const spending = (): Spending => spendingOf(steps, tokens, model.prices);
  const failed = (reason: string, overflows = false): LoopOutcome => ({
    kind: 'failed',
    reason,
    overflows,
    spending: spending(),
  });
  const onAgain = (why: string): void => {
    report({ kind: 'again', text: why });
    ports.onAgain?.(why);
  };
  try {
    const named = new Map(tools.offers.map((offer) => [wireName(offer.name), offer]));
    const offers = [...named].map(([name, offer]) => ({ ...offer, name }));
    if (!signal.aborted) await beforeFirst?.();
    for (;;) {
      if (signal.aborted) return failed(stopped);
      steps += 1;
      const question = { system, turns, tools: offers };
      const verdict = await streamModel(model, question, { ...ports, onAgain, wait, signal });
      tokens = sum(tokens, verdict.kind === 'answered' ? verdict.answer.tokens : verdict.tokens);
      if (verdict.kind === 'failed') return failed(verdict.why, verdict.overflows === true && steps === 1);
      const { answer } = verdict;
      const reasoned = answer.reasoning === undefined ? {} : { reasoning: answer.reasoning };
      const { input: inputTokens, output: outputTokens } = answer.tokens;
      report({ kind: 'answer', text: answer.text, inputTokens, outputTokens });
      const { maxSteps } = model;
      const step = nextStep(answer, { steps, maxSteps, isOffered: (name) => named.has(name) });
      if (step.kind === 'respond') {
        // An endpoint refuses a turn with an empty text.
        const said = { role: 'assistant', text: step.response, calls: [], ...(steps === 1 ? {} : reasoned) } as const;
        if (step.response.trim() !== '') turns.push(said);
        return { kind: 'responded', response: step.response, spending: spending() };
      }
      if (step.kind === 'fail') return failed(step.reason);

      for (const { ask } of step.calls) {
        report({ kind: 'call', id: ask.id, tool: named.get(ask.name)?.name ?? ask.name, text: ask.argumentsText });
      }
      const replies = await Promise.all(
        step.calls.map(async (call) => {
          const { reply, cost } = await carryOut(call, { tools, named, signal, said: answer.text });
          tokens = sum(tokens, cost);
          report({ kind: 'result', ...reply });
          return reply;
        }),
      );
      // An endpoint rejects a conversation with an impossible name, so the model could not correct it.
      const calls = answer.calls.map((call) => ({ ...call, name: wireName(call.name) }));
      turns.push({ role: 'assistant', text: answer.text, calls, ...reasoned }, { role: 'tools', replies });
    }
  } catch (thrown) {
    return failed(causeOf(thrown));
  }
}

interface Workshop {
  readonly tools: RunTools;
  readonly named: ReadonlyMap<string, ToolOffer>;
  readonly signal: AbortSignal;
  readonly said: string;
}

async function carryOut(
  call: PlannedCall,
  { tools, named, signal, said }: Workshop,
): Promise<{ readonly reply: ToolReply; readonly cost: Tokens }> {
  const { id, name } = call.ask;
  if (call.kind === 'refuse') return { reply: { id, text: call.why, isError: true }, cost: noTokens };
  try {
    const { text, isError, tokens } = await tools.call(named.get(name)?.name ?? name, call.args, signal, said);
    return { reply: { id, text: bounded(text), isError }, cost: tokens ?? noTokens };
  } catch (thrown) {
    return { reply: { id, text: `the tool failed: ${causeOf(thrown)}`, isError: true }, cost: noTokens };
  }
}

function bounded(text: string): string {
  const kept = cut(text, maxReplyLength);
  return kept.length === text.length ? text : `${kept}\n[${text.length - kept.length} characters left out]`;
}
