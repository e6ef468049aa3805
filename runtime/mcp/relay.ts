/**
 * Answers what other gateways ask of a server that this one has connected for all of them. Their own rules have let the call
 * pass; here it counts as one of the connection, so that the server does not go to sleep under it.
 * @see SCA-1 in docs/specification.md
 */

import type { CallOutcome } from '../../actors/mcp/call-outcome.ts';
import type { RelayedListing, RelayQuestion } from '../../actors/mcp/remote-session.ts';
import type { Listing, Session, Settle } from '../../actors/mcp/session.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { OfferMethod } from '../../machines/mcp/offers.ts';
import type { ConnectionContext, ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import type { Relay } from './placement.ts';
import { connectionKey, type Sessions } from './sessions.ts';

export interface RelayPorts {
  readonly sessions: Pick<Sessions, 'get'>;
  readonly listing: (profile: string, server: string) => Listing | undefined;
  readonly connections: () => WardHandle<ConnectionInput>;
  readonly steadyMs: () => number;
}

export function createRelay({ sessions, listing, connections, steadyMs }: RelayPorts): Relay {
  const cancels = new Map<string, () => void>();
  const stamps = new WeakMap<Listing, string>();
  let listings = 0;

  function stampOf(of: Listing): string {
    const known = stamps.get(of);
    if (known !== undefined) return known;
    listings += 1;
    stamps.set(of, String(listings));
    return String(listings);
  }

  function called(key: string, session: Session, question: Asked): Promise<CallOutcome> {
    const { of, name, args, call, traceparent } = question;
    const connection = connections().get(key);
    const { session: number } = connection?.getSnapshot().context as ConnectionContext;
    connection?.send({ type: 'call.began', atMs: steadyMs() });
    return new Promise((resolve) => {
      let isOver = false;
      const settle: Settle = (outcome) => {
        isOver = true;
        cancels.delete(call);
        connection?.send({ type: 'call.ended', session: number, reading: null });
        resolve(outcome);
      };
      const cancel =
        of === 'call'
          ? session.call(name, args, { traceparent }, settle)
          : of === 'utility'
            ? session.callUtility(name as Utility, args, { traceparent }, settle)
            : session.ask(name as OfferMethod, args, { traceparent }, settle);
      if (!isOver) cancels.set(call, cancel);
    });
  }

  return async (profile, server, question) => {
    const key = connectionKey(profile, server);
    const session = sessions.get(key);
    const listed = listing(profile, server);
    if (session === undefined || listed === undefined) return null;
    switch (question.of) {
      case 'list': {
        const answer: RelayedListing = { era: session.era, listing: listed, stamp: stampOf(listed) };
        return answer;
      }
      case 'stamp':
        return stampOf(listed);
      case 'cancel':
        cancels.get(question.call)?.();
        return true;
      default:
        return called(key, session, question);
    }
  };
}

type Asked = Extract<RelayQuestion, { readonly of: 'call' | 'utility' | 'offer' }>;
