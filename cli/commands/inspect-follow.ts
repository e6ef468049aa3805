/**
 * `agent inspect follow`: prints every transition on one line, until the daemon ends or Ctrl-C.
 * @see INS-2 and INS-3 in docs/specification.md
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { JsonObject } from '../../machines/base/json.ts';
import { eventWords, stateWords } from '../../machines/base/status.ts';
import { connectGateway } from '../call.ts';
import { type CommandContext, type ExitCode, hasFlag, refuse, textFlags } from '../context.ts';
import { line } from '../draw.ts';
import { followConnection } from '../follow.ts';
import { oneLine, printJsonLine } from '../terminal.ts';

/** A gateway that disconnects a reader is not hurried. */
const againMs = 250;

export async function followActors(context: CommandContext): Promise<ExitCode> {
  const asJson = hasFlag(context, 'json');
  const isFull = hasFlag(context, 'full');
  if (isFull && !asJson) return refuse(context, '--full prints records for programs; give --json too', 2);
  const query = {
    ...textFlags(context, 'actor', 'machine', 'route', 'server', 'delivery'),
    ...(isFull ? { full: true } : {}),
  };
  for (let again = false; ; again = true) {
    const client = await connectGateway(context.gateway);
    if (again) context.out.complain('agent: the records were read too slowly, and some are missing here\n');
    client.onNotification((_, record) => {
      if (asJson) printJsonLine(context, record);
      else context.out.print(`${recordLine(context, record)}\n`);
    });
    await followConnection(client, async () => void (await client.ask('inspect.follow', query)));
    await wait(againMs);
  }
}

function recordLine({ out }: CommandContext, record: JsonObject): string {
  const time = `${String(record.at).slice(11, 23)}  `;
  const actor = oneLine(String(record.actor));
  if (record.from === undefined) return line(out, [[time, 'dim'], [actor], ['  spawned', 'dim']]);
  const event = record.eventless === true ? undefined : (record.event as JsonObject | undefined)?.type;
  const facts = [event === undefined ? undefined : eventWords(String(event)), record.delivery_id]
    .filter((fact) => fact !== undefined)
    .map((fact) => oneLine(String(fact)));
  return line(out, [
    [time, 'dim'],
    [actor],
    [`  ${oneLine(stateWords(`${record.from} → ${record.to}`))}`, 'bold'],
    [facts.length === 0 ? '' : `  ${facts.join('  ')}`, 'dim'],
    [record.reason === undefined ? '' : `  ${oneLine(String(record.reason))}`, 'yellow'],
  ]);
}
