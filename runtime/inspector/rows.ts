/**
 * Describes running actors as flat rows. Every text in a row is redacted.
 * @see INS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import { isPool, poolHandle } from '../../machines/base/pool.ts';
import type { ActorFacts, ActorRow } from '../control/contract/wire.ts';
import type { Redactor } from '../observe/redact.ts';
import { childrenOf, machineOf, parentOf, stateOf, viewOf } from './actor-view.ts';
import { factsOf, reasonOf } from './facts.ts';
import type { StateTimes } from './state-times.ts';
import type { Subjects } from './subjects.ts';

export interface Rows {
  /** Returns the actor as a row; undefined if it has ended or is an effect. */
  rowOf(ref: AnyActorRef): ActorRow | undefined;
  /** The session id of the supervisor. */
  rootId(): string;
  reasonOf(context: unknown): string | undefined;
  /** Returns the running actors from the supervisor down, at most `max`, and how many of each pool were left out. */
  all(max: number): { readonly rows: ActorRow[]; readonly more: Record<string, number> };
  living(max: number): readonly AnyActorRef[];
}

interface RowPorts {
  readonly root: () => AnyActorRef;
  readonly redactor: Redactor;
  readonly stateTimes: StateTimes;
  readonly subjects: Subjects;
}

export const effectMachine = 'effect';

export function createRows({ root, redactor, stateTimes, subjects }: RowPorts): Rows {
  const { clean } = subjects;

  function facts(context: unknown): ActorFacts {
    const found = factsOf(context) as Record<string, string | number>;
    for (const name in found) {
      const value = found[name];
      if (typeof value === 'string') found[name] = clean(value);
    }
    if (found.delivery === undefined && typeof found.key === 'string') {
      const delivery = subjects.deliveryOf(found.key);
      if (delivery !== undefined) found.delivery = delivery;
    }
    return found;
  }

  function reason(context: unknown): string | undefined {
    const why = reasonOf(context);
    return why === undefined ? undefined : redactor.text(why).slice(0, maxReasonLength);
  }

  function rowOf(ref: AnyActorRef): ActorRow | undefined {
    const machine = machineOf(ref);
    const view = viewOf(ref);
    if (machine === effectMachine || view === undefined || view.status !== 'active') return undefined;
    const meta = facts(view.context);
    const why = reason(view.context);
    const parent = parentOf(ref);
    return {
      id: subjects.addressOf(ref),
      parent: parent === undefined ? null : subjects.addressOf(parent),
      machine,
      state: stateOf(view),
      since: view.since ?? stateTimes.sinceOf(ref),
      tags: [...(view.tags ?? [])],
      ...(why === undefined ? {} : { why }),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    };
  }

  function walk(max: number): { readonly refs: AnyActorRef[]; readonly more: Record<string, number> } {
    const refs: AnyActorRef[] = [];
    const more: Record<string, number> = {};
    const visit = (ref: AnyActorRef): void => {
      if (refs.length >= max || machineOf(ref) === effectMachine || viewOf(ref).status !== 'active') return;
      refs.push(ref);
      const before = refs.length;
      for (const child of childrenOf(ref)) {
        visit(child);
        if (refs.length >= max) break;
      }
      if (!isPool(ref)) return;
      const { size } = poolHandle(ref);
      const listed = Math.min(size, refs.length - before);
      if (size > listed) more[subjects.addressOf(ref)] = size - listed;
    };
    visit(root());
    return { refs, more };
  }

  return {
    rowOf,
    rootId: () => root().sessionId,
    reasonOf: reason,
    living: (max) => walk(max).refs,
    all(max) {
      const { refs, more } = walk(max);
      return { rows: refs.map(rowOf).filter((row) => row !== undefined), more };
    },
  };
}

const maxReasonLength = 500;
