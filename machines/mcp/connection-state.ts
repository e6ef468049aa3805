/**
 * A connection as the rest of the gateway sees it, and what its state means for calls and listings.
 * @see LIF-1 and LIF-7 in docs/specification.md
 */

import type { ChartPool, ChartRef } from '../base/pool.ts';
import type { serverConnectionMachine } from './server-connection.machine.ts';

type Connection = typeof serverConnectionMachine;

export type ConnectionSnapshot = ReturnType<ChartRef<Connection>['getSnapshot']>;
type State = ConnectionSnapshot['value'];

export type Connections = () => ChartPool<Connection>;

const asleep: ReadonlySet<string> = new Set<State>(['lazy', 'recycling']);
const reachable: ReadonlySet<string> = new Set<State>(['connected', 'connecting']);
const down: ReadonlySet<string> = new Set<State>(['backingOff', 'parked', 'needsLogin', 'failed']);

/** It has no session; a call wakes it. */
export function isAsleep(state: string): boolean {
  return asleep.has(state);
}

/** It has a session, or gets one now. */
export function isReachable(state: string): boolean {
  return reachable.has(state);
}

/** It has no session, and a call cannot count on one: new credentials or another attempt may bring it. */
export function isDown(state: string): boolean {
  return down.has(state);
}
