/**
 * Describes a run's calls and questions: settled ones, those under way, and those that wait for a person, with the commands
 * that answer them. Pure.
 * @see INS-2, TRU-3, DIS-5 and SEC-7 in docs/specification.md
 */

import { wordsOfServer } from '../../machines/base/shown-json.ts';
import { iso } from '../../machines/base/since.ts';
import type { Phase, Step } from '../control/contract/wire.ts';
import type { WaitingQuestion } from '../mcp/approvals.ts';
import type { CallMemo } from '../mcp/call-memory.ts';
import type { CallUnderWay } from '../mcp/calls.ts';
import { counted, ownQuestions, seconds, type WorkOfRun } from './timeline-sources.ts';

interface Living extends WorkOfRun {
  readonly stateOf: (actor: string) => string | undefined;
}

/** Returns what a run waits for, as a suffix; empty if it waits only for the agent. */
export function waitingWords({ callsUnderWay, questions }: WorkOfRun): string {
  if (questions.length > 0) return `; ${counted(questions.length, 'question')} to you`;
  return callsUnderWay.length === 0 ? '' : `; ${counted(callsUnderWay.length, 'call')} under way`;
}

/** Returns one phase per call, settled ones first. */
export function callPhases({ calls, callsUnderWay, questions, stateOf }: Living): Phase[] {
  return [
    ...calls.map(settledPhase),
    ...callsUnderWay.map((call): Phase => {
      const actor = `calls/${call.id}`;
      const state = stateOf(actor) ?? 'calling';
      const question = questions.find(({ id }) => id === call.approval);
      return {
        kind: 'call',
        machine: 'toolCall',
        actor,
        title: call.tool,
        state,
        began: call.startedAtMs,
        steps: [question === undefined ? wayStep(state, call) : approvalStep(question)],
      };
    }),
  ];
}

export function questionPhases({ stateOf, ...work }: Living): Phase[] {
  return ownQuestions(work).map((question): Phase => {
    const actor = `approvals/${question.id}`;
    const words = wordsOfServer(question.server, question.message, question.kind);
    return {
      kind: 'question',
      machine: 'approval',
      actor,
      title: question.tool === 'clarify' ? 'question of the agent' : `question of mcp server "${question.server}"`,
      state: stateOf(actor) ?? 'asked',
      began: question.askedAtMs,
      steps: [
        {
          state: 'asked',
          at: question.askedAtMs,
          result: 'waiting',
          detail: `${words === '' ? '' : `${words}; `}waits for your answer until ${iso(expiryOf(question))}`,
          rule: 'TRU-3',
        },
      ],
    };
  });
}

export function answerCommands({ id, kind }: WaitingQuestion): string {
  const yes = `\`agent approvals approve ${id}${kind === 'form' ? " --values '{…}'" : ''}\``;
  return kind === 'form'
    ? `\`agent approvals show ${id}\` shows the form, ${yes} answers it, \`agent approvals deny ${id}\` declines.`
    : `${yes} lets it run, \`agent approvals deny ${id}\` refuses; \`agent approvals show ${id}\` shows its arguments.`;
}

function settledPhase(call: CallMemo): Phase {
  const answered = call.outcome === 'result';
  return {
    kind: 'call',
    machine: 'toolCall',
    actor: `calls/${call.id}`,
    title: call.tool,
    state: 'settled',
    began: call.startedAtMs,
    ended: call.endedAtMs,
    steps: [
      {
        state: 'settled',
        at: call.endedAtMs,
        result: answered ? 'passed' : 'failed',
        detail: [
          answered ? 'answered' : (call.why ?? call.outcome),
          `in ${seconds(call.endedAtMs - call.startedAtMs)}`,
          ...(call.tries > 1 ? [`sent ${call.tries} times`] : []),
        ].join('; '),
        rule: 'TRU-2',
      },
    ],
  };
}

function approvalStep(question: WaitingQuestion): Step {
  return {
    state: 'approving',
    at: question.askedAtMs,
    result: 'waiting',
    detail: `nothing is sent before your yes (${question.id}), which may come until ${iso(expiryOf(question))}`,
    rule: 'TRU-1',
  };
}

const waysOn: Readonly<Record<string, readonly [detail: string, rule: string]>> = {
  reaching: ['its server is being reached', 'LIF-7'],
  calling: ['the server has it, or it waits for its turn there', 'LIF-3'],
};

function wayStep(state: string, { startedAtMs }: CallUnderWay): Step {
  const [detail, rule] = waysOn[state] ?? ['under way', 'TRU-2'];
  return { state, at: startedAtMs, result: 'waiting', detail, rule };
}

function expiryOf({ askedAtMs, timeoutMs }: WaitingQuestion): number {
  return askedAtMs + timeoutMs;
}
