/**
 * The events of an array: spawns a request for each item, holds their claims until each is ready for its claim or
 * decided, submits those together, and settles the request that brought the array by the answers of all. An array is
 * accepted as a whole: if one event cannot be judged or written now, none is claimed, and the sender retries. Events are
 * judged and answered in turns of the event loop, so that a long array does not delay other requests.
 * @see SRC-4 and IDM-2 in docs/specification.md
 */

import type { ClaimDelivery, ClaimRequest, ClaimVerdict } from '../../actors/webhook/claim-delivery.ts';
import { type JsonObject, stringify } from '../../machines/base/json.ts';
import { maxItems } from '../../machines/webhook/body.ts';
import { type Outcome, reasonStarts, statusOf } from '../../machines/webhook/reply.ts';
import { partDigest } from '../../machines/webhook/request-rules.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { inTurns, type NextTurn } from '../system/turns.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { type LivePart, type LiveRequest, liveRequest, type SpawnPorts } from './exchanges.ts';

interface PartsPorts extends SpawnPorts {
  readonly claim: ClaimDelivery;
  /** Commits everything that is submitted before the callback returns together, or nothing of it. */
  readonly together: (submitAll: () => void) => void;
  readonly nextTurn?: NextTurn;
}

export interface Settlement {
  readonly outcome: Outcome;
  readonly reason?: string | undefined;
}

/** Calls back once, possibly before it returns. */
export type SplitBody = (
  parent: RequestContext,
  live: LiveRequest | undefined,
  settled: (settlement: Settlement) => void,
) => void;

interface Parts {
  readonly splitBody: SplitBody;
  /** How many of the requests in progress are events of arrays. */
  readonly underWay: () => number;
}

/** Limit of events of arrays in progress, equal to the longest array. They use no slot of other requests. */
export const maxParts = maxItems;

export function createParts(ports: PartsPorts): Parts {
  const { exchanges, pools, nextId, nowMs, nextTurn } = ports;
  /** By pool, because the events of a gateway that crashed are never answered. */
  const counts = new WeakMap<WorkPools['requests'], number>();
  const underWay = (requests: WorkPools['requests']): number => counts.get(requests) ?? 0;

  const splitBody: SplitBody = (parent, live, settled) => {
    const items = (parent.payload?.items ?? []) as readonly JsonObject[];
    const { requests } = pools();
    if (live === undefined || underWay(requests) + items.length > maxParts) {
      settled({
        outcome: { kind: 'overloaded' },
        reason: 'too many requests are under way for the events of this one',
      });
      return;
    }
    const { path, deliveryId = '', scheme, signature } = parent;
    counts.set(requests, underWay(requests) + items.length);
    const batch = createBatch(items.length, ports, (settlement) => {
      counts.set(requests, underWay(requests) - items.length);
      settled(settlement);
    });
    const receivedAtMs = nowMs();
    let hasLeft = false;
    const leaving: (() => void)[] = [];
    live.exchange.whenLeft?.(() => {
      hasLeft = true;
      callAll(leaving, nextTurn);
    });
    const whenLeft = (left: () => void): void => {
      if (hasLeft) left();
      else leaving.push(left);
    };
    const spawn = (item: JsonObject, index: number): boolean => {
      // The gateway crashed meanwhile, and the request with it.
      if (pools().requests !== requests) return false;
      const id = nextId(receivedAtMs);
      const part: LivePart = {
        index,
        deliveryId,
        scheme,
        signature: signature && { ...signature, digest: partDigest(signature.digest, index) },
        claim: (request, verdict) => batch.claim(index, request, verdict),
        answered: (outcome, reason) => batch.answered(index, { outcome, reason }),
      };
      const exchange = {
        head: { method: 'POST', path, headers: live.headers },
        readBody() {},
        whenLeft,
        reply() {},
      };
      const body = Buffer.from(stringify(item), 'utf8');
      const { checksOnly, handedIn } = live;
      exchanges.set(id, { ...liveRequest(exchange, body), part, checksOnly, handedIn });
      if (requests.spawn(id, { id, origin: 'part', method: 'POST', path, receivedAtMs }) !== undefined) return true;
      exchanges.delete(id);
      part.answered({ kind: 'draining' }, 'the gateway is starting or stopping');
      return true;
    };
    inTurns(items, spawn, nextTurn);
  };
  return { splitBody, underWay: () => underWay(pools().requests) };
}

function callAll(callbacks: readonly (() => void)[], nextTurn: NextTurn | undefined): void {
  inTurns(
    callbacks,
    (callback) => {
      callback();
      return true;
    },
    nextTurn,
  );
}

interface Waiting {
  readonly request: ClaimRequest;
  readonly settled: (verdict: ClaimVerdict) => void;
}

function createBatch(
  size: number,
  { claim, together, nextTurn }: PartsPorts,
  settled: (settlement: Settlement) => void,
) {
  const waiting: (Waiting | undefined)[] = [];
  const answers: Settlement[] = [];
  let undecided = size;
  let unanswered = size;
  if (size === 0) settled(summary([]));

  function decide(): void {
    undecided -= 1;
    if (undecided > 0) return;
    const failed = answers.find((answer) => answer !== undefined && isFailure(answer));
    const ready = waiting.filter((one) => one !== undefined);
    // Each verdict advances a chart and opens its work.
    const settleAll = (settles: readonly (() => void)[]): void => callAll(settles, nextTurn);
    if (failed === undefined) {
      claimAll(ready, { claim, together }, settleAll);
      return;
    }
    const reason = `${reasonStarts.sameBody}stopped it: ${failed.reason ?? failed.outcome.kind}`;
    settleAll(
      ready.map(
        ({ settled }) =>
          () =>
            settled({ kind: 'unavailable', reason }),
      ),
    );
  }

  return {
    claim(index: number, request: ClaimRequest, verdict: (verdict: ClaimVerdict) => void): void {
      waiting[index] = { request, settled: verdict };
      decide();
    },
    answered(index: number, answer: Settlement): void {
      if (answers[index] !== undefined) return;
      answers[index] = answer;
      unanswered -= 1;
      if (waiting[index] === undefined) decide();
      if (unanswered === 0) settled(summary(answers));
    },
  };
}

/**
 * Submits the claims of all events, and calls back when all verdicts are known. Of several events with one id the first
 * is claimed; the others are duplicates of it without a read of the journal.
 */
function claimAll(
  ready: readonly Waiting[],
  { claim, together }: Pick<PartsPorts, 'claim' | 'together'>,
  decided: (settles: readonly (() => void)[]) => void,
): void {
  const ids = new Set<string>();
  const settles: (() => void)[] = [];
  const learn = ({ settled }: Waiting, verdict: ClaimVerdict): void => {
    settles.push(() => settled(verdict));
    if (settles.length === ready.length) decided(settles);
  };
  const duplicates: Waiting[] = [];
  together(() => {
    for (const one of ready) {
      const { deliveryId } = one.request.event;
      if (ids.has(deliveryId)) duplicates.push(one);
      else claim(one.request, (verdict) => learn(one, verdict));
      ids.add(deliveryId);
    }
  });
  for (const one of duplicates) learn(one, { kind: 'duplicate' });
}

function isFailure({ outcome }: Settlement): boolean {
  return statusOf(outcome) >= 400;
}

/** One failure answers for all, so that the sender repeats them; accepted events are then duplicates. */
function summary(answers: readonly Settlement[]): Settlement {
  const failed = answers.findIndex(isFailure);
  if (failed >= 0) {
    const { outcome, reason } = answers[failed] as Settlement;
    return { outcome, reason: `event ${failed + 1} of ${answers.length}: ${reason ?? outcome.kind}` };
  }
  const count = (isMeant: (kind: string) => boolean) => answers.filter(({ outcome }) => isMeant(outcome.kind)).length;
  const duplicate = count((kind) => kind === 'duplicate');
  const ignored = count((kind) => kind.startsWith('ignored'));
  const accepted = answers.length - duplicate - ignored;
  return { outcome: { kind: 'split', accepted, duplicate, ignored }, reason: `${answers.length} events` };
}
