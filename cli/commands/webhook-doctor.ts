/** `agent webhook doctor`: why the last requests of a route were refused. @see SRC-5 in docs/specification.md */

import type { ExitCode } from '../context.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';
import { line, whole } from '../draw.ts';
import { moment } from '../labelled.ts';
import { oneLine, printJson } from '../terminal.ts';

export async function examineWebhook(context: CommandContext): Promise<ExitCode> {
  const profile = textFlag(context, 'profile');
  const answer = await context.ask('webhook.doctor', {
    name: context.args[0] ?? '',
    ...(profile === undefined ? {} : { profile }),
  });
  const { out } = context;
  if (hasFlag(context, 'json')) printJson(context, answer);
  else if (answer.refusals.length === 0)
    out.print(`No request of ${oneLine(answer.name)} was refused since the gateway started.\n`);
  else {
    const lines = answer.refusals.flatMap(({ key, received_at: at, findings }) => [
      line(out, [
        [`Refused ${moment(at, Date.now())}`, 'bold'],
        [`  agent inspect why ${key}`, 'dim'],
      ]),
      ...findings.flatMap(({ text }) => whole(out, `→ ${oneLine(text)}`, 'plain', '  ')),
    ]);
    out.print(`${lines.join('\n')}\n`);
  }
  return 0;
}
