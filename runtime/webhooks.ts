/**
 * Assembles the webhook half: the journal, the desks of the routes, the charts with their holes filled, and what the
 * supervisor asks of them. Decides nothing.
 * @see INS-1 and RTE-3 in docs/specification.md
 */

import type { AnyActorLogic, AnyActorRef } from 'xstate';
import type { LoadedHome } from '../actors/config/load-config.ts';
import { createPlaces } from '../actors/dispatch/places.ts';
import { createRunAgent } from '../actors/dispatch/run-agent.ts';
import type { Logger } from '../actors/ports.ts';
import { createKeeper, type JournalKeeper } from '../actors/store/keeper.ts';
import { openLmdbJournal } from '../actors/store/lmdb-journal.ts';
import { openMemoryJournal } from '../actors/store/memory-journal.ts';
import { createRecordWriter } from '../actors/store/record-writer.ts';
import { createBursts } from '../actors/webhook/bursts.ts';
import { createClaimDelivery } from '../actors/webhook/claim-delivery.ts';
import { type CompileOptions, compile } from '../machines/base/compile.ts';
import { done } from '../machines/base/fault.ts';
import { createWard, wardHandle } from '../machines/base/ward.ts';
import type { HomePaths } from '../machines/config/profile.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../machines/webhook/record.ts';
import { replyTo } from '../machines/webhook/reply.ts';
import type { RequestOutput } from '../machines/webhook/webhook-request.machine.ts';
import { createDecisions, type Decisions } from './decisions.ts';
import { type Exchanges, textOf } from './exchanges.ts';
import { openFront } from './http/choose.ts';
import { createIds, timeKey } from './ids.ts';
import type { ProfileDesk } from './profile-desk.ts';
import { createRateWindows } from './rate-windows.ts';
import { createReceiver } from './receiver.ts';
import type { ReplayPorts } from './replay.ts';
import { type ResumePorts, refillRuns, resumeWork } from './resume.ts';
import { createRouteDesk } from './route-desk.ts';
import { routeSourcesOf } from './route-sources.ts';
import { wireDelivery } from './wiring/delivery.ts';
import { wireGateway } from './wiring/gateway.ts';
import { wireGroup } from './wiring/group.ts';
import { wireRequest } from './wiring/request.ts';
import { wireRun } from './wiring/run.ts';
import { wireJournal } from './wiring/supervisor.ts';
import { createWards, type Wards } from './wiring/wards.ts';
import { logDelivery, logRun } from './work-log.ts';

export interface WebhookPorts {
  readonly paths: HomePaths;
  readonly root: () => AnyActorRef;
  /** The home as it was last read. */
  readonly home: () => LoadedHome;
  /** What a profile lends; undefined for one that is not configured. */
  readonly deskOf: (profile: string) => ProfileDesk | undefined;
  readonly compiling: CompileOptions;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export interface Webhooks {
  readonly journal: AnyActorLogic;
  readonly gateway: AnyActorLogic;
  readonly keeper: JournalKeeper;
  readonly decisions: Decisions;
  readonly replay: ReplayPorts;
  /** Takes up the work that the journal remembers. */
  resume(): Promise<void>;
  /** Takes the home over that was read anew. */
  reconfigure(): void;
  /** Ends what a crashed gateway left behind. */
  abandon(): void;
}

const noBody = Buffer.alloc(0);
const internalError = replyTo({ kind: 'internal' });

/** How long an owner's session lives without a heartbeat: three heartbeats. */
const sessionTtlMs = 60_000;
/** A body that stalls for this long ends its exchange. */
const bodyTimeoutMs = 10_000;
/** Runs that may wait in memory; further ones wait on disk. */
const mostWaitingRuns = 10_000;

export function assembleWebhooks({ paths, root, home, deskOf, compiling, nowMs, log }: WebhookPorts): Webhooks {
  const settings = () => home().main.settings;
  const nextId = createIds();
  const exchanges: Exchanges = new Map();

  const keeper = createKeeper({
    open: () =>
      settings().gateway.journal === 'memory'
        ? Promise.resolve(done(openMemoryJournal()))
        : openLmdbJournal({ directory: paths.state, now: nowMs }),
    owner: paths.home,
    sessionTtlMs,
    nowMs,
    refused: (reason) => root().system.get('journal')?.send({ type: 'journal.refused', fault: reason.message }),
  });
  const bursts = createBursts(keeper);
  const writer = createRecordWriter(keeper);
  const places = createPlaces(settings().agent.concurrency);
  const windows = createRateWindows(() => settings().webhook.rateLimit);
  const routes = createRouteDesk(routeSourcesOf(home(), log));
  const decisions = createDecisions({ log, keeper });
  const eventOf = (key: string): EventRecord | undefined =>
    keeper.journal()?.get('events', key)?.value as unknown as EventRecord | undefined;

  let standing: Wards | undefined;
  const wards = (): Wards => {
    standing ??= createWards(
      {
        requests: wardHandle(wardRef(root(), 'requests')),
        groups: wardHandle(wardRef(root(), 'groups')),
        runs: wardHandle(wardRef(root(), 'runs')),
        deliveries: wardHandle(wardRef(root(), 'deliveries')),
      },
      nowMs,
    );
    return standing;
  };

  const resumePorts: ResumePorts = {
    keeper,
    writer,
    bursts,
    wards,
    nowMs,
    log,
    onInterrupted: (profile) => deskOf(profile)?.settings.agent.onInterrupted ?? 'rerun',
    deduplicates: (record) => deskOf(record.profile)?.targets.deduplicates(record.target) ?? false,
    room: () => mostWaitingRuns - wards().runs.size,
  };

  const requestLogic = wireRequest({
    desk: {
      nowMs,
      maxBodyBytes: () => settings().webhook.maxBodyBytes,
      findRoute: routes.find,
      compiled: routes.compiled,
      headers: (id) => exchanges.get(id)?.headers ?? {},
      body: (id) => exchanges.get(id)?.body ?? noBody,
      text: (id) => {
        const live = exchanges.get(id);
        return live && textOf(live);
      },
      secondsUntilFree: windows.secondsUntilFree,
      takeSlot: windows.take,
      list: (profile, file) => deskOf(profile)?.lists.list(file),
      newDeliveryId: () => globalThis.crypto.randomUUID(),
      noteDeprecated: (route, scheme) =>
        log.warnOnce(
          `scheme/${route.profile}/${route.name}`,
          `route "${route.name}": a request was signed by the deprecated scheme ${scheme}, which does not protect from replays; let the sender use X-Webhook-Signature-V2`,
        ),
    },
    exchanges,
    claim: createClaimDelivery({
      keeper,
      bursts,
      findJob: (profile, job) =>
        deskOf(profile)?.findJob(job) ?? { kind: 'dropped', reason: `profile "${profile}" is not configured` },
      hasRoom: () => resumePorts.room() > 0,
    }),
    runScript: (input, signal) => {
      const desk = deskOf(input.route.profile);
      return desk === undefined ? Promise.resolve({ kind: 'missing' }) : desk.runScript(input, signal);
    },
    wards,
  });
  const runLogic = wireRun({
    keeper,
    writer,
    places,
    runAgent: createRunAgent({ event: eventOf, runnerOf: (profile) => deskOf(profile)?.runner, log }),
    routeConcurrency: (profile, route) =>
      routes.all().find((one) => one.route.name === route && one.route.profile === profile)?.route.concurrency,
    nowMs,
    wards,
  });
  const deliveryLogic = wireDelivery({
    writer,
    sendText: (record, signal) =>
      deskOf(record.profile)?.targets.send(record, signal) ??
      Promise.resolve({ kind: 'failed', reason: `profile "${record.profile}" is not configured any more` }),
    nowMs,
    wards,
  });
  const crashed = (room: string) => (key: string, error: unknown) => {
    log.log('error', `${room}/${key} crashed`, { error: String(error) });
  };

  const gateway = wireGateway({
    requests: createWard({
      name: 'requests',
      logic: compile(requestLogic, compiling),
      onDone: (key, output: RequestOutput) => {
        const live = exchanges.get(key);
        exchanges.delete(key);
        decisions.decided(output, live?.body ?? noBody);
      },
      onCrashed: (key, error) => {
        crashed('requests')(key, error);
        exchanges.get(key)?.exchange.reply(internalError);
        exchanges.delete(key);
      },
    }),
    groups: createWard({
      name: 'groups',
      logic: compile(wireGroup({ bursts, keeper, nowMs, wards }), compiling),
      onCrashed: crashed('groups'),
    }),
    runs: createWard({
      name: 'runs',
      logic: compile(runLogic, compiling),
      onDone: (key, output: RunRecord) => {
        logRun(key, output, eventOf(output.eventKey), log);
        wards().runFinished(key, output);
        if (resumePorts.room() === 1) void refillRuns(resumePorts);
      },
      onCrashed: crashed('runs'),
    }),
    deliveries: createWard({
      name: 'deliveries',
      logic: compile(deliveryLogic, compiling),
      onDone: (key, output: DeliveryRecord) => {
        logDelivery(output, log);
        wards().deliverySettled(key, output);
      },
      onCrashed: crashed('deliveries'),
    }),
    openFront: () => {
      const { webhook, gateway: front } = settings();
      const { host, port } = webhook;
      const receive = createReceiver({ exchanges, wards, nextId, nowMs });
      return openFront(front.front, { host, port, bodyTimeoutMs }, receive, log);
    },
    places,
    wards,
    nowMs,
    log,
    drainTimeoutMs: () => settings().gateway.drainTimeoutMs,
  });

  return {
    journal: compile(
      wireJournal({
        keeper,
        log,
        history: () => {
          const { maxAgeMs, maxBytes } = settings().gateway.history;
          return { keepAfterKey: timeKey(nowMs() - maxAgeMs), maxBytes };
        },
      }),
      compiling,
    ),
    gateway: compile(gateway, compiling),
    keeper,
    decisions,
    replay: { exchanges, wards, nextId, nowMs },
    resume: () => resumeWork(resumePorts),
    reconfigure() {
      routes.replace(routeSourcesOf(home(), log));
      places.resize(settings().agent.concurrency);
    },
    abandon() {
      for (const ward of [wards().requests, wards().groups, wards().runs, wards().deliveries]) ward.clear();
      standing = undefined;
      places.clear();
      exchanges.clear();
    },
  };
}

function wardRef(root: AnyActorRef, name: string): AnyActorRef {
  const ref: AnyActorRef | undefined = root.system.get(name);
  if (ref === undefined) throw new TypeError(`the ward "${name}" does not live`);
  return ref;
}
