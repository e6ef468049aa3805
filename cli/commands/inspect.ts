/** `agent inspect …`: the living machines as a tree, as a stream, or one by one. @see INS-2 */

import type { JsonObject } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { connectControl } from '../../runtime/control/client.ts';
import { openBrowser } from '../browser.ts';
import { NotRunning } from '../call.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';
import { ago, bold, dim, oneLine, plain, printJson } from '../terminal.ts';

interface ActorNode {
  readonly id: string;
  readonly machine: string;
  readonly state: string;
  readonly since: string;
  readonly children: readonly ActorNode[];
  readonly more?: number;
}

interface ActorDetail extends Omit<ActorNode, 'children'> {
  readonly tags: readonly string[];
  readonly description?: string;
  readonly context: unknown;
  readonly steps: readonly {
    readonly at: string;
    readonly event: string;
    readonly from: string;
    readonly to: string;
  }[];
  readonly children: readonly string[];
}

export async function showTree(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'web')) return openPage(context);
  const tree = (await context.call('inspect.tree')) as unknown as ActorNode;
  if (hasFlag(context, 'json')) printJson(context, tree);
  else context.out.print(`${drawTree(context, tree, '', '', Date.now()).join('\n')}\n`);
  return 0;
}

/** The link works once, so it is shown and not kept; whoever reads it here may open it on this machine. */
async function openPage(context: CommandContext): Promise<ExitCode> {
  const { url } = (await context.call('inspect.link')) as { readonly url: string };
  const { out } = context;
  if (hasFlag(context, 'json')) {
    printJson(context, { url });
    return 0;
  }
  out.print(`${url}\n`);
  const opened = openBrowser(url, context.env);
  const port = new URL(url).port;
  if (!opened && context.env.SSH_CONNECTION !== undefined) {
    out.complain(`From your own machine: ssh -L ${port}:127.0.0.1:${port} <this host>, then open the link there.\n`);
  }
  out.complain('The link works once, within five minutes.\n');
  return 0;
}

export async function showActor(context: CommandContext): Promise<ExitCode> {
  const actor = (await context.call('inspect.show', { actor: context.args[0] ?? '' })) as unknown as ActorDetail;
  if (hasFlag(context, 'json')) {
    printJson(context, actor);
    return 0;
  }
  const { out } = context;
  out.print(`${bold(out, plain(actor.id))}  ${actor.machine}\n`);
  out.print(`  state    ${plain(actor.state)}  ${dim(out, `for ${ago(actor.since, Date.now())}`)}\n`);
  if (actor.description !== undefined) out.print(`           ${actor.description}\n`);
  if (actor.steps.length > 0) {
    out.print('  steps\n');
    for (const { at, event, from, to } of actor.steps)
      out.print(`    ${dim(out, at.slice(11, 23))}  ${plain(from)} → ${plain(to)}  ${dim(out, plain(event))}\n`);
  }
  out.print(`  context\n${indent(plain(JSON.stringify(actor.context, null, 2)), 4)}\n`);
  for (const child of actor.children) out.print(`  child    ${plain(child)}\n`);
  return 0;
}

/** Prints records until the daemon ends or Ctrl-C. */
export async function followActors(context: CommandContext): Promise<ExitCode> {
  const client = await connectControl(homePaths(context.home).socket);
  if (client === undefined) throw new NotRunning(context.home);
  client.onNotification((_, record) => {
    if (!wanted(context, record)) return;
    context.out.print(hasFlag(context, 'json') ? `${JSON.stringify(record)}\n` : `${recordLine(context, record)}\n`);
  });
  process.once('SIGINT', () => client.close());
  await client.call('inspect.follow');
  await client.closed;
  return 0;
}

function wanted(context: CommandContext, record: JsonObject): boolean {
  const actor = textFlag(context, 'actor');
  const machine = textFlag(context, 'machine');
  const delivery = textFlag(context, 'delivery');
  return (
    (actor === undefined || String(record.actor).includes(actor)) &&
    (machine === undefined || record.machine === machine) &&
    (delivery === undefined || record.delivery_id === delivery)
  );
}

function recordLine({ out }: CommandContext, record: JsonObject): string {
  const time = dim(out, String(record.at).slice(11, 23));
  const actor = plain(String(record.actor));
  if (record.from === undefined) return `${time}  ${actor}  ${dim(out, 'spawned')}`;
  const facts = [record.event, record.delivery_id, record.reason]
    .filter((fact) => fact !== undefined)
    .map((fact) => oneLine(String(fact)));
  return `${time}  ${actor}  ${plain(String(record.from))} → ${plain(String(record.to))}  ${dim(out, facts.join('  '))}`;
}

function drawTree(context: CommandContext, node: ActorNode, first: string, rest: string, nowMs: number): string[] {
  const { out } = context;
  const line = `${first}${plain(node.id)}  ${bold(out, plain(node.state))}  ${dim(out, `${ago(node.since, nowMs)}  ${node.machine}`)}`;
  const more = node.more === undefined ? [] : [`${rest}└─ ${dim(out, `… ${node.more} more`)}`];
  const children = node.children.flatMap((child, index) => {
    const last = index === node.children.length - 1 && node.more === undefined;
    return drawTree(context, child, `${rest}${last ? '└─ ' : '├─ '}`, `${rest}${last ? '   ' : '│  '}`, nowMs);
  });
  return [line, ...children, ...more];
}

function indent(text: string, by: number): string {
  return text
    .split('\n')
    .map((line) => ' '.repeat(by) + line)
    .join('\n');
}
