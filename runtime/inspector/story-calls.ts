/**
 * Describes a run's calls and questions: settled ones, those under way, and those that wait for a person, with the commands
 * that answer them. Pure.
 * @see INS-2, TRU-3, DIS-5 and SEC-7 in docs/specification.md
 */

import { wordsOfServer } from '../../machines/base/shown-json.ts';
import type { WaitingQuestion } from '../mcp/approvals.ts';
import type { CallMemo } from '../mcp/call-memory.ts';
import type { CallUnderWay } from '../mcp/calls.ts';
import { counted, iso, ownQuestions, seconds, type WorkOfRun } from './story-sources.ts';
import type { Chapter, Stair } from './wire.ts';

interface Living extends WorkOfRun {
  readonly stateOf: (actor: string) => string | undefined;
}

/** Returns what a run waits for, as a suffix; empty if it waits only for the agent. */
export function waitingWords({ callsUnderWay, questions }: WorkOfRun): string {
  if (questions.length > 0) return `; ${counted(questions.length, 'question')} to you`;
  return callsUnderWay.length === 0 ? '' : `; ${counted(callsUnderWay.length, 'call')} under way`;
}

/** Returns one phase per call, settled ones first. */
export function callChapters({ calls, callsUnderWay, questions, stateOf }: Living): Chapter[] {
  return [
    ...calls.map(settledChapter),
    ...callsUnderWay.map((call): Chapter => {
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
        stairs: [question === undefined ? wayStair(state, call) : approvalStair(question)],
      };
    }),
  ];
}

export function questionChapters({ stateOf, ...work }: Living): Chapter[] {
  return ownQuestions(work).map((question): Chapter => {
    const actor = `approvals/${question.id}`;
    const words = wordsOfServer(question.server, question.message, question.kind);
    return {
      kind: 'question',
      machine: 'approval',
      actor,
      title: question.tool === 'clarify' ? 'question of the agent' : `question of mcp server "${question.server}"`,
      state: stateOf(actor) ?? 'asked',
      began: question.askedAtMs,
      stairs: [
        {
          state: 'asked',
          at: question.askedAtMs,
          result: 'waiting',
          told: `${words === '' ? '' : `${words}; `}waits for your answer until ${iso(expiryOf(question))}`,
          rule: 'TRU-3',
        },
      ],
    };
  });
}

/** Returns the commands that answer a question. */
export function answerCommands({ id, kind }: WaitingQuestion): string {
  const yes = `\`agent approvals approve ${id}${kind === 'form' ? " --values '{…}'" : ''}\``;
  return kind === 'form'
    ? `\`agent approvals show ${id}\` shows the form, ${yes} answers it, \`agent approvals deny ${id}\` declines.`
    : `${yes} lets it run, \`agent approvals deny ${id}\` refuses; \`agent approvals show ${id}\` shows its arguments.`;
}

function settledChapter(call: CallMemo): Chapter {
  const answered = call.outcome === 'result';
  return {
    kind: 'call',
    machine: 'toolCall',
    actor: `calls/${call.id}`,
    title: call.tool,
    state: 'settled',
    began: call.startedAtMs,
    ended: call.endedAtMs,
    stairs: [
      {
        state: 'settled',
        at: call.endedAtMs,
        result: answered ? 'passed' : 'failed',
        told: [
          answered ? 'answered' : (call.why ?? call.outcome),
          `in ${seconds(call.endedAtMs - call.startedAtMs)}`,
          ...(call.tries > 1 ? [`sent ${call.tries} times`] : []),
        ].join('; '),
        rule: 'TRU-2',
      },
    ],
  };
}

function approvalStair(question: WaitingQuestion): Stair {
  return {
    state: 'approving',
    at: question.askedAtMs,
    result: 'waiting',
    told: `nothing is sent before your yes (${question.id}), which may come until ${iso(expiryOf(question))}`,
    rule: 'TRU-1',
  };
}

const waysOn: Readonly<Record<string, readonly [told: string, rule: string]>> = {
  reaching: ['its server is being reached', 'LIF-7'],
  calling: ['the server has it, or it waits for its turn there', 'LIF-3'],
};

function wayStair(state: string, { startedAtMs }: CallUnderWay): Stair {
  const [told, rule] = waysOn[state] ?? ['under way', 'TRU-2'];
  return { state, at: startedAtMs, result: 'waiting', told, rule };
}

function expiryOf({ askedAtMs, timeoutMs }: WaitingQuestion): number {
  return askedAtMs + timeoutMs;
}
