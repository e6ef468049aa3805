/**
 * Returns the subject of a step: its actor's address and the facts by which steps are filtered, all redacted. The subjects
 * of the last few actors are cached by session id; a map by actor would retain ended actors until a garbage collection.
 * @see INS-1 and INS-3 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { Redactor } from '../observe/redact.ts';
import { addressOf, machineOf } from './actor-view.ts';
import { type BriefFacts, briefFactsOf } from './facts.ts';
import { quoted } from './format-steps.ts';

export interface Subjects {
  /** Returns an actor with the facts of a context; at its first step, an actor has no snapshot to read it from. */
  of(ref: AnyActorRef, context: unknown): Subject;
  addressOf(ref: AnyActorRef): string;
  /** Returns the delivery id of the event with a key; undefined if there is none. */
  deliveryOf(eventKey: string): string | undefined;
  /** Redacts and shortens a fact. */
  clean(text: string): string;
}

interface SubjectPorts {
  readonly redactor: Redactor;
  readonly deliveryOf: (eventKey: string) => string | undefined;
}

const fewActors = 8;
const maxDeliveries = 5_000;
const maxFactLength = 200;

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

  /** The first members of a record's JSON, with a trailing comma; formatted once. */
  get members(): string {
    this.#members ??= formatMembers([
      ['actor', this.actor],
      ['machine', this.machine],
      ['delivery_id', this.delivery],
      ['route', this.route],
      ['server', this.server],
    ]);
    return this.#members;
  }
}

/** A cached actor, by session id so that an ended actor is not retained. The facts are those of its last context. */
interface Known {
  readonly session: string;
  readonly actor: string;
  facts: BriefFacts | undefined;
  subject: Subject | undefined;
}

export function createSubjects({ redactor, deliveryOf }: SubjectPorts): Subjects {
  const known: Known[] = [];
  let next = 0;
  /** Cached, because an event's record may contain a complete body. */
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
    if (deliveries.size >= maxDeliveries) deliveries.clear();
    deliveries.set(key, cleaned);
    return cleaned;
  }

  function clean(text: string): string {
    return redactor.text(text).slice(0, maxFactLength);
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
      // Not cached while the delivery of the key is unknown, so that it is looked up again.
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

/** Joins once: a string built by `+` is a tree, which every record that contains it would traverse again. */
function formatMembers(members: readonly (readonly [name: string, text: string | undefined])[]): string {
  const parts: string[] = [];
  for (const [name, text] of members) if (text !== undefined) parts.push('"', name, '":', quoted(text), ',');
  return parts.join('');
}

function isSame(one: BriefFacts, other: BriefFacts): boolean {
  return (
    one.delivery === other.delivery && one.route === other.route && one.server === other.server && one.key === other.key
  );
}
