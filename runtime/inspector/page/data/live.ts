/**
 * Keeps the running actors as the daemon streams them: a snapshot, then changes. Reconnects by itself after a restart of
 * the daemon, and publishes changes once per frame, so that 10,000 busy actors do not block the page.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import { runsAtQuestions } from '../../../../machines/base/waiting.ts';
import type { DeltaMessage, Health, LivingRow, SnapshotMessage, StepRow } from '../../../control/contract/wire.ts';
import { createCell } from './cell.ts';
import { createFrames } from './frames.ts';
import { guarded, listenOnce, type StreamedEvent } from './listen.ts';
import { untilWanted } from './listeners.ts';
import { fetchProven, forgetProof } from './session.ts';

/** `full`: the daemon streams to as many pages as it can. */
type Link = 'connecting' | 'live' | 'lost' | 'full' | 'refused';

export interface Living {
  readonly rows: ReadonlyMap<string, LivingRow>;
  /** Children of a pool that are not among the rows. */
  readonly more: Readonly<Record<string, number>>;
  /** Rises with every change. */
  readonly version: number;
}

/** Steps that are kept for a chart that opens later. */
const maxSteps = 2_000;
const againMs = 1_000;

const rows = new Map<string, LivingRow>();
/** The rows that were last drawn as waiting for a person. */
let atQuestions: ReadonlyMap<string, string> = new Map();
let more: Readonly<Record<string, number>> = {};
const steps: StepRow[] = [];
const stepListeners = new Set<(steps: readonly StepRow[]) => void>();
/** Steps that were not published to the listeners yet. */
let news: StepRow[] = [];
let version = 0;
let wake: (() => void) | undefined;
/** Whether the daemon has refused the present stream because there are too many. */
let isFull = false;

const frames = createFrames({
  isHidden: () => document.hidden,
  nowMs: () => performance.now(),
  later: (act, ms) => setTimeout(act, ms),
});
document.addEventListener('visibilitychange', frames.resume);
/** The other pages of this browser. */
const pages = new BroadcastChannel('agent-health');
pages.onmessage = ({ data }: MessageEvent<Health>) => {
  if (document.hidden) heard.set(data);
};

export const link = createCell<Link>('connecting');
export const living = createCell<Living>({ rows, more, version });
/** The latest health that was drawn. */
export const health = createCell<Health | undefined>(undefined);
/** How many gateways share the journal; undefined if only this one uses it, or before the first message. */
export const nodes = createCell<number | undefined>(undefined);
/** The served profiles; undefined if there is one, or before the first message. */
export const profiles = createCell<readonly string[] | undefined>(undefined);
/** Changes with the routes in force. */
export const routesVersion = createCell<number | undefined>(undefined);
/** Rises when what was asked has to be asked again. */
const returns = createCell(0);
let wasReady = true;
/** The latest health, updated while the page is hidden too. */
export const heard = createCell<Health | undefined>(undefined);

/** Returns the kept steps of one actor, oldest first. */
export function stepsOf(actor: string): StepRow[] {
  return steps.filter((step) => step.actor === actor);
}

/** Calls back with each batch of steps until the returned function is called. */
export function onSteps(listener: (steps: readonly StepRow[]) => void): () => void {
  stepListeners.add(listener);
  return () => stepListeners.delete(listener);
}

/**
 * Calls back when what was asked has to be asked again, until the returned function is called: after a snapshot, since changes
 * before it were not sent, and once the daemon is ready, since it finds nothing in a journal that is not open yet.
 */
export function onReturn(listener: () => void): () => void {
  return returns.onChange(listener);
}

/** When the daemon last sent something, in Unix milliseconds. */
export let heardAtMs = Date.now();

/** Reads the stream for as long as the page is open; to be called once. */
export async function openStream(): Promise<void> {
  for (;;) {
    const left = await untilWanted();
    const open = (signal: AbortSignal): Promise<Response> =>
      fetchProven('./stream', { signal: AbortSignal.any([signal, left]) });
    isFull = false;
    const lost = await listenOnce({ open, take, failed: reportError });
    const ended = isFull ? 'full' : lost;
    // The next process at this address has to prove itself first.
    forgetProof();
    // What was heard stays while another page listens.
    if (left.aborted) continue;
    // Without a session, a daemon that goes away must not bring back what was shown.
    if (ended !== 'lost' || link.get() === 'live' || link.get() === 'full') link.set(ended);
    await new Promise<void>((resolve) => {
      wake = resolve;
      setTimeout(resolve, againMs);
    });
  }
}

/** Reconnects without waiting. */
export function tryNow(): void {
  wake?.();
}

function take({ name, data }: StreamedEvent): void {
  heardAtMs = Date.now();
  if (name === 'snapshot') takeSnapshot(JSON.parse(data) as SnapshotMessage);
  else if (name === 'delta') takeDelta(JSON.parse(data) as DeltaMessage);
  else if (name === 'health') {
    hear(JSON.parse(data) as Health);
    frames.request(drawHealth);
  } else if (name === 'full') isFull = true;
}

/** For the hidden pages too, for which one listens. */
function hear(health: Health): void {
  heard.set(health);
  pages.postMessage(health);
}

function takeSnapshot(snapshot: SnapshotMessage): void {
  rows.clear();
  for (const row of snapshot.actors) rows.set(row.id, row);
  more = snapshot.more;
  hear(snapshot.health);
  drawHealth();
  steps.length = 0;
  news = [];
  link.set('live');
  remember(snapshot.steps);
  draw();
  returns.set(returns.get() + 1);
}

function takeDelta(delta: DeltaMessage): void {
  for (const id of delta.gone) rows.delete(id);
  for (const row of delta.changed) rows.set(row.id, row);
  remember(delta.steps);
  news.push(...delta.steps);
  if (news.length > maxSteps) news.splice(0, news.length - maxSteps);
  if (delta.steps.length > 0) frames.request(report);
  if (delta.gone.length > 0 || delta.changed.length > 0) frames.request(draw);
}

function remember(taken: readonly StepRow[]): void {
  steps.push(...taken);
  if (steps.length > maxSteps * 2) steps.splice(0, steps.length - maxSteps);
}

function report(): void {
  const batch = news;
  news = [];
  for (const listener of [...stepListeners]) guarded(() => listener(batch), reportError);
}

function drawHealth(): void {
  const seen = heard.get();
  health.set(seen);
  nodes.set(seen?.nodes);
  routesVersion.set(seen?.routes);
  const isReady = seen?.ready !== false;
  if (isReady && !wasReady && link.get() === 'live') returns.set(returns.get() + 1);
  wasReady = isReady;
  if (seen?.profiles?.join() !== profiles.get()?.join()) profiles.set(seen?.profiles);
}

function draw(): void {
  nameQuestions();
  version += 1;
  living.set({ rows, more, version });
}

/** Adds questions to the rows of runs: a run's own row does not change when its question, another actor, comes or ends. */
function nameQuestions(): void {
  const before = atQuestions;
  atQuestions = runsAtQuestions(rows.values());
  for (const id of before.keys()) {
    const row = rows.get(id);
    if (row?.question === undefined || atQuestions.has(id)) continue;
    const { question: _, ...others } = row;
    rows.set(id, others);
  }
  for (const [id, question] of atQuestions) {
    const row = rows.get(id);
    if (row !== undefined && row.question !== question) rows.set(id, { ...row, question });
  }
}
