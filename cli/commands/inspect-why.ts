/**
 * `agent inspect why`: the outcome of a delivery and its reason, as the states it passed with each decision.
 * @see INS-2 and DUR-2 in docs/specification.md
 */

import { stateWords } from '../../machines/base/status.ts';
import type { Phase, Step, Timeline } from '../../runtime/control/contract/wire.ts';
import { askedEvent, type CommandContext, type ExitCode, hasFlag } from '../context.ts';
import { line, type Piece, type Style, whole } from '../draw.ts';
import { span } from '../labelled.ts';
import { ago, oneLine, plain, show, wrapped } from '../terminal.ts';

const marks: Readonly<Record<Step['result'], readonly [mark: string, style: Style]>> = {
  passed: ['✓', 'green'],
  stopped: ['■', 'yellow'],
  skipped: ['–', 'dim'],
  waiting: ['…', 'cyan'],
  failed: ['✗', 'red'],
};

export async function explainDelivery(context: CommandContext): Promise<ExitCode> {
  const timeline = await context.ask('inspect.why', askedEvent(context));
  return show(context, timeline, () => formatTimeline(context, timeline));
}

function formatTimeline(context: CommandContext, timeline: Timeline): string {
  const { out } = context;
  const received = new Date(timeline.received).toISOString();
  const lines = [
    line(out, [
      [oneLine(timeline.delivery), 'bold'],
      [
        `  ${oneLine(timeline.route)}  ${oneLine(timeline.event)}  ${ago(received, Date.now())} ago  ${received}`,
        'dim',
      ],
    ]),
    ...whole(out, oneLine(timeline.verdict), 'plain', ''),
    ...(timeline.cure === '' ? [] : whole(out, `→ ${oneLine(timeline.cure)}`, 'cyan')),
  ];
  for (const { text } of timeline.findings ?? []) lines.push(...whole(out, `→ ${oneLine(text)}`, 'cyan'));
  for (const phase of timeline.phases) lines.push('', ...phaseLines(context, phase));
  return `${lines.join('\n')}\n`;
}

function phaseLines(context: CommandContext, { title, actor, began, ended, steps }: Phase): string[] {
  const { out } = context;
  const from = new Date(began).toISOString();
  const took =
    ended === undefined ? `  for ${ago(from, Date.now())}` : `  ${span(from, new Date(ended).toISOString())}`;
  const width = Math.max(0, ...steps.map(({ state }) => stateWords(state).length));
  return [
    line(out, [
      [oneLine(title), 'bold'],
      [`${took}  ${oneLine(actor)}`, 'dim'],
    ]),
    ...steps.flatMap((step) => {
      const [mark, style] = marks[step.result];
      const margin = ' '.repeat(width + 6);
      // What a delivery waits for or was stopped by is the answer to the command: never cut it.
      const texts = foldedLines(out, `${oneLine(step.detail)}  ${step.rule}`, margin);
      const usual = step.result === 'passed' || step.result === 'skipped';
      const lines = texts.map((one, at) => {
        const isLast = at === texts.length - 1;
        const words = isLast ? one.slice(0, one.length - step.rule.length) : one;
        const pieces: Piece[] = [
          ...(at === 0 ? ([[`  ${mark} `, style], [`${stateWords(step.state).padEnd(width)}  `]] as const) : []),
          [words, usual ? 'plain' : style],
          ...(isLast ? ([[step.rule, 'dim']] as const) : []),
        ];
        return line(out, pieces, Number.POSITIVE_INFINITY);
      });
      return [...lines, ...textLines(context, step)];
    }),
  ];
}

/** Wraps to the terminal, further lines below the first; a pipe gets one line. */
function foldedLines({ isTerminal, columns }: CommandContext['out'], text: string, margin: string): string[] {
  if (!isTerminal) return [text];
  const [first = '', ...rest] = wrapped(text, columns - margin.length, '');
  return [first, ...rest.map((one) => `${margin}${one}`)];
}

function textLines(context: CommandContext, { texts = [] }: Step): string[] {
  const { out } = context;
  if (!hasFlag(context, 'texts')) return [];
  return texts.flatMap(({ title, text }) => [
    line(out, [[`      ${title}`, 'dim']]),
    ...plain(text)
      .split('\n')
      .map((one) => `      │ ${one}`),
  ]);
}
