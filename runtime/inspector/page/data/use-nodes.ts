/** The gateways of the database, read repeatedly while a view shows them. @see SCA-3 in docs/specification.md */

import { useEffect } from 'preact/hooks';
import type { NodeRow } from '../../../control/contract/gateway.ts';
import type { Result } from '../../../control/contract.ts';
import { link } from './live.ts';
import { type Asking, call, useAsked } from './rpc.ts';

/** Each read queries every gateway through the database. */
const restMs = 2_000;
/** Each read connects to the database. */
const databaseRestMs = 10_000;

export function useNodes(): Asking<readonly NodeRow[]> {
  const asking = useAsked('nodes', () => call('gateway.nodes'));
  useAgain(asking);
  return asking;
}

export function useDatabase(): Asking<Result<'gateway.database'>> {
  const asking = useAsked('database', () => call('gateway.database'));
  useAgain(asking, databaseRestMs);
  return asking;
}

/** Calls again a while after each answer, so that slow calls do not overlap. */
export function useAgain<Found>({ asked, again }: Asking<Found>, afterMs = restMs): void {
  useEffect(() => {
    if (asked.kind === 'waiting') return;
    let timer: ReturnType<typeof setTimeout>;
    const rest = (): void => {
      timer = setTimeout(() => (document.hidden || link.get() !== 'live' ? rest() : again()), afterMs);
    };
    rest();
    return () => clearTimeout(timer);
  }, [asked, again, afterMs]);
}
