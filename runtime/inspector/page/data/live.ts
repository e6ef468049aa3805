/**
 * Keeps the living actors as the daemon streams them: a snapshot, then what changed. Comes back by itself when the daemon
 * was restarted, and draws many deltas at once, so that 10,000 busy actors leave the page free.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { ActorRow, DeltaMessage, SnapshotMessage, StepRow, Vitals } from '../../wire.ts';
import { createCell } from './cell.ts';

export type Link = 'connecting' | 'live' | 'lost' | 'refused';

export interface Living {
  readonly rows: ReadonlyMap<string, ActorRow>;
  /** Children of a ward that are not among the rows. */
  readonly more: Readonly<Record<string, number>>;
  /** Rises with every change. */
  readonly version: number;
}

/** Steps that are kept for a chart that is opened late. */
const mostSteps = 2_000;
/** The least time between two drawings of the rows. */
const drawMs = 120;
const againMs = 1_000;

const rows = new Map<string, ActorRow>();
let more: Readonly<Record<string, number>> = {};
const steps: StepRow[] = [];
const stepListeners = new Set<(steps: readonly StepRow[]) => void>();
let version = 0;
let drawing: ReturnType<typeof setTimeout> | undefined;

export const link = createCell<Link>('connecting');
export const living = createCell<Living>({ rows, more, version });
export const vitals = createCell<Vitals | undefined>(undefined);

/** The steps that are remembered of one actor, oldest first. */
export function stepsOf(actor: string): StepRow[] {
  return steps.filter((step) => step.actor === actor);
}

/** Calls back with each batch of steps until the returned function is called. */
export function onSteps(listener: (steps: readonly StepRow[]) => void): () => void {
  stepListeners.add(listener);
  return () => stepListeners.delete(listener);
}

/** Begins to listen; to be called once. */
export function openStream(): void {
  const source = new EventSource('./stream');
  source.addEventListener('snapshot', ({ data }) => takeSnapshot(JSON.parse(data) as SnapshotMessage));
  source.addEventListener('delta', ({ data }) => takeDelta(JSON.parse(data) as DeltaMessage));
  source.addEventListener('vitals', ({ data }) => vitals.set(JSON.parse(data) as Vitals));
  source.addEventListener('error', () => {
    if (link.get() === 'live') link.set('lost');
    // A browser gives up where the answer was no stream; it is looked at why, and tried again.
    if (source.readyState === EventSource.CLOSED) {
      source.close();
      setTimeout(() => void look(), againMs);
    }
  });
}

/** Tells a session that is not known (any more) from a daemon that is not there. */
async function look(): Promise<void> {
  const answer = await fetch('./actor/supervisor', { cache: 'no-store' }).catch(() => undefined);
  if (answer?.status === 401 || answer?.status === 403) link.set('refused');
  else if (link.get() !== 'connecting') link.set('lost');
  openStream();
}

function takeSnapshot(snapshot: SnapshotMessage): void {
  rows.clear();
  for (const row of snapshot.actors) rows.set(row.id, row);
  more = snapshot.more;
  vitals.set(snapshot.vitals);
  steps.length = 0;
  link.set('live');
  tell(snapshot.steps, false);
  draw(0);
}

function takeDelta(delta: DeltaMessage): void {
  for (const id of delta.gone) rows.delete(id);
  for (const row of delta.changed) rows.set(row.id, row);
  tell(delta.steps, true);
  if (delta.gone.length > 0 || delta.changed.length > 0) draw(drawMs);
}

function tell(taken: readonly StepRow[], isNews: boolean): void {
  if (taken.length === 0) return;
  steps.push(...taken);
  if (steps.length > mostSteps * 2) steps.splice(0, steps.length - mostSteps);
  if (isNews) for (const listener of [...stepListeners]) listener(taken);
}

function draw(afterMs: number): void {
  if (drawing !== undefined) return;
  drawing = setTimeout(() => {
    drawing = undefined;
    version += 1;
    living.set({ rows, more, version });
  }, afterMs);
}
