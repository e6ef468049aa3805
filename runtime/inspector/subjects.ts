/**
 * Whom a step is about: its actor's address, and the few facts that steps are filtered by, every text as it may be shown.
 * Actors step in turns of a few; those are at hand, written, and nothing is kept of the hundred thousand that are gone, as
 * a map by actor would keep it until the collector comes by.
 * @see INS-1 and INS-3 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { Redactor } from '../observe/redact.ts';
import { addressOf, machineOf } from './address.ts';
import { type BriefFacts, briefFactsOf } from './facts.ts';
import { quoted } from './format-steps.ts';

export interface Subjects {
  /** The actor and what its context says; a step's own context where its snapshot is not there yet. */
  of(ref: AnyActorRef, context: unknown): Subject;
  addressOf(ref: AnyActorRef): string;
  /** The delivery id of the event with a key; undefined where none is known. */
  deliveryOf(eventKey: string): string | undefined;
  /** A fact as it may be shown. */
  clean(text: string): string;
}

export interface SubjectPorts {
  readonly redactor: Redactor;
  readonly deliveryOf: (eventKey: string) => string | undefined;
}

const fewActors = 8;
const mostDeliveries = 5_000;
const longestFact = 200;

export class Subject {
  readonly actor: string;
  readonly machine: string;
  readonly delivery: string | undefined;
  readonly route: string | undefined;
  readonly server: string | undefined;
  #members: string | undefined;

  constructor(
    actor: string,
    machine: string,
    facts: {
      readonly delivery?: string | undefined;
      readonly route?: string | undefined;
      readonly server?: string | undefined;
    },
  ) {
    this.actor = actor;
    this.machine = machine;
    this.delivery = facts.delivery;
    this.route = facts.route;
    this.server = facts.server;
  }

  /** As members of a record's JSON that others follow; written once. */
  get members(): string {
    this.#members ??= spelled([
      ['actor', this.actor],
      ['machine', this.machine],
      ['delivery_id', this.delivery],
      ['route', this.route],
      ['server', this.server],
    ]);
    return this.#members;
  }
}

/** An actor at hand, by its session, so that one that is gone is not kept; the facts are as its context had them last. */
interface Known {
  readonly session: string;
  readonly actor: string;
  facts: BriefFacts | undefined;
  subject: Subject | undefined;
}

export function createSubjects({ redactor, deliveryOf }: SubjectPorts): Subjects {
  const known: Known[] = [];
  let next = 0;
  /** Looked up once: an event's record may hold a whole body. */
  const deliveries = new Map<string, string>();

  function knownOf(ref: AnyActorRef): Known {
    const session = ref.sessionId;
    for (const one of known) if (one.session === session) return one;
    const fresh: Known = { session, actor: redactor.text(addressOf(ref)), facts: undefined, subject: undefined };
    known[next] = fresh;
    next = (next + 1) % fewActors;
    return fresh;
  }

  function deliveryFor(key: string): string | undefined {
    const shown = deliveries.get(key);
    if (shown !== undefined) return shown;
    const delivery = deliveryOf(key);
    if (delivery === undefined) return undefined;
    const cleaned = clean(delivery);
    if (deliveries.size >= mostDeliveries) deliveries.clear();
    deliveries.set(key, cleaned);
    return cleaned;
  }

  function clean(text: string): string {
    return redactor.text(text).slice(0, longestFact);
  }

  function cleanOr(text: string | undefined): string | undefined {
    return text === undefined ? undefined : clean(text);
  }

  return {
    of(ref, context) {
      const one = knownOf(ref);
      const facts = briefFactsOf(context);
      if (one.subject !== undefined && one.facts !== undefined && isSame(one.facts, facts)) return one.subject;
      const { delivery, route, server, key } = facts;
      const subject = new Subject(one.actor, machineOf(ref), {
        delivery: delivery === undefined ? key && deliveryFor(key) : clean(delivery),
        route: cleanOr(route),
        server: cleanOr(server),
      });
      // A key whose delivery is not known yet is asked for again.
      if (delivery !== undefined || key === undefined || subject.delivery !== undefined) {
        one.facts = facts;
        one.subject = subject;
      }
      return subject;
    },
    addressOf: (ref) => knownOf(ref).actor,
    deliveryOf: deliveryFor,
    clean,
  };
}

/** Joined, for a text that is added up is a tree, which every record that holds it would walk through anew. */
function spelled(members: readonly (readonly [name: string, text: string | undefined])[]): string {
  const parts: string[] = [];
  for (const [name, text] of members) if (text !== undefined) parts.push('"', name, '":', quoted(text), ',');
  return parts.join('');
}

function isSame(one: BriefFacts, other: BriefFacts): boolean {
  return (
    one.delivery === other.delivery && one.route === other.route && one.server === other.server && one.key === other.key
  );
}
