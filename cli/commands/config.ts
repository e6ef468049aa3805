/** `agent config …`: findings at their places, and the schema for editors. @see CFG-2 and CFG-4 */

import { printDiagnostic } from '../../machines/config/diagnostic.ts';
import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag } from '../context.ts';
import { oneLine, plain, printJson } from '../terminal.ts';

export async function checkConfig(context: CommandContext): Promise<ExitCode> {
  const found = await context.ask('config.check');
  if (hasFlag(context, 'json')) printJson(context, found);
  else {
    if (found.length === 0) context.out.print('No findings.\n');
    else
      context.out.print(
        `${found.map((one) => plain(printDiagnostic(one))).join('\n\n')}\n\n${found.length === 1 ? '1 finding' : `${found.length} findings`}\n`,
      );
    const hints = await context.ask('config.hints');
    for (const hint of hints) context.out.print(`Hint: ${oneLine(hint)}\n`);
  }
  return found.some(({ severity }) => severity === 'error') ? 1 : 0;
}

export async function printSchema(context: CommandContext): Promise<ExitCode> {
  printJson(context, await context.ask('config.schema'));
  return 0;
}
