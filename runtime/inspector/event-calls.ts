/**
 * Returns the spans within an event's run: the model's turns, tool calls and questions to a person. They are read from the
 * transcript if it has times, otherwise from the calls that are kept in memory.
 * @see INS-4 and TRU-3 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { toolWords } from '../../machines/mcp/tool-name.ts';
import type { Span, SpanPart } from '../control/contract/event-wire.ts';
import type { CallMemo } from '../mcp/call-memory.ts';
import { counted, ownQuestions, type TimelineSources } from './timeline-sources.ts';

/** Returns all turns as one span; none for a runner that reports no turns. */
export function modelSpan({ transcript, run }: Pick<TimelineSources, 'run' | 'transcript'>, parent: string): Span[] {
  const parts: SpanPart[] = [];
  let asked: number | undefined;
  for (const { kind, at_ms: at } of transcript) {
    if (typeof at !== 'number') return [];
    if (kind === 'answer' && asked !== undefined) parts.push({ start: asked, end: at, how: 'work' });
    // The next turn begins with the last result of this one.
    if (kind !== 'call') asked = at;
  }
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last?.end === undefined) return [];
  const { steps = 0 } = run?.record ?? {};
  // A transcript has a limit, and the last step may have no answer.
  const isCut = steps > parts.length + 1;
  const note = isCut ? `the first ${parts.length} of ${counted(steps, 'turn')}` : counted(parts.length, 'turn');
  return [
    {
      id: `${parent}/model`,
      kind: 'model',
      name: 'Model',
      note,
      parent,
      tone: 'resting',
      start: first.start,
      end: last.end,
      parts,
      texts: transcript
        .filter(({ kind, text }) => kind === 'answer' && text !== '')
        .map(({ text }, index) => ({ title: `Answer ${index + 1}`, text: String(text) })),
    },
  ];
}

/** Returns the calls that have ended, then those under way. */
export function callSpans(sources: TimelineSources, parent: string): Span[] {
  const memos = [...sources.calls];
  const ended = timedCalls(sources.transcript).map(({ call, result, from, to }, index): Span => {
    const at = memos.findIndex(({ tool }) => tool === call.tool);
    const [memo] = at === -1 ? [] : memos.splice(at, 1);
    const isError = result.is_error === true;
    return {
      id: `${parent}/call/${index}`,
      kind: 'call',
      name: toolWords(String(call.tool), memo?.server),
      parent,
      tone: isError ? 'failed' : 'resting',
      start: from,
      end: to,
      parts: workedParts({ from, to, question: memo?.question, isError }),
      texts: [
        { title: 'Arguments', text: String(call.arguments) },
        { title: isError ? 'Error' : 'Result', text: String(result.text) },
      ],
    };
  });
  return [...ended, ...memos.map((memo) => memoSpan(memo, parent)), ...openCalls(sources, parent)];
}

export function questionSpans(sources: TimelineSources, parent: string): Span[] {
  return ownQuestions(sources).map(
    ({ id, kind, server, message, askedAtMs }): Span => ({
      id: `approvals/${id}`,
      kind: 'question',
      name: kind === 'form' && server !== '' ? `Question of ${server}` : 'Question',
      parent,
      tone: 'needsUser',
      start: askedAtMs,
      parts: [{ start: askedAtMs, how: 'person' }],
      texts: [{ title: 'Question', text: message }],
    }),
  );
}

interface TimedCall {
  readonly call: JsonObject;
  readonly result: JsonObject;
  readonly from: number;
  readonly to: number;
}

function timedCalls(transcript: readonly JsonObject[]): TimedCall[] {
  return transcript.flatMap((call, index): TimedCall[] => {
    if (call.kind !== 'call') return [];
    const result = transcript.slice(index).find(({ kind, id }) => kind === 'result' && id === call.id);
    const { at_ms: from } = call;
    const to = result?.at_ms;
    return result === undefined || typeof from !== 'number' || typeof to !== 'number'
      ? []
      : [{ call, result, from, to }];
  });
}

function memoSpan(memo: CallMemo, parent: string): Span {
  const { id, tool, server, outcome, why, startedAtMs: from, endedAtMs: to, question, args, result, tries } = memo;
  const isError = outcome !== 'result';
  return {
    id: `calls/${id}`,
    kind: 'call',
    name: toolWords(tool, server),
    ...(tries > 1 ? { note: `sent ${tries} times` } : {}),
    parent,
    tone: isError ? 'failed' : 'resting',
    start: from,
    end: to,
    parts: workedParts({ from, to, question, isError }),
    texts: [
      { title: 'Arguments', text: args },
      ...(isError
        ? [{ title: 'Error', text: why ?? outcome }]
        : result === undefined
          ? []
          : [{ title: 'Result', text: result }]),
    ],
  };
}

function workedParts({
  from,
  to,
  question,
  isError,
}: {
  readonly from: number;
  readonly to: number;
  readonly question: CallMemo['question'];
  readonly isError: boolean;
}): SpanPart[] {
  const how = isError ? 'failed' : 'work';
  if (question === undefined) return [{ start: from, end: to, how }];
  const { askedAtMs, answeredAtMs } = question;
  return [
    { start: askedAtMs, end: answeredAtMs, how: 'person' },
    { start: answeredAtMs, end: Math.max(answeredAtMs, to), how },
  ];
}

function openCalls({ callsUnderWay, questions }: TimelineSources, parent: string): Span[] {
  return callsUnderWay.map(({ id, tool, startedAtMs, approval }): Span => {
    const question = questions.find((one) => one.id === approval);
    const start = question?.askedAtMs ?? startedAtMs;
    return {
      id: `calls/${id}`,
      kind: 'call',
      name: toolWords(tool, question?.server),
      note: question === undefined ? 'calling' : 'waits for your approval',
      parent,
      tone: question === undefined ? 'working' : 'needsUser',
      start: startedAtMs,
      parts: [{ start, how: question === undefined ? 'work' : 'person' }],
    };
  });
}
