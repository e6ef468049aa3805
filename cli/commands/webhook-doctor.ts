/** `agent webhook doctor`: why the last requests of a route were refused. @see SRC-5 in docs/specification.md */

import type { CommandContext, ExitCode } from '../context.ts';
import { line, whole } from '../draw.ts';
import { moment } from '../labelled.ts';
import { oneLine, show } from '../terminal.ts';
import { routeChoice } from './webhook.ts';

export async function examineWebhook(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('webhook.doctor', routeChoice(context));
  const { out } = context;
  const none = `No request of ${oneLine(answer.name)} was refused since the gateway started.`;
  const lines = answer.refusals.flatMap(({ key, received_at: at, findings }) => [
    line(out, [
      [`Refused ${moment(at, Date.now())}`, 'bold'],
      [`  agent inspect why ${key}`, 'dim'],
    ]),
    ...findings.flatMap(({ text }) => whole(out, `→ ${oneLine(text)}`, 'plain', '  ')),
  ]);
  return show(context, answer, () => `${lines.join('\n') || none}\n`);
}
