/**
 * `agent inspect why`: what became of a delivery and why, as the states that it passed with what each decided.
 * @see INS-2 and DUR-2 in docs/specification.md
 */

import type { Chapter, Stair, Story } from '../../runtime/inspector/wire.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { line, type Piece, type Style } from '../draw.ts';
import { ago, oneLine, plain, printJson } from '../terminal.ts';

const marks: Readonly<Record<Stair['result'], readonly [mark: string, style: Style]>> = {
  passed: ['✓', 'green'],
  stopped: ['■', 'yellow'],
  skipped: ['–', 'dim'],
  waiting: ['…', 'cyan'],
  failed: ['✗', 'red'],
};

export async function explainDelivery(context: CommandContext): Promise<ExitCode> {
  const story = (await context.call('inspect.why', { id: context.args[0] ?? '' })) as unknown as Story;
  if (hasFlag(context, 'json')) {
    printJson(context, story);
    return 0;
  }
  const { out } = context;
  const received = new Date(story.received).toISOString();
  const lines = [
    line(out, [
      [oneLine(story.delivery), 'bold'],
      [`  ${oneLine(story.route)}  ${oneLine(story.event)}  ${ago(received, Date.now())} ago  ${received}`, 'dim'],
    ]),
    plain(story.verdict),
    ...(story.cure === '' ? [] : [line(out, [[`→ ${plain(story.cure)}`, 'cyan']], Number.POSITIVE_INFINITY)]),
  ];
  for (const chapter of story.chapters) lines.push('', ...chapterLines(context, chapter));
  out.print(`${lines.join('\n')}\n`);
  return 0;
}

function chapterLines(context: CommandContext, { title, actor, began, ended, stairs }: Chapter): string[] {
  const { out } = context;
  const took = ended === undefined ? '' : `  ${ended - began} ms`;
  const width = Math.max(0, ...stairs.map(({ state }) => state.length));
  return [
    line(out, [
      [oneLine(title), 'bold'],
      [`${took}  ${oneLine(actor)}`, 'dim'],
    ]),
    ...stairs.flatMap((stair) => {
      const [mark, style] = marks[stair.result];
      const pieces: Piece[] = [
        [`  ${mark} `, style],
        [`${stair.state.padEnd(width)}  `],
        [oneLine(stair.told), stair.result === 'passed' || stair.result === 'skipped' ? 'plain' : style],
        [`  ${stair.rule}`, 'dim'],
      ];
      // What stopped a delivery is what was asked for: it is never cut.
      const whole = stair.result === 'stopped' || stair.result === 'failed';
      return [line(out, pieces, whole ? Number.POSITIVE_INFINITY : undefined), ...textLines(context, stair)];
    }),
  ];
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
