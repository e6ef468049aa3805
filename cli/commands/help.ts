/** `agent help`: the manual in the terminal, as a man page, as Markdown. @see CLI-2 in docs/specification.md */

import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { commandAt, helpOn } from '../help.ts';
import { markdownManual } from '../manual-markdown.ts';
import { commandRoff, groupRoff } from '../manual-roff.ts';
import { groupOf, unknownCommand } from '../unknown-command.ts';
import { version } from '../version.ts';

export function showHelp(context: CommandContext): Promise<ExitCode> {
  const { args, out } = context;
  const group = groupOf(args);
  if (group.length === 0) {
    const { message, cure } = unknownCommand(args);
    out.complain(`agent: ${message}\n${cure}\n`);
    return Promise.resolve(2);
  }
  const command = commandAt(args);
  if (hasFlag(context, 'markdown')) out.print(markdownManual(group));
  else if (!hasFlag(context, 'man')) out.print(helpOn(args, out));
  else
    out.print(
      command === undefined || group.length > 1 ? groupRoff(args, group, version()) : commandRoff(command, version()),
    );
  return Promise.resolve(0);
}
