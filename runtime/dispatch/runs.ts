/** Provides the effects of the run chart: its slot, its records, its agent and the delivery of its response. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fromPromise } from 'xstate';
import type { Places } from '../../actors/dispatch/places.ts';
import type { AnswerAtOnce, RunAgent } from '../../actors/dispatch/run-agent.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import type { StoredRecord } from '../../actors/store/journal.ts';
import type { RecordChange } from '../../actors/store/record-writer.ts';
import { type RunAccount, transcriptJson } from '../../machines/agent/transcript.ts';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { agentRunMachine, type RunContext, type RunResult } from '../../machines/webhook/agent-run.machine.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../machines/webhook/record.ts';
import { responseKeys } from '../../machines/webhook/responses.ts';
import { type NoticePorts, noticeChanges, openNotice } from './notices.ts';
import type { Platforms } from './platforms.ts';
import { openResponse, type RunEnds, responseChanges, responsesTo } from './responses.ts';
import type { RouteLimit, RouteSlots } from './route-slots.ts';
import { readAgain, reportWritten, unread } from './written.ts';

interface RunPorts extends NoticePorts {
  readonly places: Places;
  readonly runAgent: RunAgent;
  /** Absent: every run calls its agent. */
  readonly answerAtOnce?: AnswerAtOnce;
  /** Whether a target is within the gateway. */
  readonly isWithin: Platforms['isWithin'];
  readonly runEnds: RunEnds;
  readonly routeLimit: RouteLimit;
  /** Limits the runs of a route over all gateways; absent unless the journal is shared. */
  readonly routeSlots?: Pick<RouteSlots, 'of'> | undefined;
}

/** An agent that has the prompt; after a stop it is awaited. */
interface UnderWay {
  readonly result: Promise<RunResult>;
  stop(): void;
}

export function wireRun(ports: RunPorts) {
  /** Releases each run's slot; keyed by run, because a context contains no functions. */
  const leave = new ChurnMap<string, () => void>();
  const underWay = new Map<string, UnderWay>();
  /** Transcripts of ended runs, until they are written. */
  const accounts = new Map<string, RunAccount>();
  const held = createHeldResponses(ports);

  const leavePlace = (key: string): void => {
    leave.get(key)?.();
    leave.delete(key);
  };

  async function runOnce({ key, record }: RunContext, signal: AbortSignal): Promise<RunResult> {
    const { account, ...outcome } = await ports.runAgent(key, record, signal);
    // A run that is no longer awaited has no later write for it.
    if (account !== undefined && underWay.has(key)) accounts.set(key, account);
    const spent = account === undefined ? {} : { spending: account.spending };
    return outcome.kind === 'responded'
      ? { ...outcome, ...spent }
      : { ...outcome, ...spent, reason: ports.redact(outcome.reason) };
  }

  const logic = agentRunMachine.provide({
    actors: {
      runAgent: fromPromise<RunResult, RunContext>(({ input, signal }) => {
        const stopping = new AbortController();
        const stop = createStopSignal([signal, stopping.signal]);
        const result = runOnce(input, stop.signal).finally(stop.release);
        const mine: UnderWay = { result, stop: () => stopping.abort() };
        underWay.set(input.key, mine);
        return result.finally(() => {
          if (underWay.get(input.key) === mine) underWay.delete(input.key);
        });
      }),
      awaitStopped: fromPromise<RunResult, RunContext>(
        ({ input }) =>
          underWay.get(input.key)?.result ?? Promise.resolve({ kind: 'failed', reason: 'the run was stopped' }),
      ),
    },
    actions: {
      awaitPlace: ({ context, self }) => {
        const granted = () => self.send({ type: 'place.granted', atMs: ports.nowMs() });
        // A run that could not begin has kept its slot.
        if (leave.has(context.key)) {
          if (!ports.places.isPaused()) granted();
          return;
        }
        const { profile, route, group, isDirect } = context.record;
        // It calls no agent and ends at once, so it need not wait for a slot.
        if (isDirect && !ports.places.isPaused()) {
          granted();
          return;
        }
        const ask = (): void => {
          const bound = ports.routeLimit(profile, route) ?? Number.POSITIVE_INFINITY;
          const isBound = bound !== Number.POSITIVE_INFINITY;
          const slot = isBound ? ports.routeSlots?.of({ profile, route, bound }, context.key) : undefined;
          leave.set(
            context.key,
            ports.places.ask(
              {
                key: context.key,
                profile,
                route,
                ...(isBound ? { routeConcurrency: bound } : {}),
                ...(slot === undefined ? {} : { slot }),
                ...(group === undefined ? {} : { group }),
              },
              granted,
              ask,
            ),
          );
        };
        ask();
      },
      leavePlace: ({ context }) => leavePlace(context.key),
      writeRun: ({ context, self }) => {
        const { key, record } = context;
        const response = record.status === 'running' ? held.answer(key, record) : undefined;
        if (response !== undefined) {
          self.send({ type: 'run.answered', response });
          return;
        }
        if (record.status === 'delivering' && held.hold(key, record)) {
          self.send({ type: 'journal.written' });
          return;
        }
        // The result of an agent that did not stop in time is ignored.
        underWay.delete(key);
        const account = accounts.get(key);
        const said = account === undefined ? [] : [transcriptChange(key, account)];
        let isLeft = false;
        void changesOf(key, record, ports)
          .then((changes) => {
            isLeft = record.status === 'delivering' && changes[0]?.dueAtMs === null;
            return ports.writer.write([...changes, ...said]);
          })
          .catch(unread)
          .then((verdict) => {
            if (verdict.kind !== 'refused') accounts.delete(key);
            if (isLeft && verdict.kind === 'written') self.send({ type: 'journal.written', isLeft });
            else reportWritten(self, verdict);
          });
      },
      openDelivery: ({ context, self }) => {
        const { key, record } = context;
        // Its response is on disk, and is not delivered.
        if (record.isDry) {
          self.send({ type: 'delivery.settled', status: 'delivered' });
          return;
        }
        const delivery = held.take(key);
        if (delivery !== undefined) {
          ports.pools().deliveries.spawn(key, { key, record: delivery, atMs: ports.nowMs() });
          return;
        }
        const open = (stored: StoredRecord<'deliveries'> | undefined): void => {
          if (stored === undefined) return;
          const delivery = stored.value;
          // Several deliveries do not report to their run; they begin once it has closed.
          if (delivery.of !== undefined) {
            self.send({ type: 'delivery.settled', status: 'delivering' });
            return;
          }
          ports.writer.adopt('deliveries', key, stored.version);
          ports.pools().deliveries.spawn(key, { key, record: delivery, atMs: ports.nowMs() });
        };
        // Synchronous if possible: a drain ends when nothing is in progress, so the delivery must begin before the run is
        // seen to wait.
        const local = ports.keeper.journal()?.local;
        if (local !== undefined) open(local.get('deliveries', key));
        else void readAgain(async () => ports.keeper.journal()?.get('deliveries', key)).then(open);
      },
      closeRun: ({ context: { key, record }, self }) => {
        const end = ports.runEnds.get(key);
        if (end !== undefined) {
          ports.runEnds.delete(key);
          reportWritten(self, end);
          return;
        }
        const closed: RunRecord = { ...record, endedAtMs: ports.nowMs() };
        void noticeChanges(key, record, ports)
          .then((notice) => ports.writer.write([runChange(key, closed, null), ...notice]))
          .catch(unread)
          .then((verdict) => reportWritten(self, verdict));
      },
      openNotice: ({ context }) => {
        void readAgain(() => openNotice(context.key, ports));
      },
      openResponses: ({ context: { key } }) => {
        const local = ports.keeper.journal()?.local;
        // The deliveries of a shared journal are sent by the leader.
        if (local === undefined) return;
        for (const one of responseKeys(key, local.get('deliveries', key)?.value.of)) {
          const stored = local.get('deliveries', one);
          if (stored !== undefined) openResponse(stored, key, ports);
        }
      },
    },
  });

  return {
    logic,
    /** Releases what a run holds whose chart has ended or crashed: its slot, and its agent. */
    release(key: string): void {
      leavePlace(key);
      underWay.get(key)?.stop();
      underWay.delete(key);
      accounts.delete(key);
      held.drop(key);
    },
    /** Drops everything that is kept between two steps: after a crash runs begin again from the journal. */
    abandon(): void {
      leave.clear();
      for (const { stop } of underWay.values()) stop();
      underWay.clear();
      accounts.clear();
      held.clear();
    },
  };
}

/**
 * Holds back responses that are delivered within the gateway. Both can be produced again after a crash, so one commit writes
 * the response and its delivery once both have ended.
 */
function createHeldResponses(ports: RunPorts) {
  /** The events of runs that were answered at once, until their response is handled. */
  const answered = new ChurnMap<string, EventRecord>();
  /** Held-back deliveries, until they begin. */
  const unwritten = new ChurnMap<string, DeliveryRecord>();

  return {
    /** The response of a run whose agent can answer at once. */
    answer(key: string, record: RunRecord): string | undefined {
      const answer = ports.answerAtOnce?.(record);
      if (answer !== undefined) answered.set(key, answer.event);
      return answer?.response;
    },
    /** Returns whether the response is held back. */
    hold(key: string, record: RunRecord): boolean {
      const event = answered.get(key);
      answered.delete(key);
      if (event === undefined || ports.keeper.isShared()) return false;
      const order = ports.nextOrder();
      const [only, ...others] = responsesTo(event, key, { run: record, order }, ports);
      if (only === undefined || others.length > 0) return false;
      if (!ports.isWithin(only.value.profile, only.value.target)) return false;
      unwritten.set(key, only.value);
      ports.writer.hold('deliveries', key, [runChange(key, record, order), only]);
      return true;
    },
    take(key: string): DeliveryRecord | undefined {
      const delivery = unwritten.get(key);
      if (delivery !== undefined) unwritten.delete(key);
      return delivery;
    },
    drop(key: string): void {
      answered.delete(key);
      unwritten.delete(key);
      ports.writer.drop('deliveries', key);
    },
    clear(): void {
      answered.clear();
      unwritten.clear();
      ports.writer.dropAll();
    },
  };
}

const writeAgainMs = 1_000;

/**
 * Returns a function that records the hand-over of the prompt to the agent, which makes the attempt count. It retries
 * while the journal cannot be written, and resolves with false if the run is stopped meanwhile or another gateway holds
 * it.
 */
export function writeHandOver(
  { writer, nowMs }: Pick<RunPorts, 'writer' | 'nowMs'>,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = (ms, signal) => sleep(ms, undefined, { signal }),
) {
  return async (key: string, record: RunRecord, signal: AbortSignal): Promise<boolean> => {
    for (;;) {
      const verdict = await writer.write([runChange(key, record, nowMs())]);
      if (verdict.kind !== 'refused') return verdict.kind === 'written';
      await wait(writeAgainMs, signal).catch(() => {});
      if (signal.aborted) return false;
    }
  };
}

async function changesOf(key: string, record: RunRecord, ports: RunPorts): Promise<RecordChange[]> {
  const { status } = record;
  if (status === 'failed' || status === 'cancelled') {
    return [
      runChange(key, { ...record, endedAtMs: ports.nowMs() }, null),
      ...(await noticeChanges(key, record, ports)),
    ];
  }
  if (status === 'delivering') {
    // A recovery takes both by due time; the order keeps a chat in sequence even if the clock was set back.
    const order = ports.nextOrder();
    const responses = await responseChanges(key, record, ports, order);
    // On a shared journal the leader sends them, and the run does not wait.
    if (ports.keeper.isShared() && responses.length > 0)
      return [runChange(key, { ...record, endedAtMs: ports.nowMs() }, null), ...responses];
    return [runChange(key, record, order), ...responses];
  }
  return [runChange(key, status === 'running' ? { ...record, prompted: false } : record, ports.nowMs())];
}

function runChange(key: string, record: RunRecord, dueAtMs: number | null): RecordChange {
  return { collection: 'runs', key, value: record, dueAtMs };
}

function transcriptChange(key: string, { transcript }: RunAccount): RecordChange {
  return { collection: 'transcripts', key, value: { entries: transcriptJson(transcript) }, dueAtMs: null };
}
