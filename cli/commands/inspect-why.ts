/**
 * `agent inspect why`: the outcome of a delivery and its reason, as the states it passed with each decision.
 * @see INS-2 and DUR-2 in docs/specification.md
 */

import { stateWords } from '../../machines/base/status.ts';
import type { Chapter, Stair, Story } from '../../runtime/inspector/wire.ts';
import { askedEvent, type CommandContext, type ExitCode, hasFlag } from '../context.ts';
import { line, type Piece, type Style, whole } from '../draw.ts';
import { span } from '../labelled.ts';
import { ago, oneLine, plain, show, wrapped } from '../terminal.ts';

const marks: Readonly<Record<Stair['result'], readonly [mark: string, style: Style]>> = {
  passed: ['✓', 'green'],
  stopped: ['■', 'yellow'],
  skipped: ['–', 'dim'],
  waiting: ['…', 'cyan'],
  failed: ['✗', 'red'],
};

export async function explainDelivery(context: CommandContext): Promise<ExitCode> {
  const story = await context.ask('inspect.why', askedEvent(context));
  return show(context, story, () => formatStory(context, story));
}

function formatStory(context: CommandContext, story: Story): string {
  const { out } = context;
  const received = new Date(story.received).toISOString();
  const lines = [
    line(out, [
      [oneLine(story.delivery), 'bold'],
      [`  ${oneLine(story.route)}  ${oneLine(story.event)}  ${ago(received, Date.now())} ago  ${received}`, 'dim'],
    ]),
    ...whole(out, oneLine(story.verdict), 'plain', ''),
    ...(story.cure === '' ? [] : whole(out, `→ ${oneLine(story.cure)}`, 'cyan')),
  ];
  for (const { text } of story.findings ?? []) lines.push(...whole(out, `→ ${oneLine(text)}`, 'cyan'));
  for (const chapter of story.chapters) lines.push('', ...chapterLines(context, chapter));
  return `${lines.join('\n')}\n`;
}

function chapterLines(context: CommandContext, { title, actor, began, ended, stairs }: Chapter): string[] {
  const { out } = context;
  const from = new Date(began).toISOString();
  const took =
    ended === undefined ? `  for ${ago(from, Date.now())}` : `  ${span(from, new Date(ended).toISOString())}`;
  const width = Math.max(0, ...stairs.map(({ state }) => stateWords(state).length));
  return [
    line(out, [
      [oneLine(title), 'bold'],
      [`${took}  ${oneLine(actor)}`, 'dim'],
    ]),
    ...stairs.flatMap((stair) => {
      const [mark, style] = marks[stair.result];
      const margin = ' '.repeat(width + 6);
      // What a delivery waits for or was stopped by is the answer to the command: never cut it.
      const texts = foldedLines(out, `${oneLine(stair.told)}  ${stair.rule}`, margin);
      const usual = stair.result === 'passed' || stair.result === 'skipped';
      const lines = texts.map((one, at) => {
        const isLast = at === texts.length - 1;
        const words = isLast ? one.slice(0, one.length - stair.rule.length) : one;
        const pieces: Piece[] = [
          ...(at === 0 ? ([[`  ${mark} `, style], [`${stateWords(stair.state).padEnd(width)}  `]] as const) : []),
          [words, usual ? 'plain' : style],
          ...(isLast ? ([[stair.rule, 'dim']] as const) : []),
        ];
        return line(out, pieces, Number.POSITIVE_INFINITY);
      });
      return [...lines, ...textLines(context, stair)];
    }),
  ];
}

/** Wraps to the terminal, further lines below the first; a pipe gets one line. */
function foldedLines({ isTerminal, columns }: CommandContext['out'], text: string, margin: string): string[] {
  if (!isTerminal) return [text];
  const [first = '', ...rest] = wrapped(text, columns - margin.length, '');
  return [first, ...rest.map((one) => `${margin}${one}`)];
}

function textLines(context: CommandContext, { texts = [] }: Stair): string[] {
  const { out } = context;
  if (!hasFlag(context, 'texts')) return [];
  return texts.flatMap(({ title, text }) => [
    line(out, [[`      ${title}`, 'dim']]),
    ...plain(text)
      .split('\n')
      .map((one) => `      │ ${one}`),
  ]);
}
