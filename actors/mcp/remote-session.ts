/**
 * A session with a server that another gateway of the database has connected: requests go to that gateway, and the
 * answers of its session come back.
 * @see SCA-1 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import type { Era } from '../../machines/mcp/era.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import type { CallOutcome } from './call-outcome.ts';
import type { OpenVerdict } from './open-session.ts';
import type { CallOptions, Listing, Session, SessionFacts, Settle } from './session.ts';

/** A request to the gateway that has the server. */
export type RelayQuestion =
  /** Answered with a `RelayedListing`, or `connecting` while there is none yet. */
  | { readonly of: 'list' }
  /** Answered with the `stamp` of its listing. */
  | { readonly of: 'stamp' }
  /** Answered with a `CallOutcome`. */
  | {
      readonly of: 'call' | 'utility' | 'offer';
      readonly name: string;
      readonly args: JsonObject;
      readonly call: string;
      /** The trust of our entry for the server: whether a person is asked. */
      readonly trust: ServerSettings['trust'];
      readonly traceparent?: string;
    }
  | { readonly of: 'cancel'; readonly call: string };

export interface RelayedListing {
  readonly era: Era;
  readonly listing: Listing;
  /** Different for each listing. */
  readonly stamp: string;
}

export interface RemotePorts {
  /** The name of the gateway that has the server. */
  readonly node: string;
  /**
   * Resolves with the answer: null if the server is not connected there, undefined if the gateway has ended or does not
   * respond. Rejects if it cannot be asked.
   */
  readonly ask: (question: RelayQuestion, waitMs: number) => Promise<unknown>;
  /** Calls back when the other gateway or its listing must be checked, until the returned function is called. */
  readonly onLook: (look: () => void) => () => void;
  readonly settings: Pick<ServerSettings, 'connectTimeoutMs' | 'idleTimeoutMs' | 'trust'>;
}

const answerMs = 5_000;
/** The other gateway limits the time of a call, which does not run while a person is asked. */
const maxCallMs = 86_400_000;
const connectingPauseMs = 500;

/** Never rejects. */
export async function openRemoteSession(ports: RemotePorts, facts: SessionFacts): Promise<OpenVerdict> {
  try {
    const listed = await relayedListing(ports);
    return { kind: 'opened', session: createRemoteSession(ports, listed, facts), listing: listed.listing };
  } catch (thrown) {
    return { kind: 'failed', failures: [{ kind: 'otherGateway', message: causeOf(thrown) }] };
  }
}

async function relayedListing(ports: RemotePorts): Promise<RelayedListing> {
  const endsAtMs = performance.now() + ports.settings.connectTimeoutMs;
  let answer = await ports.ask({ of: 'list' }, answerMs);
  while (answer === 'connecting' && performance.now() < endsAtMs) {
    await sleep(connectingPauseMs, undefined, { ref: false });
    answer = await ports.ask({ of: 'list' }, answerMs);
  }
  if (answer === 'connecting') throw new Error(`gateway "${ports.node}", which has it, has not connected it in time`);
  if (answer === undefined) throw new Error(`gateway "${ports.node}", which has it, gives no answer`);
  if (answer === null) throw new Error(`it is not connected at gateway "${ports.node}", which may connect it`);
  // Gateways that share a database have the same release, enforced by the version of its schema.
  return answer as RelayedListing;
}

function createRemoteSession(ports: RemotePorts, first: RelayedListing, facts: SessionFacts): Session {
  const { node } = ports;
  let { stamp } = first;
  let isOver = false;
  let isLooking = false;
  /** Functions that end the calls in flight, with the ids of the calls. */
  const inFlight = new Map<(outcome: CallOutcome) => void, string>();
  let quiet: (() => void) | undefined;
  const stopLooking = ports.onLook(() => void look());

  function over(): void {
    isOver = true;
    stopLooking();
  }

  function lost(why: string): void {
    if (isOver) return;
    over();
    facts.closed(why);
  }

  async function look(): Promise<void> {
    if (isLooking || isOver) return;
    isLooking = true;
    const why = await ping();
    isLooking = false;
    if (why !== undefined) lost(why);
  }

  async function ping(): Promise<string | undefined> {
    try {
      const answer = await ports.ask({ of: 'stamp' }, answerMs);
      if (answer === undefined) return `gateway "${node}", which had it, gives no answer`;
      if (answer === null) return ports.settings.idleTimeoutMs > 0 ? undefined : `gateway "${node}" has it no more`;
      if (answer !== stamp && !isOver) facts.listChanged(['tools']);
      return undefined;
    } catch {
      // The database is unreachable for both gateways; the other one releases the server before another gateway may
      // connect it.
      return undefined;
    }
  }

  function send(
    question: { readonly of: 'call' | 'utility' | 'offer'; readonly name: string; readonly args: JsonObject },
    { traceparent }: CallOptions,
    settle: Settle,
  ): () => void {
    if (isOver) {
      settle({ kind: 'lost', dispatched: false, why: `gateway "${node}" has it no more` });
      return () => {};
    }
    const finish = (outcome: CallOutcome): void => {
      if (!inFlight.delete(finish)) return;
      if (inFlight.size === 0) quiet?.();
      settle(outcome);
    };
    const call = randomUUID();
    inFlight.set(finish, call);
    const { trust } = ports.settings;
    const asked = { ...question, call, trust, ...(traceparent === undefined ? {} : { traceparent }) };
    void ports.ask(asked, maxCallMs).then(
      (answer) => {
        if (answer === null || answer === undefined) {
          const why = answer === null ? `gateway "${node}" has it no more` : `gateway "${node}" has ended`;
          // The connection must learn this first, because the call asks it how to continue.
          lost(why);
          finish({ kind: 'lost', dispatched: answer === undefined, why });
        } else finish(answer as CallOutcome);
      },
      (thrown) => finish({ kind: 'lost', dispatched: true, why: causeOf(thrown) }),
    );
    return () => {
      if (inFlight.has(finish)) cancel(call);
      finish({ kind: 'cancelled' });
    };
  }

  function cancel(call: string): void {
    void ports.ask({ of: 'cancel', call }, answerMs).catch(() => {});
  }

  return {
    era: first.era,
    async list() {
      const listed = await relayedListing(ports);
      stamp = listed.stamp;
      return listed.listing;
    },
    call: (tool, args, options, settle) => send({ of: 'call', name: tool, args }, options, settle),
    callUtility: (utility, args, options, settle) => send({ of: 'utility', name: utility, args }, options, settle),
    ask: (method, args, options, settle) => send({ of: 'offer', name: method, args }, options, settle),
    ping,
    async close(why = `gateway "${node}" is not asked any more`) {
      over();
      for (const [finish, call] of inFlight) {
        // Nothing waits for its answer, and at a server that takes one call at a time it would hold up the next.
        cancel(call);
        finish({ kind: 'lost', dispatched: true, why, closedHere: true });
      }
    },
    async retire() {
      over();
      if (inFlight.size > 0)
        await new Promise<void>((resolve) => {
          quiet = resolve;
        });
    },
  };
}
