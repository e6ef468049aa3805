/** Whether work is linear in its input, on a machine of any speed and load: by how CPU time grows, never by how much it is. */

const times = 16;
/** Linear work grows 16 times, quadratic work 256 times. */
const maxGrowth = 64;
const rounds = 8;
/** Shorter measurements would be noise. */
const leastMicroseconds = 2_000;

/** Compares the work that `prepare` returns for a size with that for sixteen times the size. */
export function isLinear(prepare: (size: number) => () => unknown, size: number): boolean {
  const [small, large] = [prepare(size), prepare(size * times)];
  const least = Math.min(...Array.from({ length: rounds }, () => costOf(small)));
  // Noise only adds, so one round below the limit decides; work that is not linear has none, however often it is asked.
  return Array.from({ length: 4 * rounds }).some(() => costOf(large) < maxGrowth * least);
}

/** The CPU time of one call, in microseconds. */
function costOf(work: () => unknown): number {
  const began = process.cpuUsage();
  for (let calls = 1; ; calls += 1) {
    work();
    const { user, system } = process.cpuUsage(began);
    if (user + system >= leastMicroseconds) return (user + system) / calls;
  }
}
