/**
 * Calls a view back when running actors of certain machines have changed, at most twice a second. While it waits for an
 * answer it is called at most twice a minute: a browser has few connections to a daemon, and what a person does would queue
 * behind those.
 */

import { useEffect, useRef } from 'preact/hooks';
import { link, living, nodes, onSteps } from './live.ts';
import { type Asking, useAsked } from './rpc.ts';

const leastMs = 500;
/** An answer that is not there by then may have been lost on the way, and the view would never be called again. */
const maxMs = 30_000;
/** The work that any gateway of a shared journal may do. The actors of other gateways are not streamed. */
const shared = ['agentRun', 'approval', 'coalescingGroup', 'cronJob', 'delivery'];
const elsewhereMs = 3_000;

/** Calls as `useAsked`, and again as `useFresh` says. */
export function useFollowed<Found>(machines: RegExp, key: string, ask: () => Promise<Found>): Asking<Found> {
  const asking = useAsked(key, ask);
  useFresh(machines, asking.again);
  return asking;
}

/** Calls back after machines with a matching name have taken a step or ended, and from time to time if they may elsewhere. */
export function useFresh(machines: RegExp, again: () => Promise<void> | void): void {
  const run = useRef(again);
  run.current = again;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    let isAsking = false;
    let isDue = false;
    let isOver = false;
    const ask = async (): Promise<void> => {
      last = performance.now();
      isDue = false;
      isAsking = true;
      await Promise.race([run.current(), new Promise((late) => setTimeout(late, maxMs))]);
      isAsking = false;
      timer = undefined;
      if (isDue) soon();
    };
    const soon = (): void => {
      if (isOver) return;
      isDue = isAsking;
      timer ??= setTimeout(() => void ask(), Math.max(60, last + leastMs - performance.now()));
    };
    const counted = (): string => {
      let mark = '';
      for (const row of living.get().rows.values()) if (machines.test(row.machine)) mark += `${row.id}${row.state}`;
      return mark;
    };
    let before = counted();
    const forgetRows = living.onChange(() => {
      const now = counted();
      if (now === before) return;
      before = now;
      soon();
    });
    const forgetSteps = onSteps((steps) => {
      if (steps.some(({ machine }) => machines.test(machine))) soon();
    });
    const isShared = shared.some((machine) => machines.test(machine));
    const look = setInterval(() => {
      if (isShared && (nodes.get() ?? 1) > 1 && !document.hidden && link.get() === 'live') soon();
    }, elsewhereMs);
    return () => {
      isOver = true;
      clearInterval(look);
      forgetRows();
      forgetSteps();
      clearTimeout(timer);
    };
  }, [machines]);
}
