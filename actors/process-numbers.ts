/**
 * Says which process ids a child and its descendants can have. Linux hands ids out in ascending order and begins again at the
 * bottom when it reaches the greatest one; until then every id below that of the child was in use before it. A fork that fails
 * at the limit of a control group takes an id without being counted, so a child would have to survive as many failures as
 * there are ids to be overlooked.
 * @see LIF-9 in docs/specification.md
 * @see [proc_stat(5)](https://man7.org/linux/man-pages/man5/proc_stat.5.html), `processes`
 * @see [proc_loadavg(5)](https://man7.org/linux/man-pages/man5/proc_loadavg.5.html), the fourth field
 */

import { readFile } from 'node:fs/promises';

export interface ProcessCount {
  /** Processes and threads that were ever created on the machine. */
  readonly created: number;
  /** Processes and threads that exist. */
  readonly existing: number;
}

/** A child, and a count from before it was started; undefined where none is known. */
export interface Start {
  readonly pid: number;
  readonly before: ProcessCount | undefined;
}

/** A process, its group and its session may each keep an id in use. */
const idsOfProcess = 3;

/** Undefined where the system does not tell, or not in this form. */
export async function countProcesses(): Promise<ProcessCount | undefined> {
  const [stat, load] = await Promise.all([textOf('/proc/stat'), textOf('/proc/loadavg')]);
  const created = Number(/^processes (\d+)$/m.exec(stat)?.[1] ?? 0);
  const existing = Number(/^\S+ \S+ \S+ \d+\/(\d+) /.exec(load)?.[1] ?? 0);
  return created > 0 && existing > 0 ? { created, existing } : undefined;
}

/** The greatest process id and one more; 0 where the system does not tell. */
export async function processIdLimit(): Promise<number> {
  return Number(await textOf('/proc/sys/kernel/pid_max')) || 0;
}

/**
 * Whether a process can be the child or a descendant of it. Every id is possible where the counts do not rule out that Linux
 * has begun again at the bottom since the start.
 * @param now a count from after the process ids were listed
 */
export function mayDescend(
  id: number,
  { pid, before }: Start,
  { now, limit }: { readonly now: ProcessCount | undefined; readonly limit: number },
): boolean {
  const created = before === undefined || now === undefined ? 0 : now.created - before.created;
  // The child itself was counted, or the count is none.
  if (before === undefined || created < 1) return true;
  // Ids that are in use are passed over, so the range that was handed out may be longer by as many.
  return id >= pid || pid + created + idsOfProcess * before.existing >= limit;
}

function textOf(path: string): Promise<string> {
  return readFile(path, 'latin1').catch(() => '');
}
