/** `agent help`: the manual in the terminal, or as Markdown. @see CLI-2 in docs/specification.md */

import { type CommandContext, type ExitCode, hasFlag, refuse } from '../context.ts';
import { helpOn } from '../help.ts';
import { markdownManual } from '../manual-markdown.ts';
import { groupOf, unknownCommand } from '../unknown-command.ts';

export function showHelp(context: CommandContext): Promise<ExitCode> {
  const { args, out } = context;
  const group = groupOf(args);
  if (group.length === 0) {
    const { message, cure } = unknownCommand(args);
    return Promise.resolve(refuse(context, `${message}\n${cure}`, 2));
  }
  out.print(hasFlag(context, 'markdown') ? markdownManual(group) : helpOn(args, out));
  return Promise.resolve(0);
}
