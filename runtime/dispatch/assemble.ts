/**
 * Assembles the work that an event leads to and that outlives its request: batches, runs and deliveries, with the effects
 * of their charts, their slots, and their recovery. Decides nothing.
 * @see DUR-1 and DIS-3 in docs/specification.md
 */

import { setMaxListeners } from 'node:events';
import { createPlaces } from '../../actors/dispatch/places.ts';
import { createAnswerAtOnce, createRunAgent } from '../../actors/dispatch/run-agent.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { createRecordWriter } from '../../actors/store/record-writer.ts';
import { createBatches } from '../../actors/webhook/batches.ts';
import { ChurnMap } from '../../machines/base/churn-map.ts';
import { groupContext } from '../../machines/webhook/coalescing-group.machine.ts';
import { runAsSeen } from '../../machines/webhook/interruption.ts';
import type { DeliveryRecord, RunRecord } from '../../machines/webhook/record.ts';
import { deliveryQueue, runQueue } from '../../machines/webhook/work-queue.ts';
import type { ProfileServices } from '../agent/profile-tools.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { DeliveryService } from '../control/contract/deliveries.ts';
import type { SeenRun } from '../control/contract/runs.ts';
import { createRunTraces } from '../observe/tracing-spans.ts';
import type { NextId } from '../system/ids.ts';
import { createChartPool } from '../system/pools.ts';
import { type Every, wake } from '../system/ticks.ts';
import { createStandingPools } from '../system/work-pools.ts';
import { assemblePlatforms } from './assemble-targets.ts';
import { createAwaited } from './awaited.ts';
import { createBacklog } from './backlog.ts';
import { wireGroup } from './batches.ts';
import { createRunCancels } from './cancel-run.ts';
import { createCrashedWork } from './crashed-work.ts';
import { wireDelivery } from './deliveries.ts';
import { createDeliveryService } from './delivery-service.ts';
import { createEnded } from './ended.ts';
import { leaveBatches, leaveWaiting } from './leave-waiting.ts';
import { createProgressReports } from './notices.ts';
import { createOlderOnDisk } from './older-on-disk.ts';
import { createQueueOrder } from './queue-order.ts';
import { createRecentEvents } from './recent-events.ts';
import { createRecoveredWork } from './recovered-work.ts';
import type { ResumePorts } from './recovery.ts';
import { createSettleRun, type RunEnds } from './responses.ts';
import { createRouteSlots, type RouteLimit } from './route-slots.ts';
import { wireRun, writeHandOver } from './runs.ts';
import { logDelivery, logUnforeseen } from './work-log.ts';
import { createWorkMemory } from './work-memory.ts';
import type { RecordPorts } from './written.ts';

export interface WorkPorts extends Omit<SharedPorts, 'paths'> {
  /** What a profile provides to its routes; undefined if the profile is not configured. */
  readonly servicesOf: (profile: string) => ProfileServices | undefined;
  readonly routeLimit: RouteLimit;
  readonly runFinished: (key: string) => void;
  readonly keeper: JournalKeeper;
  readonly nextId: NextId;
  /** Calls back when a run begins or stops waiting for a person; returns the function that ends this. */
  readonly whileAsked: (run: string, changed: (waits: boolean) => void) => () => void;
  readonly every: Every;
  /** How many runs, and how many deliveries, may be in memory; 10,000 unless given. */
  readonly maxWaiting?: number | undefined;
}

/**
 * Limit of runs in memory, and of deliveries, so that an unreachable platform does not fill it. Further ones wait on
 * disk.
 */
const defaultMaxWaiting = 10_000;
/** While nothing waits on disk, a check only reads a few indexes. */
const lookMs = 5_000;
/** Shorter on a database: other gateways leave work in it, and a notification may be missed. */
const sharedLookMs = 1_000;

export function assembleWork(ports: WorkPorts) {
  const { root, home, servicesOf, keeper, redactor, metrics, tracing, nowMs, steadyMs, every, log } = ports;
  const { maxWaiting = defaultMaxWaiting } = ports;
  const concurrency = (): number => home().main.settings.agent.concurrency;
  const isShared = home().main.settings.gateway.journal === 'postgres';
  const batches = createBatches(keeper);
  const writer = createRecordWriter(keeper);
  const recent = createRecentEvents(keeper);
  const places = createPlaces(concurrency());
  const applyLimits = (): void => places.resize(concurrency(), ports.routeLimit);
  const standing = createStandingPools(root, nowMs, {
    began(collection, key, event) {
      writer.begin(collection, key);
      if (event !== undefined) recent.keep(key, event);
    },
    awaited: (key) => awaited?.add(key),
    senderLeft: (key) => awaited?.leave(key),
  });
  const pools = standing.current;

  const seenRun: SeenRun = (key, record, heldBy) => {
    // A queued run needs no look-up, and there may be ten thousand.
    if (record.status !== 'running' || keeper.isElsewhere(heldBy)) return record;
    return runAsSeen(record, pools().runs.get(key)?.getSnapshot().context.record);
  };

  /** Aborted at the end of a drain. Each delivery in progress listens. */
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const { pool: platformPool, platforms } = assemblePlatforms({
    ...ports,
    runOf: async (key) => (await keeper.journal()?.get('runs', key))?.value,
    ending: ending.signal,
    node: keeper.node,
  });
  const older = createOlderOnDisk({
    platforms,
    isOnDisk: async (key) => {
      const journal = keeper.journal();
      if (journal === undefined) return true;
      return (await journal.get('deliveries', key))?.dueAtMs !== undefined && pools().deliveries.get(key) === undefined;
    },
    steadyMs,
  });
  const records: RecordPorts = { keeper, writer, pools, nowMs };
  const settleRun = createSettleRun(records);
  const runEnds: RunEnds = new ChurnMap();
  const order = createQueueOrder(nowMs);
  const startedMs = nowMs() - steadyMs();
  /** Aborted when the gateway drains or crashes. */
  let life = new AbortController();
  const recovered = createRecoveredWork(records);
  const memory = createWorkMemory({
    keeper,
    pools,
    places,
    concurrency,
    max: maxWaiting,
    isShared,
    isParked: () => life.signal.aborted,
  });
  const resumePorts: ResumePorts = {
    ...records,
    batches,
    settleRun,
    dueMs: () => Math.max(nowMs(), startedMs + steadyMs()),
    log,
    recovered: recovered.note,
    onInterrupted: (profile) => servicesOf(profile)?.settings.agent.onInterrupted ?? 'rerun',
    deduplicatesForMs: platforms.deduplicatesForMs,
    hold: platforms.hold,
    order,
    older,
    bound: memory.bound,
    room: memory.room,
    inMemory: memory.inMemory,
    signal: () => life.signal,
  };
  const backlog = createBacklog({
    resume: resumePorts,
    isUp: () => root().getSnapshot().matches({ up: 'running' }),
    every,
    lookEveryMs: isShared ? sharedLookMs : lookMs,
  });

  const awaited = isShared ? createAwaited({ ...records, every }) : undefined;

  const runTraces = createRunTraces(tracing);
  const noticePorts = {
    ...records,
    redact: redactor.text,
    nextOrder: order.next,
    // On a shared journal all notices stay on disk, and the leader sends them in order, whichever gateway wrote them.
    crowded: (record: DeliveryRecord) => keeper.isShared() || memory.crowded(record),
    left: (key: string, record: DeliveryRecord) => {
      if (!keeper.isShared()) older.note(key, record);
    },
  };
  const answerAtOnce = createAnswerAtOnce({
    event: recent.readAtOnce,
    runnerOf: (profile) => servicesOf(profile)?.runner,
    log,
  });
  const routeSlots = isShared ? createRouteSlots(keeper, ports.routeLimit) : undefined;
  const runWork = wireRun({
    places,
    routeSlots,
    answerAtOnce: (record) => (tracing.isOn() ? undefined : answerAtOnce(record)),
    isWithin: (profile, target) => !tracing.isOn() && platforms.isWithin(profile, target),
    runEnds,
    runAgent: runTraces.traced(
      createRunAgent({
        event: recent.read,
        runnerOf: (profile) => servicesOf(profile)?.runner,
        handOver: writeHandOver(records),
        whileAsked: ports.whileAsked,
        traceparentOf: runTraces.traceparentOf,
        log,
      }),
      recent.read,
    ),
    routeLimit: ports.routeLimit,
    ...noticePorts,
  });
  const deliveryWork = wireDelivery({
    ...records,
    platforms: {
      ...platforms,
      ask: older.ask,
      send: runTraces.tracedDelivery(platforms.send, recent.read),
      sendWithin: (record) => (tracing.isOn() ? undefined : platforms.sendWithin(record)),
    },
    redact: redactor.text,
    wake,
    settleRun,
    runEnds,
    retried: (key, record) => logDelivery(key, record, log),
    // Those behind it would fill the memory in which it must find room again.
    crowded: (record) => memory.crowded(record) && !(keeper.leads() && platforms.isFollowed(record)),
  });
  const crashedWork = createCrashedWork({ ...noticePorts, settleRun });
  const ended = createEnded({ pools, recent, release: platforms.release, metrics, nowMs, log });
  const runEnded = (key: string, record: RunRecord): void => {
    ended.run(key, record);
    ports.runFinished(key);
    backlog.runEnded(record);
  };
  /** Passes on the record that was closed for a chart that crashed, if there is one. */
  async function passOn<Row>(where: string, closed: Promise<Row | undefined>, pass: (record: Row) => void) {
    try {
      const record = await closed;
      if (record !== undefined) pass(record);
    } catch (thrown) {
      logUnforeseen(log, where, thrown);
    }
  }
  const groups = createChartPool(ports, {
    name: 'groups',
    machine: wireGroup({ ...records, batches, hasRoom: backlog.hasRoom, log }),
    copy: groupContext,
  });
  const runs = createChartPool(ports, {
    name: 'runs',
    machine: runWork.logic,
    queueOf: ({ record }) => runQueue(record),
    onDone: (key, record) => {
      runWork.release(key);
      writer.forget('runs', key);
      runEnded(key, record);
    },
    onCrashed: (key) => {
      runWork.release(key);
      void passOn(`runs/${key}`, crashedWork.run(key), (record) => runEnded(key, record));
    },
  });
  const deliveries = createChartPool(ports, {
    name: 'deliveries',
    machine: deliveryWork.logic,
    queueOf: ({ record }) => deliveryQueue(record),
    onDone: (key, record) => {
      writer.forget('deliveries', key);
      ended.delivery(key, record);
    },
    onCrashed: (key) => {
      deliveryWork.release(key);
      void passOn(`deliveries/${key}`, crashedWork.delivery(key), (record) => ended.delivery(key, record));
    },
  });

  return {
    /** For the gateway chart: the pools of this work, and how it is parked. */
    gateway: {
      groups,
      runs,
      deliveries,
      platforms: platformPool,
      places,
      park() {
        life.abort();
        platforms.park();
        if (isShared) void leaveWaiting(records).catch((thrown) => logUnforeseen(log, 'the drain', thrown));
      },
      cut: () => ending.abort(),
      leaveBatches: isShared ? () => leaveBatches({ batches, pools }) : undefined,
      pools,
    },
    pools,
    batches,
    placeOf: platforms.placeOf,
    pauseOf: platforms.pauseOf,
    hasRoom: backlog.hasRoom,
    load: () => ({ ...places.load(), isMore: backlog.isLeft }),
    /** Deliveries to targets, for the commands. */
    deliveryService: (keyOf: (id: string) => Promise<string | undefined>): DeliveryService =>
      createDeliveryService({
        ...records,
        platforms,
        settleRun,
        keyOf,
        redact: redactor.record,
        hasRoom: (record) => !keeper.isShared() && !memory.crowded(record),
      }),
    reports: { ...createProgressReports({ ...noticePorts, log }), nextOrder: order.next },
    runCancels: createRunCancels({
      ...records,
      batches,
      runs: () => pools().runs,
      groups: () => pools().groups,
      seenRun,
      ended: runEnded,
    }),
    seenRun,
    recovered: recovered.rows,
    /** Recovers the work of the journal. */
    resume: async (): Promise<void> => {
      await platforms.reconcile();
      await backlog.resume();
    },
    /** Applies the present limits to the runs that wait. */
    applyLimits,
    /** Applies a home that was just read. */
    reconfigure(): void {
      applyLimits();
      void platforms.reconcile();
    },
    /** Ends the remains of a crashed gateway. */
    abandon(): void {
      life.abort();
      life = new AbortController();
      platforms.clear();
      older.clear();
      runEnds.clear();
      recent.clear();
      runWork.abandon();
      awaited?.clear();
      standing.clear();
      places.clear();
    },
    close(): void {
      backlog.stop();
      awaited?.stop();
      routeSlots?.stop();
    },
  };
}
