/**
 * Decides what follows a model's answer: tool calls, the response, or the run's failure. A wrong call becomes an error that
 * the model can read and correct. Calls nothing.
 * @see DIS-3 in docs/specification.md
 */

import { cut, isJsonObject, type JsonObject } from '../base/json.ts';
import { readJson } from '../base/read-json.ts';
import { type ModelAnswer, refusedToAnswer, type ToolAsk } from './model-talk.ts';
import { withoutThought } from './thought.ts';

export type PlannedCall =
  | { readonly kind: 'call'; readonly ask: ToolAsk; readonly args: JsonObject }
  /** Not called; the model gets the reason. */
  | { readonly kind: 'refuse'; readonly ask: ToolAsk; readonly why: string };

type NextStep =
  | { readonly kind: 'callTools'; readonly calls: readonly PlannedCall[] }
  | { readonly kind: 'respond'; readonly response: string }
  | { readonly kind: 'fail'; readonly reason: string };

interface LoopState {
  /** Requests to the model, including this answer. */
  readonly steps: number;
  readonly maxSteps: number;
  readonly isOffered: (name: string) => boolean;
}

/** More calls at once are a sign that the model is stuck. */
export const maxCallsAtOnce = 32;
const cutMark = '[the model’s token limit cut the answer off here]';
const keptArguments = 200;

export function nextStep(answer: ModelAnswer, { steps, maxSteps, isOffered }: LoopState): NextStep {
  const { calls, stop } = answer;
  if (stop === 'refused') return { kind: 'fail', reason: refusedToAnswer };
  if (calls.length === 0) {
    const response = withoutThought(answer);
    if (stop !== 'cut') return { kind: 'respond', response };
    if (!/^\s*(?:<think>|$)/.test(response)) return { kind: 'respond', response: `${response}\n\n${cutMark}` };
    return {
      kind: 'fail',
      reason: 'the model reached its token limit before it answered; raise agent.model.max_tokens',
    };
  }
  if (steps >= maxSteps) {
    const limit = `${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'} (agent.model.max_steps)`;
    return { kind: 'fail', reason: `the model still asked for tools after ${limit}` };
  }
  const planned = calls.map((ask, index): PlannedCall => {
    if (index >= maxCallsAtOnce) {
      return { kind: 'refuse', ask, why: `not called: at most ${maxCallsAtOnce} tools can be called at once` };
    }
    // Truncated arguments may parse as complete ones.
    if (stop === 'cut' && index === calls.length - 1) {
      return { kind: 'refuse', ask, why: 'not called: the token limit cut this call off; ask for less at once' };
    }
    return plan(ask, isOffered);
  });
  return { kind: 'callTools', calls: planned };
}

function plan(ask: ToolAsk, isOffered: (name: string) => boolean): PlannedCall {
  if (!isOffered(ask.name)) {
    return { kind: 'refuse', ask, why: `no tool is named ${JSON.stringify(cut(ask.name, keptArguments))}` };
  }
  // A rounded id would be that of something else.
  const args = readJson(ask.argumentsText);
  if (args === undefined) {
    const given = JSON.stringify(cut(ask.argumentsText, keptArguments));
    return { kind: 'refuse', ask, why: `not called: the arguments are not JSON: ${given}` };
  }
  if (!isJsonObject(args)) return { kind: 'refuse', ask, why: 'not called: the arguments are not a JSON object' };
  return { kind: 'call', ask, args };
}
