/**
 * `agent inspect`: the running charts as a tree, once or live; and the link to the page.
 * @see INS-2 and SEC-1 in docs/specification.md
 */

import { isLoopback } from '../../machines/base/loopback.ts';
import type { ControlClient } from '../../runtime/control/client.ts';
import type { ActorRow, DeltaMessage, Health, SnapshotMessage } from '../../runtime/control/contract/wire.ts';
import { connectGateway } from '../call.ts';
import { agentOf, type CommandContext, type ExitCode, hasFlag, refuse, textFlags } from '../context.ts';
import { drawTree, line, type Piece, type Tree } from '../draw.ts';
import { openForward } from '../forward-file.ts';
import { counted } from '../labelled.ts';
import { type Drawn, openScreen } from '../screen.ts';
import { ago, oneLine, printJson, show } from '../terminal.ts';

/** Prints the tree: live on a terminal, once elsewhere and of another gateway, which sends no changes. */
export async function inspect(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'web') && hasFlag(context, 'end-sessions'))
    return refuse(context, '--web and --end-sessions exclude each other; give one of them', 2);
  if (hasFlag(context, 'web')) return openPage(context);
  const ofPage = ['read-only', 'as'].find((name) => context.flags[name] !== undefined);
  if (ofPage !== undefined) return refuse(context, `--${ofPage} is for the page; give --web too`, 2);
  if (hasFlag(context, 'end-sessions')) return endSessions(context);
  const isLocal = context.gateway.node === undefined;
  const canRedraw = context.out.isTerminal && process.stdin.isTTY === true && context.env.TERM !== 'dumb';
  const live = isLocal && canRedraw && !hasFlag(context, 'json');
  return live ? watchTree(context) : showTree(context);
}

export async function showTree(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'json')) {
    printJson(context, await context.ask('inspect.tree'));
    return 0;
  }
  const { actors, more } = await context.ask('inspect.watch');
  const source = { rows: actors, more, nowMs: Date.now(), agent: agentOf(context.gateway) };
  context.out.print(`${drawTree(context.out, source).lines.join('\n')}\n`);
  return 0;
}

/** Draws the tree as it changes; `n` goes to the next failed actor, `q` or Ctrl-C ends it. */
async function watchTree(context: CommandContext): Promise<ExitCode> {
  const rows = new Map<string, ActorRow>();
  let { client, snapshot } = await watch(context, rows);
  let chosen: string | undefined;
  let failed: Tree['failed'] = [];
  const draw = (width: number, height: number, offset: number): Drawn => {
    const out = { ...context.out, columns: width };
    const nowMs = Date.now();
    const tree = drawTree(out, {
      rows: [...rows.values()],
      more: snapshot.more,
      nowMs,
      agent: agentOf(context.gateway),
    });
    failed = tree.failed;
    const room = Math.max(1, height - 2);
    const from = Math.max(0, Math.min(offset, tree.lines.length - room));
    const hidden = tree.lines.length - from - room;
    return {
      from,
      lines: [
        line(out, headline(snapshot.health, nowMs, failed, chosen)),
        ...tree.lines.slice(from, from + room),
        ...(hidden > 0
          ? [
              line(out, [
                [`… ${hidden} more; arrows scroll, ${failed.length > 0 ? 'n next failure, ' : ''}q ends`, 'dim'],
              ]),
            ]
          : []),
      ],
    };
  };
  const screen = openScreen(draw, (key) => {
    if (key !== 'n') return undefined;
    // After the last, and if the chosen one has recovered, the first.
    const next = failed[failed.findIndex(({ id }) => id === chosen) + 1] ?? failed[0];
    chosen = next?.id;
    return next?.line;
  });
  let isOver = false;
  let lost: unknown;
  // A gateway disconnects a terminal that is stopped for a while, too.
  const stay = async (): Promise<void> => {
    for (;;) {
      await client.closed;
      if (isOver) return;
      ({ client, snapshot } = await watch(context, rows));
      if (isOver) return client.close();
    }
  };
  void stay().catch((thrown: unknown) => {
    lost = thrown;
    screen.close();
  });
  const isCancelled = await screen.closed;
  isOver = true;
  client.close();
  if (lost !== undefined) throw lost;
  if (isCancelled) context.out.complain('Cancelled.\n');
  return isCancelled ? 130 : 0;
}

/** Reads the tree into the rows, and keeps them up to date until the connection ends. */
async function watch(
  { gateway }: CommandContext,
  rows: Map<string, ActorRow>,
): Promise<{ client: ControlClient; snapshot: SnapshotMessage }> {
  const client = await connectGateway(gateway);
  // Deltas that were received together with the answer are newer than the answer.
  const early: DeltaMessage[] = [];
  let take = (delta: DeltaMessage): void => void early.push(delta);
  client.on('inspect.delta', (delta) => take(delta));
  const snapshot = await client.ask('inspect.watch').catch((thrown: unknown) => {
    client.close();
    throw thrown;
  });
  rows.clear();
  for (const row of snapshot.actors) rows.set(row.id, row);
  take = (delta) => apply(rows, delta);
  for (const delta of early) take(delta);
  return { client, snapshot };
}

function apply(rows: Map<string, ActorRow>, { changed, gone }: DeltaMessage): void {
  for (const id of gone) rows.delete(id);
  for (const row of changed) rows.set(row.id, row);
}

function headline(
  { started, url, home }: Health,
  nowMs: number,
  failed: Tree['failed'],
  chosen: string | undefined,
): Piece[] {
  const up = ago(new Date(started).toISOString(), nowMs);
  const at = failed.findIndex(({ id }) => id === chosen);
  const which =
    at === -1 ? `${failed.length} failed` : `${at + 1} of ${failed.length} failed: ${oneLine(chosen ?? '')}`;
  return [
    ['agent', 'bold'],
    ...(failed.length === 0 ? [] : [[`  ${which}`, 'red'] as Piece]),
    [`  up ${up}  ${oneLine(url ?? 'not listening')}  ${oneLine(home)}`, 'dim'],
  ];
}

/** Ends all sessions of the page, in all browsers. */
async function endSessions(context: CommandContext): Promise<ExitCode> {
  const { ended } = await context.ask('inspect.endSessions');
  return show(context, { ended }, () => `${counted(ended, 'session')} of the inspector page ended.\n`);
}

/** Prints a link to the page and opens it in the browser through a private file. */
async function openPage(context: CommandContext): Promise<ExitCode> {
  const client = await connectGateway(context.gateway);
  try {
    const opened = new Promise<boolean>((resolve) => client.on('inspect.opened', () => resolve(true)));
    const { url } = await client.ask('inspect.link', {
      ...textFlags(context, 'as'),
      ...(hasFlag(context, 'read-only') ? { read_only: true } : {}),
    });
    const { env, out } = context;
    if (hasFlag(context, 'json')) {
      printJson(context, { url });
      return 0;
    }
    out.print(`${url}\n`);
    out.complain('The link works once, within five minutes.\n');
    const gone = client.closed.then(() => false);
    const forwarded = await openForward(url, env, Promise.race([opened, gone]));
    const { hostname, port } = new URL(url);
    if (forwarded === 'notOpened') out.complain('The browser has not opened it; open the link yourself.\n');
    // The link to a public address needs no tunnel.
    if (forwarded === 'noBrowser' && env.SSH_CONNECTION !== undefined && isLoopback(hostname)) {
      out.complain(
        `From your own machine: ssh -L ${port}:${hostname}:${port} <this host>, then open the link there.\n`,
      );
    }
    return 0;
  } finally {
    client.close();
  }
}
