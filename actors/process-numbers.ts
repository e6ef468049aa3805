/**
 * Determines which process ids a child and its descendants can have. Linux assigns ids in ascending order and wraps
 * around at the greatest one; until then every lower id than the child's was in use before it. A fork that fails at the
 * limit of a control group takes an id without being counted, so overlooking a descendant would take as many failures as
 * there are ids.
 * @see LIF-9 in docs/specification.md
 * @see [proc_stat(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html), `processes`
 * @see [proc_loadavg(5)](https://man7.org/linux/man-pages/man5/proc_loadavg.5.html), the fourth field
 */

import { readFile } from 'node:fs/promises';

export interface ProcessCount {
  /** Processes and threads ever created on the machine. */
  readonly created: number;
  /** Processes and threads that exist. */
  readonly existing: number;
}

/** A child, and a count from before it was started; undefined if there is none. */
export interface Start {
  readonly pid: number;
  readonly before: ProcessCount | undefined;
}

/** A process, its group and its session may each keep an id in use. */
const idsOfProcess = 3;

/** Undefined if the system does not report it in this format. */
export async function countProcesses(): Promise<ProcessCount | undefined> {
  const [stat, load] = await Promise.all([textOf('/proc/stat'), textOf('/proc/loadavg')]);
  const created = Number(/^processes (\d+)$/m.exec(stat)?.[1] ?? 0);
  const existing = Number(/^\S+ \S+ \S+ \d+\/(\d+) /.exec(load)?.[1] ?? 0);
  return created > 0 && existing > 0 ? { created, existing } : undefined;
}

/** The greatest process id plus one; 0 if the system does not report it. */
export async function processIdLimit(): Promise<number> {
  return Number(await textOf('/proc/sys/kernel/pid_max')) || 0;
}

/**
 * Whether a process can be the child or its descendant. Every id is possible unless the counts rule out that the ids have
 * wrapped around since the start.
 * @param now a count from after the process ids were listed
 */
export function mayDescend(
  id: number,
  { pid, before }: Start,
  { now, limit }: { readonly now: ProcessCount | undefined; readonly limit: number },
): boolean {
  const created = before === undefined || now === undefined ? 0 : now.created - before.created;
  // The child itself increases the count, so a smaller difference is not valid.
  if (before === undefined || created < 1) return true;
  // Ids in use are skipped, so the assigned range may be longer by as many.
  return id >= pid || pid + created + idsOfProcess * before.existing >= limit;
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}
