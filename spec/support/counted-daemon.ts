/**
 * The real daemon inside a process that counts what lives in it: actors, rows of the tables, timers, sockets, files,
 * children. Started by a spec with an IPC channel; leaks on purpose where it is told to, so that the counting is known
 * to notice.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import v8 from 'node:v8';
import { Actor, type AnyActorRef, createActor, createMachine } from 'xstate';
import type { DaemonParts } from '../../runtime/assemble.ts';
import { runDaemon } from '../../runtime/daemon.ts';
import { countActors } from '../../runtime/inspector/census.ts';
import { timerOwners } from '../../runtime/system/timers.ts';

/** What lives, by its kind. Two counts with nothing under way between them are equal, or something has leaked. */
export interface Counts {
  /** Those in the tree, by machine. */
  readonly actors: Readonly<Record<string, number>>;
  /** Those on the heap, in the tree or not. */
  readonly actorsOnHeap: number;
  readonly exchanges: number;
  /** Whether somebody still follows the steps of the machines. */
  readonly followed: boolean;
  /** Waits of the charts, by the machine that waits. */
  readonly waits: Readonly<Record<string, number>>;
  /** What keeps the loop alive. */
  readonly resources: Readonly<Record<string, number>>;
  /** Open file descriptors, by what they lead to. */
  readonly descriptors: Readonly<Record<string, number>>;
  /** The names of the child processes. */
  readonly children: readonly string[];
}

export type Leak = 'actor' | 'orphan' | 'exchange' | 'socket' | 'child' | 'timer' | 'wait';
export type Asked = { readonly count: true } | { readonly leak: Leak } | { readonly stop: true };
export type Told = { readonly counts: Counts } | { readonly leaked: Leak } | { readonly ended: 0 | 1 };

let lent: DaemonParts | undefined;
/** What was leaked on purpose is held here, or a leak could be collected as garbage. */
const held: (Socket | ChildProcess | NodeJS.Timeout | AnyActorRef)[] = [];

function count(): Counts {
  const root = lent?.root;
  return {
    actors: root === undefined || root.getSnapshot().status !== 'active' ? {} : countActors(root),
    actorsOnHeap: v8.queryObjects(Actor, { format: 'count' }) as number,
    exchanges: lent?.webhooks.replay.exchanges.size ?? 0,
    followed: (lent?.inspector.watched() ?? false) !== false,
    waits: root === undefined ? {} : waitsOf(root),
    resources: tally(process.getActiveResourcesInfo().filter((name) => name !== 'Immediate')),
    descriptors: tally(descriptors()),
    children: children(),
  };
}

function waitsOf(root: AnyActorRef): Record<string, number> {
  return tally(
    timerOwners(root).map((ref) => (ref as unknown as { readonly logic: { readonly id: string } }).logic.id),
  );
}

function descriptors(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const leadsTo = readlinkSync(`/proc/self/fd/${fd}`).replace(/:\[\d+\]$/, '');
      // Libraries open it once, at their first need, and keep it.
      return leadsTo === '/dev/null' ? [] : [leadsTo];
    } catch {
      // The descriptor of this very listing.
      return [];
    }
  });
}

function children(): string[] {
  if (process.platform !== 'linux') return [];
  const found: string[] = [];
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (Number(afterName[1]) === process.pid) found.push(stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found.sort();
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

async function leak(kind: Leak): Promise<void> {
  if (lent === undefined) throw new Error('nothing stands yet');
  const { root, webhooks } = lent;
  const { exchanges, pools } = webhooks.replay;
  switch (kind) {
    case 'actor': {
      // A request without an exchange waits for its body for ever.
      const child = pools().requests.spawn('leaked', {
        id: 'leaked',
        origin: 'http',
        method: 'POST',
        path: '/webhooks/plain',
        receivedAtMs: 0,
      });
      if (child !== undefined) held.push(child);
      return;
    }
    case 'orphan':
      // As a chart that failed leaves what it invoked (statelyai/xstate #5153).
      held.push(createActor(createMachine({ id: 'orphan' })).start());
      return;
    case 'exchange':
      exchanges.set('leaked', {} as never);
      return;
    case 'socket': {
      const url = new URL(root.system.get('gateway')?.getSnapshot().context.url ?? '');
      const socket = connect(Number(url.port), url.hostname);
      held.push(socket);
      await new Promise((resolve) => socket.once('connect', resolve));
      return;
    }
    case 'child': {
      const child = spawn('sleep', ['600'], { stdio: 'ignore' });
      held.push(child);
      await new Promise((resolve) => child.once('spawn', resolve));
      return;
    }
    case 'timer':
      held.push(setInterval(() => {}, 1_000));
      return;
    case 'wait':
      (root.system as never as { scheduler: { schedule(...given: unknown[]): void } }).scheduler.schedule(
        root,
        root,
        { type: 'leaked' },
        600_000,
        'leaked',
      );
  }
}

const report = (told: Told): void => void process.send?.(told);

process.on('message', (asked: Asked) => {
  if ('count' in asked) report({ counts: count() });
  else if ('leak' in asked) void leak(asked.leak).then(() => report({ leaked: asked.leak }));
  else lent?.root.send({ type: 'daemon.stop' });
});

// Both are opened by their first use, and the module loader has to come to rest.
process.stdout.write('');
process.stderr.write('');
while (process.getActiveResourcesInfo().some((name) => name === 'FSReqCallback' || name === 'CloseReq'))
  await new Promise(setImmediate);
report({ counts: count() });
const ended = await runDaemon({
  home: process.env.AGENT_HOME ?? '',
  env: process.env,
  version: 'counted',
  lend: (parts) => {
    lent = parts;
  },
});
lent = undefined;
// The parent takes its leave once it has the counts; whatever else keeps the loop alive then has leaked.
report({ ended });
