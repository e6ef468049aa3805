/**
 * Sends a call by the session that its connection has, and reports to the connection its beginning, its end, and a session
 * that is of no use any more: for the calls of this gateway, and those of others.
 * @see LIF-8 and TRU-2 in docs/specification.md
 */

import type { CallOutcome } from '../../actors/mcp/call-outcome.ts';
import type { CallOptions, Session, Settle } from '../../actors/mcp/session.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Connections } from '../../machines/mcp/connection-state.ts';
import type { OfferMethod } from '../../machines/mcp/offers.ts';
import type { BreakerEvent } from '../../machines/mcp/retry-plan.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import type { Sessions } from './sessions.ts';

export interface SessionCallPorts {
  readonly sessions: Pick<Sessions, 'get' | 'lose'>;
  readonly connections: Connections;
  /** Milliseconds that only rise, by which the breakers open and close. */
  readonly steadyMs: () => number;
}

/** A tool, a utility tool, or the request behind one. */
export interface SessionCall {
  readonly of: 'call' | 'utility' | 'offer';
  readonly name: string;
  readonly args: JsonObject;
  readonly options: CallOptions;
  /** What the outcome says about the transport; null if nothing. */
  readonly reading: (outcome: CallOutcome, session: Session) => BreakerEvent | null;
}

/** Returns a function that cancels the call, also at the server. */
export function callBySession(
  key: string,
  { of, name, args, options, reading }: SessionCall,
  { sessions, connections, steadyMs }: SessionCallPorts,
  settle: Settle,
): () => void {
  const session = sessions.get(key);
  if (session === undefined) {
    settle({ kind: 'lost', dispatched: false, why: 'the connection was lost before the call' });
    return () => {};
  }
  const connection = connections().get(key);
  const number = connection?.getSnapshot().context.session ?? 0;
  connection?.send({ type: 'call.began', atMs: steadyMs() });
  const ended: Settle = (outcome) => {
    // Before `call.ended`: a session that is lost during a call costs its connection no attempt.
    if (outcome.kind === 'expired') sessions.lose(key, { kind: 'expired' }, session);
    if (outcome.kind === 'lost') sessions.lose(key, { kind: 'broken', why: outcome.why }, session);
    // The next connection attempt determines whether a login is needed, and reports it.
    if (outcome.kind === 'unauthorized')
      sessions.lose(key, { kind: 'broken', why: 'its credentials are refused' }, session);
    connection?.send({ type: 'call.ended', session: number, reading: reading(outcome, session) });
    settle(outcome);
  };
  if (of === 'call') return session.call(name, args, options, ended);
  if (of === 'utility') return session.callUtility(name as Utility, args, options, ended);
  return session.ask(name as OfferMethod, args, options, ended);
}
