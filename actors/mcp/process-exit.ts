/**
 * Ends a child's whole process group step by step: politely, firmly, and finally without asking; resolves when nobody of
 * the group is left. Knows process groups and nothing of what the child was for.
 * @see LIF-9 in docs/specification.md
 */

import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { isExhausted } from '../exhaustion.ts';

/** How often a dying group is looked at. */
const lookMs = 5;
/** Death by SIGKILL takes milliseconds, but a process that hangs in the kernel dies when that lets go of it. */
const mostLooksMs = 1_000;

export interface EndingGroup {
  /** The group's id, which is its leader's process id. */
  readonly group: number;
  /** Resolves when the leader has ended. */
  readonly exited: Promise<unknown>;
  /** How long the child may take to end by itself before SIGTERM. */
  readonly politeMs: number;
  /** How long the group may take from SIGTERM to SIGKILL. */
  readonly termMs: number;
}

/** Never rejects. */
export async function endGroup({ group, exited, politeMs, termMs }: EndingGroup): Promise<void> {
  if (!(await settlesWithin(exited, politeMs))) {
    signalGroup(group, 'SIGTERM');
    await settlesWithin(exited, termMs);
  }
  // Its leader gone, the rest of a group has nobody to work for.
  for (let waitedMs = 0; signalGroup(group, 'SIGKILL') && waitedMs < mostLooksMs; waitedMs += lookMs) {
    if (!(await livesOn(group))) return;
    await wait(lookMs);
  }
}

/** False where nobody is left to take the signal. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-group, signal);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * A dead process takes signals until its parent fetches it, and where the first process of a container is no init, the
 * parent of orphans, that is never. So on Linux the members are looked at; elsewhere the signal's word stands.
 */
async function livesOn(group: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const entries = await readdir('/proc').catch(() => undefined);
  // Without a descriptor to look with, the signal's answer counts.
  if (entries === undefined) return true;
  for (const entry of entries) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = await readFile(`/proc/${entry}/stat`, 'latin1').catch(isExhausted);
    if (typeof stat === 'boolean') {
      if (stat) return true;
      continue;
    }
    // The name, in parentheses, may hold anything; state, parent and group follow it.
    const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(itsGroup) === group && state !== 'Z' && state !== 'X') return true;
  }
  return false;
}

/** True where the event comes within the time, false where the time is over first. */
export function settlesWithin(event: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, false);
    event.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}
