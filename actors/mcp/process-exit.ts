/**
 * Ends a child's complete process group in steps: it waits for a voluntary exit, sends SIGTERM, then SIGKILL. Resolves
 * when no process of the group is left.
 * @see LIF-9 in docs/specification.md
 */

import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isExhausted } from '../exhaustion.ts';

/** How often a dying group is checked. */
const lookMs = 5;
/** SIGKILL takes milliseconds, but a process that hangs in the kernel ends only when the kernel releases it. */
const maxLooksMs = 1_000;

interface EndingGroup {
  /** The group's id, which is its leader's process id. */
  readonly group: number;
  /** Resolves when the leader has ended. */
  readonly exited: Promise<unknown>;
  /** Kills what the child started, also outside of the group; comes before the SIGKILL. */
  readonly sweep: () => Promise<void>;
  /** How long the child may take to end by itself before SIGTERM. */
  readonly politeMs: number;
  /** How long the group may take from SIGTERM to SIGKILL. */
  readonly termMs: number;
}

/** Never rejects. */
export async function endGroup({ group, exited, sweep, politeMs, termMs }: EndingGroup): Promise<void> {
  if (!(await settlesWithin(exited, politeMs))) {
    signalGroup(group, 'SIGTERM');
    await settlesWithin(exited, termMs);
  }
  await sweep();
  // With the leader gone, the rest of the group has no purpose.
  for (let waitedMs = 0; signalGroup(group, 'SIGKILL') && waitedMs < maxLooksMs; waitedMs += lookMs) {
    if (!(await livesOn(group))) return;
    await wait(lookMs);
  }
}

/** False if the group has no process any more. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * A dead process accepts signals until its parent reaps it, which never happens if the first process of a container is no
 * init. So on Linux the members are checked; elsewhere the result of the signal counts.
 */
async function livesOn(group: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const entries = await readdir('/proc').catch(() => undefined);
  // If no descriptor is left to check, the result of the signal counts.
  if (entries === undefined) return true;
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'latin1').catch(isExhausted);
    if (typeof stat === 'boolean') {
      if (stat) return true;
      continue;
    }
    // The name, in parentheses, may contain anything; state, parent and group follow it.
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(itsGroup) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** True if the event comes within the time, else false. */
export function settlesWithin(event: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, false);
    event.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}
