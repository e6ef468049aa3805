/**
 * The tool `clarify`: a question to a person, shown where approvals are. A question expires, and the model then reads
 * that there was no answer.
 * @see DIS-5 and TRU-3 in docs/specification.md
 */

import { cut, type Json, type JsonObject } from '../../machines/base/json.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import type { BuiltInTool } from './model-loop.ts';

export interface ClarifyQuestion {
  readonly message: string;
  /** The form that a person fills in. */
  readonly form: JsonObject;
  readonly timeoutMs: number;
}

export type ClarifyAnswer =
  | { readonly kind: 'approved'; readonly values: JsonObject | null }
  | { readonly kind: 'denied'; readonly note?: string }
  | { readonly kind: 'timedOut' }
  /** Too many questions are open; no person was asked. */
  | { readonly kind: 'tooMany' };

/** Asks a person. When the signal aborts, the question is withdrawn and resolves as denied. */
export type AskPerson = (question: ClarifyQuestion, signal: AbortSignal) => Promise<ClarifyAnswer>;

/** The same time as for the approval of a call. */
const patienceMs = 300_000;
const maxQuestionLength = 2_000;
const maxChoices = 10;

export function createClarify(ask: AskPerson): BuiltInTool {
  return {
    offer: {
      name: 'clarify',
      description:
        'Asks a person one question and waits for the answer. Often no one is there to answer: ask only what cannot be decided otherwise.',
      inputSchema: {
        type: 'object',
        properties: {
          question: { type: 'string', description: 'The question, with what the person needs to answer it.' },
          choices: {
            type: 'array',
            items: { type: 'string' },
            description: 'The answers to choose from, if there are.',
          },
        },
        required: ['question'],
      },
    },
    async call({ question, choices }, signal) {
      if (typeof question !== 'string' || question.trim() === '') {
        return { text: 'clarify: give the question as a text', isError: true };
      }
      const options = choicesIn(choices);
      if (options.length > maxChoices) {
        return { text: `clarify: ask with at most ${maxChoices} choices, or without`, isError: true };
      }
      const answer = { type: 'string', title: 'Answer', ...(options.length === 0 ? {} : { enum: options }) };
      const outcome = await ask(
        {
          message: cut(stripTags(question), maxQuestionLength),
          form: { type: 'object', properties: { answer }, required: ['answer'] },
          timeoutMs: patienceMs,
        },
        signal,
      );
      switch (outcome.kind) {
        case 'approved':
          return { text: String(outcome.values?.answer ?? ''), isError: false };
        case 'denied':
          return {
            text: `The person declined to answer${outcome.note === undefined ? '' : `: ${outcome.note}`}.`,
            isError: false,
          };
        case 'tooMany':
          return { text: 'Not asked: too many questions wait for a person already.', isError: true };
        case 'timedOut':
          return {
            text: `There was no answer within ${patienceMs / 1_000} s. Continue without the answer.`,
            isError: false,
          };
      }
    },
  };
}

function choicesIn(given: Json | undefined): readonly string[] {
  if (!Array.isArray(given)) return [];
  const texts = (given as readonly Json[]).filter((one) => typeof one === 'string' && one.trim() !== '') as string[];
  return [...new Set(texts.map((one) => cut(stripTags(one), maxQuestionLength)))];
}
