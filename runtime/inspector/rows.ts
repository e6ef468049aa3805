/**
 * Describes living actors as flat rows. What never changes of an actor — its address, its parent's — is looked at once;
 * every text passes the redactor before it is in a row.
 * @see INS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import { isWard, wardHandle } from '../../machines/base/ward.ts';
import type { Redactor } from '../redact.ts';
import { addressOf, machineOf } from './address.ts';
import { briefFactsOf, factsOf, reasonOf, tagsOf } from './facts.ts';
import type { Sinces } from './sinces.ts';
import { stateOf, viewOf } from './snapshot-view.ts';
import type { ActorFacts, ActorRow } from './wire.ts';

export interface Rows {
  /** The actor as a row; undefined for one that has ended, and for an effect, which is its state's own affair. */
  rowOf(ref: AnyActorRef): ActorRow | undefined;
  addressOf(ref: AnyActorRef): string;
  /** The session id of the supervisor. */
  rootId(): string;
  factsOf(context: unknown): ActorFacts;
  /** The few facts that a step is filtered by. */
  briefOf(context: unknown): Brief;
  reasonOf(context: unknown): string | undefined;
  /** Every living actor from the supervisor down, at most so many; and how many of each ward were left out. */
  all(most: number): { readonly rows: ActorRow[]; readonly more: Record<string, number> };
  /** Every living actor from the supervisor down, at most so many. */
  living(most: number): readonly AnyActorRef[];
}

export type Brief = Pick<ActorFacts, 'delivery' | 'route' | 'server'>;

export interface RowPorts {
  readonly root: () => AnyActorRef;
  readonly redactor: Redactor;
  readonly sinces: Sinces;
  /** The delivery id of an event, by its key or its run's; for actors that know the key alone. */
  readonly deliveryOf: (eventKey: string) => string | undefined;
}

export const effectMachine = 'effect';

export function createRows({ root, redactor, sinces, deliveryOf }: RowPorts): Rows {
  const addresses = new WeakMap<AnyActorRef, string>();
  /** Looked up once: an event's record may hold a whole body. */
  const deliveries = new Map<string, string>();
  const cleaned = new Map<string, string>();

  function address(ref: AnyActorRef): string {
    let known = addresses.get(ref);
    if (known === undefined) {
      known = redactor.text(addressOf(ref));
      addresses.set(ref, known);
    }
    return known;
  }

  function facts(context: unknown): ActorFacts {
    const found = factsOf(context) as Record<string, string | number>;
    for (const name in found) {
      const value = found[name];
      if (typeof value === 'string') found[name] = clean(value);
    }
    if (found.delivery === undefined && typeof found.key === 'string') {
      const delivery = deliveryFor(found.key);
      if (delivery !== undefined) found.delivery = delivery;
    }
    return found;
  }

  function brief(context: unknown): Brief {
    const { delivery, route, server, key } = briefFactsOf(context);
    const known = delivery === undefined ? key && deliveryFor(key) : cleanAgain(delivery);
    const told: { delivery?: string; route?: string; server?: string } = {};
    if (known !== undefined && known !== '') told.delivery = known;
    if (route !== undefined) told.route = cleanAgain(route);
    if (server !== undefined) told.server = cleanAgain(server);
    return told;
  }

  function clean(text: string): string {
    return redactor.text(text).slice(0, longestFact);
  }

  /** The same few facts are told with step after step. */
  function cleanAgain(text: string): string {
    const known = cleaned.get(text);
    if (known !== undefined) return known;
    const shown = clean(text);
    if (cleaned.size >= mostCleaned) cleaned.clear();
    cleaned.set(text, shown);
    return shown;
  }

  function deliveryFor(key: string): string | undefined {
    const known = deliveries.get(key);
    if (known !== undefined) return known;
    const delivery = deliveryOf(key);
    if (delivery === undefined) return undefined;
    const shown = clean(delivery);
    if (deliveries.size >= mostDeliveries) deliveries.clear();
    deliveries.set(key, shown);
    return shown;
  }

  function reason(context: unknown): string | undefined {
    const why = reasonOf(context);
    return why === undefined ? undefined : redactor.text(why).slice(0, longestReason);
  }

  function rowOf(ref: AnyActorRef): ActorRow | undefined {
    const machine = machineOf(ref);
    const view = viewOf(ref);
    if (machine === effectMachine || view === undefined || view.status !== 'active') return undefined;
    const state = stateOf(view);
    const meta = facts(view.context);
    const why = reason(view.context);
    const parent = (ref as unknown as { readonly _parent?: AnyActorRef })._parent;
    return {
      id: address(ref),
      parent: parent === undefined ? null : address(parent),
      machine,
      state,
      since: view.since ?? sinces.sinceOf(ref),
      tags: tagsOf(state, view.tags ?? []),
      ...(why === undefined ? {} : { why }),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    };
  }

  function walk(most: number): { readonly refs: AnyActorRef[]; readonly more: Record<string, number> } {
    const refs: AnyActorRef[] = [];
    const more: Record<string, number> = {};
    const visit = (ref: AnyActorRef): void => {
      if (refs.length >= most || machineOf(ref) === effectMachine || viewOf(ref).status !== 'active') return;
      refs.push(ref);
      if (!isWard(ref)) {
        for (const child of Object.values(viewOf(ref).children ?? {})) if (child !== undefined) visit(child);
        return;
      }
      const handle = wardHandle(ref);
      const before = refs.length;
      handle.each((_, child) => {
        visit(child);
        return refs.length < most;
      });
      const listed = Math.min(handle.size, refs.length - before);
      if (handle.size > listed) more[address(ref)] = handle.size - listed;
    };
    visit(root());
    return { refs, more };
  }

  return {
    rowOf,
    addressOf: address,
    rootId: () => root().sessionId,
    factsOf: facts,
    briefOf: brief,
    reasonOf: reason,
    living: (most) => walk(most).refs,
    all(most) {
      const { refs, more } = walk(most);
      return { rows: refs.map(rowOf).filter((row) => row !== undefined), more };
    },
  };
}

const mostDeliveries = 5_000;
const mostCleaned = 500;
const longestFact = 200;
const longestReason = 500;
