/** `agent doctor`: finds what keeps the gateway from working, with the remedy. @see CLI-2 in docs/specification.md */

import type { Reported } from '../../runtime/doctor/examine.ts';
import { type CommandContext, type ExitCode, hasFlag, type Output, withHomeNamed } from '../context.ts';
import { dim, inColour, oneLine, printJson, wrapped } from '../terminal.ts';
import { version } from '../version.ts';

type Trouble = Exclude<Reported, { readonly level: 'good' }>;

const words = { good: 'ok', note: 'note', warning: 'warn', wrong: 'WRONG' } as const;
const colours = { good: 'green', note: 'cyan', warning: 'yellow', wrong: 'red' } as const;
const margin = ' '.repeat(16);

export async function runDoctor(context: CommandContext): Promise<ExitCode> {
  const { examineHome } = await import('../../runtime/doctor/examine.ts');
  const found = await examineHome({
    home: context.home,
    env: context.env,
    version: version(),
    offline: hasFlag(context, 'offline'),
    fix: hasFlag(context, 'fix'),
  });
  const left = found.filter((one): one is Trouble => one.level !== 'good' && one.fixed !== true);
  if (hasFlag(context, 'json')) printJson(context, found.map(rowOf));
  else {
    for (const one of found) context.out.print(lineOf(context, one));
    context.out.print(`\n${withHomeNamed(context.gateway, summary(found, left, hasFlag(context, 'fix')))}\n`);
  }
  return left.some(({ level }) => level === 'wrong') ? 1 : 0;
}

function lineOf({ out, gateway }: CommandContext, one: Reported): string {
  const width = Math.max(40, Math.min(out.columns, 100) - margin.length);
  const lines = (text: string): readonly string[] => wrapped(oneLine(text), width, '');
  if (one.level === 'good') return rowOn(out, [words.good, colours.good, one.area], lines(one.what));
  const what = lines(`${one.place}: ${one.what}`);
  if (one.fixed === true) return rowOn(out, ['fixed', colours.good, one.area], what);
  const failed = one.fixFailed === undefined ? [] : lines(`could not be fixed: ${one.fixFailed}`);
  const cure = wrapped(oneLine(withHomeNamed(gateway, one.cure)), width - 3, '   ').map((line, at) =>
    dim(out, at === 0 ? `→  ${line}` : line),
  );
  return rowOn(out, [words[one.level], colours[one.level], one.area], [...what, ...failed, ...cure]);
}

function rowOn(
  out: Output,
  [word, colour, area]: readonly [string, (typeof colours)[keyof typeof colours], string],
  lines: readonly string[],
): string {
  const head = `${inColour(out, colour, word.padEnd(6))} ${area.padEnd(8)} `;
  return `${lines.map((line, at) => `${at === 0 ? head : margin}${line}`).join('\n')}\n`;
}

function summary(found: readonly Reported[], left: readonly Trouble[], mayFix: boolean): string {
  const count = (level: Trouble['level']): number => left.filter((one) => one.level === level).length;
  const wrong = count('wrong');
  const warnings = count('warning');
  const done = found.filter((one) => one.level !== 'good' && one.fixed === true).length;
  const fixable = left.filter(({ fix }) => fix !== undefined).length;
  const parts = [
    ...(wrong > 0 ? [wrong === 1 ? '1 thing is wrong' : `${wrong} things are wrong`] : []),
    ...(warnings > 0 ? [warnings === 1 ? '1 warning' : `${warnings} warnings`] : []),
    ...(done > 0 ? [`${done} fixed`] : []),
  ];
  const text = parts.length === 0 ? 'Nothing is wrong.' : `${parts.join(', ')}.`;
  return fixable > 0 && !mayFix ? `${text} \`agent doctor --fix\` fixes ${fixable} of them.` : text;
}

/** The row for scripts; a good finding has no code. */
function rowOf(one: Reported): Record<string, unknown> {
  if (one.level === 'good') return { level: one.level, area: one.area, what: one.what };
  const { level, area, code, place, what, cure, fix, fixed, fixFailed } = one;
  return {
    level,
    area,
    code,
    place,
    what,
    cure,
    fixable: fix !== undefined,
    ...(fixed === undefined ? {} : { fixed }),
    ...(fixFailed === undefined ? {} : { fix_failed: fixFailed }),
  };
}
