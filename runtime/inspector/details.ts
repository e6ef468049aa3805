/**
 * Describes one running actor: the description of its state, its redacted context, its pending timers, its last steps and
 * the events that it received.
 * @see INS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { Json } from '../../machines/base/json.ts';
import { actorInternals } from '../../machines/base/xstate-internals.ts';
import type { ActorDetails, StepRow, TimerRow } from '../control/contract/wire.ts';
import type { Redactor } from '../observe/redact.ts';
import { timersOf } from '../system/timers.ts';
import { stateOf, viewOf } from './actor-view.ts';
import { labelOf } from './charts.ts';
import type { History } from './history.ts';
import type { Rows } from './rows.ts';
import type { StateTimes } from './state-times.ts';
import type { Subjects } from './subjects.ts';

interface DetailPorts {
  readonly find: (address: string) => AnyActorRef | undefined;
  readonly rows: Rows;
  readonly subjects: Subjects;
  readonly history: History;
  readonly stateTimes: StateTimes;
  readonly redactor: Redactor;
}

const maxChildren = 200;

/** Returns undefined if there is no chart or pool at the address. */
export function describeActor(id: string, ports: DetailPorts): ActorDetails | undefined {
  const { rows, subjects, history, redactor } = ports;
  const ref = ports.find(id);
  const row = ref && rows.rowOf(ref);
  if (ref === undefined || row === undefined) return undefined;
  const view = viewOf(ref);
  return {
    ...row,
    ...meaningOf(ref, stateOf(view)),
    context: (redactor.value(view.context ?? null) ?? null) as Json,
    timers: timerRows(ref),
    steps: stepsOf(ref, row, ports),
    events: history.eventsOf(row.id),
    children: Object.values(view.children ?? {})
      .filter((child) => child !== undefined)
      .slice(0, maxChildren)
      .map((child) => subjects.addressOf(child)),
  };
}

/** Returns the longer list: the actor's own trail, which is recorded without viewers too, or the history. */
function stepsOf(
  ref: AnyActorRef,
  row: { readonly id: string; readonly machine: string },
  { history, stateTimes }: DetailPorts,
): readonly StepRow[] {
  const own = viewOf(ref).steps ?? stateTimes.stepsOf(ref);
  const seen = history.stepsOf(row.id);
  if (own.length <= seen.length) return seen;
  return own.map((step, index) => ({ seq: index, actor: row.id, machine: row.machine, ...step }));
}

interface StateWords {
  readonly description?: string;
  readonly meta?: { readonly rule?: string };
  readonly states?: Readonly<Record<string, StateWords>>;
}

/** Returns the description and rule of the innermost state that has them. */
function meaningOf(ref: AnyActorRef, state: string): { readonly description: string; readonly rule: string } {
  let at = actorInternals(ref).logic.config as StateWords | undefined;
  let words: StateWords = {};
  for (const name of (state.split(' ')[0] ?? '').split('.')) {
    at = at?.states?.[name];
    if (at !== undefined) words = { ...words, ...at };
  }
  return { description: words.description ?? '', rule: words.meta?.rule ?? '' };
}

function timerRows(ref: AnyActorRef): TimerRow[] {
  return timersOf(ref)
    .map(({ event, delayMs, startedAtMs }) => ({
      label: labelOf(event.type).label,
      event: event.type,
      started: startedAtMs,
      due: startedAtMs + delayMs,
    }))
    .sort((one, other) => one.due - other.due);
}
