/**
 * Compares this machine's clock, by which work is due, with that of a shared journal. A large difference is a fault until
 * a comparison finds none; a smaller one is only reported.
 * @see SCA-1 in docs/specification.md
 */

import { type Fault, fault } from '../../machines/base/fault.ts';

export interface ComparedClock {
  readonly nowMs: () => number;
  /** Called with a difference that is reported. */
  readonly differs: (message: string) => void;
}

interface ClockReading {
  readonly askedAtMs: number;
  readonly theirsMs: number;
  readonly answeredAtMs: number;
}

const refusedSkewMs = 60_000;
const notedSkewMs = 5_000;

const setClock = fault(
  'journal-clock',
  "journal: this machine's clock was set; nothing is taken until it has been compared with that of the journal's database",
);

export function createClockCheck({ nowMs, differs }: ComparedClock, steadyMs: () => number) {
  let found: Fault | undefined;
  let aheadMs = 0;
  /** This machine's clock minus the steady one at the last comparison. */
  let comparedMs: number | undefined;

  return {
    /** Called before the journal is asked for its time; the returned function compares its answer. */
    begin(): (theirsMs: number) => Fault | undefined {
      const askedAtMs = nowMs();
      const steadyAtMs = steadyMs();
      return (theirsMs) => {
        const read = { askedAtMs, theirsMs, answeredAtMs: nowMs() };
        found = clockFault(read, differs);
        comparedMs = askedAtMs - steadyAtMs;
        aheadMs = aheadOf(read, aheadMs);
        return found;
      };
    },
    found: (): Fault | undefined => found,
    /** Why no work may begin by this clock now. One that is set is noticed before the next comparison. */
    obstacle(): Fault | undefined {
      if (found !== undefined || comparedMs === undefined) return found;
      // What a clock that was set says is due could be done hours early.
      const setMs = Math.abs(nowMs() - steadyMs() - comparedMs);
      return setMs > refusedSkewMs ? setClock : undefined;
    },
    /** How far the journal's clock is ahead of this machine's, in milliseconds. */
    aheadMs: (): number => aheadMs,
  };
}

/** Compares the clocks. Differences within the duration of the request are not counted. */
function clockFault(
  { askedAtMs, theirsMs, answeredAtMs }: ClockReading,
  differs: ComparedClock['differs'],
): Fault | undefined {
  const aheadMs = Math.max(0, askedAtMs - theirsMs);
  const behindMs = Math.max(0, theirsMs - answeredAtMs);
  const offMs = Math.max(aheadMs, behindMs);
  if (offMs <= notedSkewMs) return undefined;
  const seconds = Math.round(offMs / 1_000);
  const message = `this machine's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the journal's database; synchronize both`;
  if (offMs > refusedSkewMs) return fault('journal-clock', `journal: ${message}`);
  differs(message);
  return undefined;
}

/** How far the journal's clock is ahead. Keeps the known value if this reading allows it, so that times do not jump. */
function aheadOf({ askedAtMs, theirsMs, answeredAtMs }: ClockReading, knownMs: number): number {
  const [least, max] = [theirsMs - answeredAtMs, theirsMs - askedAtMs];
  return knownMs >= least && knownMs <= max ? knownMs : Math.round((least + max) / 2);
}
