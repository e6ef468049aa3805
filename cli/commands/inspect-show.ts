/**
 * `agent inspect show`: one actor in full, with its chart drawn. @see INS-2 in docs/specification.md
 */

import { eventWords, stateWords } from '../../machines/base/status.ts';
import { maxTimerMs } from '../../machines/base/timer.ts';
import type { ActorShown } from '../../runtime/control/contract/actors.ts';
import type { Chart } from '../../runtime/control/contract/wire.ts';
import { type CommandContext, type ExitCode, hasFlag } from '../context.ts';
import { drawChart, factsText, line, type Piece, styleOf, whole } from '../draw.ts';
import { ago, inTime, oneLine, plain, show } from '../terminal.ts';

const maxContextLines = 60;
const maxSteps = 16;

export async function showActor(context: CommandContext): Promise<ExitCode> {
  const actor = await context.ask('inspect.show', { actor: context.args[0] ?? '' });
  const chart = hasFlag(context, 'json') ? undefined : await chartOf(context, actor.machine);
  return show(context, actor, () => formatActor(context, actor, chart));
}

function formatActor(context: CommandContext, actor: ActorShown, chart: Chart | undefined): string {
  const { out } = context;
  const lines = [...head(context, actor), ...timers(context, actor), ...steps(context, actor)];
  lines.push('', line(out, [['context', 'bold']]));
  const held = plain(JSON.stringify(actor.context, null, 2)).split('\n');
  for (const one of held.slice(0, maxContextLines)) lines.push(line(out, [[`  ${one}`]]));
  if (held.length > maxContextLines) {
    lines.push(line(out, [[`  … ${held.length - maxContextLines} lines more; --json has them`, 'dim']]));
  }
  if (actor.children.length > 0) {
    lines.push(
      '',
      line(out, [['children', 'bold']]),
      ...actor.children.map((child) => line(out, [[`  ${oneLine(child)}`]])),
    );
  }
  if (chart !== undefined) {
    lines.push(
      '',
      line(out, [
        ['chart', 'bold'],
        [`  ${chart.machine}`, 'dim'],
      ]),
      ...drawChart(out, chart, actor.state),
    );
  }
  return `${lines.join('\n')}\n`;
}

function head({ out }: CommandContext, actor: ActorShown): string[] {
  const facts = factsText(actor.meta ?? {});
  return [
    line(out, [
      [oneLine(actor.id), 'bold'],
      [`  ${actor.machine}`, 'dim'],
    ]),
    line(out, [
      ['  '],
      [oneLine(stateWords(actor.state)), styleOf(actor.tags)],
      [`  for ${ago(actor.since, Date.now())}`, 'dim'],
      ...(actor.rule === '' ? [] : [[`  ${actor.rule}`, 'dim'] as Piece]),
    ]),
    ...(actor.description === '' ? [] : whole(out, `  ${actor.description}`)),
    ...(actor.why === undefined ? [] : whole(out, `  why: ${oneLine(actor.why)}`, 'yellow')),
    ...(facts === '' ? [] : [line(out, [[`  ${facts}`, 'dim']])]),
  ];
}

function timers({ out }: CommandContext, { timers: all }: ActorShown): string[] {
  // A limit that is turned off is a timer of the longest wait.
  const waiting = all.filter(({ started, due }) => Date.parse(due) - Date.parse(started) < maxTimerMs);
  if (waiting.length === 0) return [];
  return [
    '',
    line(out, [['timers', 'bold']]),
    ...waiting.map(({ label, event, due }) =>
      line(out, [[`  ${label === '' ? event : label}`], [`  ${inTime(due, Date.now())}`, 'cyan'], [`  ${due}`, 'dim']]),
    ),
  ];
}

function steps({ out }: CommandContext, { steps: taken }: ActorShown): string[] {
  if (taken.length === 0) return [];
  return [
    '',
    line(out, [['last steps', 'bold']]),
    ...taken
      .slice(-maxSteps)
      .map(({ at, event, from, to, why }) =>
        line(out, [
          [`  ${at.slice(11, 23)}`, 'dim'],
          [`  ${oneLine(stateWords(`${from} → ${to}`))}`],
          [event === '' ? '' : `  ${oneLine(eventWords(event))}`, 'dim'],
          [why === undefined ? '' : `  ${oneLine(why)}`, 'yellow'],
        ]),
      ),
  ];
}

/** A pool has no chart, and an older daemon lacks the command. */
async function chartOf(context: CommandContext, machine: string): Promise<Chart | undefined> {
  try {
    return await context.ask('inspect.chart', { machine });
  } catch {
    return undefined;
  }
}
