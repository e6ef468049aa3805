/**
 * Reports the transitions of every actor as they are taken, eventless ones included, to followers in a terminal or a tool.
 * The records are those of `@statelyai/inspect`, with fields that our own views need. What no follower wants is neither
 * built nor redacted.
 * @see INS-1, INS-2 and INS-3 in docs/specification.md
 * @see [@statelyai/inspect](https://github.com/statelyai/inspect/blob/main/src/types.ts)
 */

import type { AnyActorRef } from 'xstate';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import { actorInternals } from '../../machines/base/xstate-internals.ts';
import type { FollowQuery } from '../control/contract/actors.ts';
import type { Redactor } from '../observe/redact.ts';
import { machineOf, parentOf, stateOf, viewOf } from './actor-view.ts';
import { createStepFormat, quoted, stepOf } from './format-steps.ts';
import { effectMachine, type Rows } from './rows.ts';
import type { Subject, Subjects } from './subjects.ts';
import type { Inspected, Microstep, Tap } from './tap.ts';

export interface Watcher {
  /** Calls back with the JSON of every record that matches, until the returned function is called. */
  follow(query: FollowQuery, listener: (record: string) => void): () => void;
  /** Returns records that introduce the running actors to a new follower. */
  introduce(query: FollowQuery): readonly JsonObject[];
}

export interface WatcherPorts {
  readonly tap: Tap;
  readonly rows: Rows;
  readonly subjects: Subjects;
  readonly redactor: Redactor;
  readonly nowMs: () => number;
}

const shapeVersion = '0.7.1';
const maxIntroduced = 2_000;

interface Formatted {
  readonly subject: Subject;
  readonly text: string;
}

export function createWatcher({ tap, rows, subjects, redactor, nowMs }: WatcherPorts): Watcher {
  const formatStep = createStepFormat();
  let last = 0;
  let headsMs = -1;
  const heads = new Map<string, string>();

  /** Formats a record; a follower that does not want all of it gets a shorter one that is cheaper to build. */
  function formatted(inspected: Inspected, query: FollowQuery): Formatted | undefined {
    const ref = inspected.actorRef as AnyActorRef;
    if (query.full !== true) {
      const members = machineOf(ref) === effectMachine ? undefined : membersOf(inspected, ref);
      if (members === undefined) return undefined;
      const subject = subjectOf(ref, inspected);
      if (!fits(subject, query)) return undefined;
      return { subject, text: headNow(inspected.type) + subject.members + members };
    }
    const body = bodyOf(inspected, ref, query);
    if (body === undefined) return undefined;
    const subject = subjectOf(ref, inspected);
    if (!fits(subject, query)) return undefined;
    return { subject, text: JSON.stringify(Object.assign(base(inspected.type, ref, subject, query), body)) };
  }

  /** Returns the members of a spawn or step with the closing brace; undefined for anything else. */
  function membersOf(inspected: Inspected, ref: AnyActorRef): string | undefined {
    if (inspected.type === '@xstate.actor') return JSON.stringify(introduction(ref, {})).slice(1);
    if (inspected.type !== '@xstate.microstep') return undefined;
    const { event, snapshot, _transitions: transitions } = inspected as Microstep;
    const [taken] = transitions;
    if (taken === undefined) return undefined;
    const why = rows.reasonOf(snapshot.context);
    const step = formatStep(taken, event.type);
    return why === undefined ? step : `${step.slice(0, -1)},"reason":${quoted(why)}}`;
  }

  /** Returns the beginning of a record, as `base` makes it. Cached, because many records share a millisecond. */
  function headNow(type: string): string {
    const atMs = nowMs();
    if (atMs !== headsMs) {
      headsMs = atMs;
      heads.clear();
    }
    return getOrMake(heads, type, () => ['{"type":"', type, '","at":"', new Date(atMs).toISOString(), '",'].join(''));
  }

  /** At an actor's first step there is no snapshot yet, so the context of the step is used. */
  function subjectOf(ref: AnyActorRef, inspected: Inspected): Subject {
    const context =
      inspected.type === '@xstate.microstep'
        ? (inspected as Microstep).snapshot.context
        : (viewOf(ref) as ReturnType<typeof viewOf> | undefined)?.context;
    return subjects.of(ref, context);
  }

  function base(type: string, ref: AnyActorRef, subject: Subject, { full }: FollowQuery): Record<string, Json> {
    const atMs = nowMs();
    const { actor, machine, delivery, route, server } = subject;
    const record: Record<string, Json> = { type, at: new Date(atMs).toISOString(), actor, machine };
    if (full === true) {
      last += 1;
      record.createdAt = String(atMs);
      record.id = String(last);
      record.rootId = rows.rootId();
      record.sessionId = ref.sessionId;
      record._version = shapeVersion;
    }
    if (delivery !== undefined) record.delivery_id = delivery;
    if (route !== undefined) record.route = route;
    if (server !== undefined) record.server = server;
    return record;
  }

  function bodyOf(inspected: Inspected, ref: AnyActorRef, query: FollowQuery): JsonObject | undefined {
    switch (inspected.type) {
      case '@xstate.actor':
        return introduction(ref, query);
      case '@xstate.microstep': {
        const { event, snapshot, _transitions: transitions } = inspected as Microstep;
        const [taken] = transitions;
        if (taken === undefined) return undefined;
        const why = rows.reasonOf(snapshot.context);
        return { ...stepOf(taken, event.type), ...(why === undefined ? {} : { reason: why }) };
      }
      case '@xstate.event': {
        const source = inspected.sourceRef as AnyActorRef | undefined;
        return { event: eventOf(inspected.event), ...(source === undefined ? {} : { sourceId: source.sessionId }) };
      }
      case '@xstate.snapshot':
        return { event: eventOf(inspected.event), snapshot: snapshotOf(inspected.snapshot) };
      default:
        return undefined;
    }
  }

  function introduction(ref: AnyActorRef, query: FollowQuery): JsonObject {
    const parent = parentOf(ref);
    const { config } = actorInternals(ref).logic;
    const view = viewOf(ref) as ReturnType<typeof viewOf> | undefined;
    return {
      name: subjects.addressOf(ref),
      ...(parent === undefined ? {} : { parentId: parent.sessionId }),
      ...(query.full === true
        ? { definition: JSON.stringify(config ?? { id: ref.id }), snapshot: snapshotOf(view ?? { status: 'active' }) }
        : {}),
    };
  }

  function snapshotOf(snapshot: unknown): JsonObject {
    const view = snapshot as ReturnType<typeof viewOf>;
    return redactor.value({
      status: view.status,
      value: view.value ?? stateOf(view),
      context: view.context ?? null,
    }) as JsonObject;
  }

  /** The interpreter's own events carry complete contexts and results, so only their type is kept. */
  function eventOf(event: { readonly type: string }): JsonObject {
    return event.type.startsWith('xstate.') ? { type: event.type } : (redactor.value(event) as JsonObject);
  }

  return {
    follow(query, listener) {
      const held = createBacklog();
      return tap.listen(query.full === true ? true : 'steps', (inspected) => {
        const found = formatted(inspected, query);
        if (found === undefined) return;
        const { subject, text } = found;
        if (query.delivery !== undefined) {
          // The delivery of a request is known only after its first steps; they are held back until then.
          if (subject.delivery === undefined) {
            held.keep(subject.actor, text);
            return;
          }
          for (const earlier of held.take(subject.actor)) listener(earlier);
        }
        listener(text);
      });
    },
    introduce(query) {
      return rows.living(maxIntroduced).flatMap((ref) => {
        const subject = subjects.of(ref, viewOf(ref).context);
        if (!fits(subject, query)) return [];
        return [Object.assign(base('@xstate.actor', ref, subject, query), introduction(ref, query))];
      });
    },
  };
}

function fits(subject: Subject, query: FollowQuery): boolean {
  return (
    (query.actor === undefined || subject.actor.includes(query.actor)) &&
    (query.machine === undefined || subject.machine === query.machine) &&
    (query.route === undefined || subject.route === query.route) &&
    (query.server === undefined || subject.server === query.server) &&
    (query.delivery === undefined || subject.delivery === undefined || subject.delivery === query.delivery)
  );
}

/** Actors whose first steps are held back; older ones are dropped. */
const maxHeld = 1_000;
/** An actor gets its delivery within a few steps, or never. */
const maxHeldSteps = 100;

function createBacklog() {
  const held = new Map<string, string[]>();
  return {
    keep(actor: string, record: string): void {
      const records = held.get(actor);
      if (records !== undefined) {
        if (records.length < maxHeldSteps) records.push(record);
        return;
      }
      held.set(actor, [record]);
      const [oldest] = held.keys();
      if (held.size > maxHeld && oldest !== undefined) held.delete(oldest);
    },
    take(actor: string): readonly string[] {
      const records = held.get(actor) ?? [];
      held.delete(actor);
      return records;
    },
  };
}
