/**
 * The live delivery targets of every profile: creates them from the configuration, keeps unchanged ones across a reload,
 * and has one connection chart for each configured target. Holds what a chart's context cannot: credentials, tokens and
 * rate-limited queues.
 * @see DLV-1, DLV-2 and DLV-5 in docs/specification.md
 */

import type { LoadedProfile } from '../../actors/config/load-config.ts';
import {
  createTarget,
  defaultGithubComment,
  loadPlatformTargets,
  type TargetOwner,
} from '../../actors/dispatch/deliver.ts';
import type { PlatformTarget } from '../../actors/dispatch/targets/platform-target.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { defined } from '../../machines/base/json.ts';
import { inProfile } from '../../machines/base/names.ts';
import type { ChartPool, ChartRef } from '../../machines/base/pool.ts';
import type { PlatformSettings } from '../../machines/config/settings.ts';
import { canonicalTarget, targetTitle } from '../../machines/config/targets.ts';
import { paceOf } from '../../machines/dispatch/pace.ts';
import type {
  PlatformContext,
  PlatformInput,
  platformConnectionMachine,
  VerifyResult,
} from '../../machines/dispatch/platform-connection.machine.ts';
import type { SendOutcome } from '../../machines/dispatch/send-outcome.ts';
import type { SharedPorts } from '../config/shared-ports.ts';
import type { TargetRow } from '../control/contract/deliveries.ts';
import { createRespawns } from '../system/respawns.ts';
import { createTargetQueue, type TargetQueue } from './target-queue.ts';

export interface LiveTargetsPorts extends Pick<SharedPorts, 'home' | 'nowMs' | 'steadyMs' | 'log'> {
  /** Undefined while the pool does not run. */
  readonly pool: () => ChartPool<typeof platformConnectionMachine> | undefined;
  readonly targetPorts: TargetOwner['ports'];
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  readonly random: () => number;
}

export interface LiveTarget {
  /** Its key in the pool, by the configuration's name. */
  readonly key: string;
  readonly profile: string;
  /** The canonical name. */
  readonly target: string;
  readonly settings: PlatformSettings;
  readonly made: PlatformTarget;
  /** Undefined for the log, which has no rate limit. */
  readonly queue: TargetQueue | undefined;
  /** Changes with any of its settings. Contains secrets: only for comparison. */
  readonly fingerprint: string;
  /** Whether the configuration names it. */
  readonly configured: boolean;
  /** When the platform last checked the credentials, by the steady clock. */
  lastAskedMs: number;
}

type PlatformConnection = ReturnType<ChartRef<typeof platformConnectionMachine>['getSnapshot']>;

const logSettings: PlatformSettings = { enabled: true, timeoutMs: 10_000, options: {} };

export function createLiveTargets(ports: LiveTargetsPorts) {
  const { home, pool, steadyMs } = ports;
  const respawns = createRespawns(ports);
  let kept = new Map<string, LiveTarget>();
  /** The same by canonical name: a delivery may use an alias. */
  let byName = new Map<string, LiveTarget>();
  const queues = new Map<string, TargetQueue>();
  const checks = createCheckWaits();
  let createPlatformTarget: TargetOwner['createPlatformTarget'];
  let reconciled = Promise.resolve();

  function make(profile: LoadedProfile, target: string, settings: PlatformSettings, configured: boolean): LiveTarget {
    const key = platformKey(profile.name, settings.name ?? target);
    const fingerprint = JSON.stringify([settings, configured, target === 'github_comment' ? [...profile.scope] : []]);
    const standing = kept.get(key);
    if (standing?.fingerprint === fingerprint) return standing;
    const made = createTarget(target, settings, {
      ports: ports.targetPorts,
      log: ports.log,
      scope: profile.scope,
      cwd: profile.paths.home,
      ...(createPlatformTarget === undefined ? {} : { createPlatformTarget }),
    });
    if (made === undefined) throw new TypeError(`no target is named "${target}"`);
    return {
      key,
      profile: profile.name,
      target,
      settings,
      made,
      queue: target === 'log' ? undefined : keptQueue(profile.name, target, settings),
      fingerprint,
      configured,
      lastAskedMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** A changed entry keeps its queue, and so does one that is removed and added again: what waits keeps its place. */
  function keptQueue(profile: string, target: string, settings: PlatformSettings): TargetQueue {
    const name = platformKey(profile, target);
    return getOrMake(queues, name, () => createTargetQueue(paceOf(target, settings), ports));
  }

  async function carryOver(): Promise<void> {
    // A reload that arrives meanwhile runs after this one.
    const { profiles } = home();
    const names = [...profiles.values()].flatMap(({ settings }) => Object.keys(settings.platforms));
    if (names.some((name) => name !== 'github_comment')) createPlatformTarget ??= await loadPlatformTargets();
    const next = new Map<string, LiveTarget>();
    for (const profile of profiles.values()) {
      const { platforms } = profile.settings;
      const all = { log: logSettings, github_comment: defaultGithubComment, ...platforms };
      for (const [target, settings] of Object.entries(all)) {
        const entry = make(profile, target, settings, platforms[target] !== undefined);
        next.set(entry.key, entry);
      }
    }
    const earlier = kept;
    kept = next;
    byName = new Map([...next.values()].map((entry) => [platformKey(entry.profile, entry.target), entry]));
    for (const [key, { fingerprint }] of earlier) {
      if (next.get(key)?.fingerprint === fingerprint && !respawns.isSpent(key)) continue;
      // A changed entry, or a reload by a person, gets a new restart budget.
      respawns.forget(key);
      pool()?.get(key)?.send({ type: 'platform.stop' });
    }
    for (const key of next.keys()) spawn(key);
    // Deliveries that this releases find the new connection, and wait for its check.
    for (const [key, { target, settings, queue, fingerprint }] of next)
      if (earlier.get(key)?.fingerprint !== fingerprint) queue?.adjust(paceOf(target, settings));
  }

  function find(profile: string, name: string): LiveTarget | undefined {
    return byName.get(platformKey(profile, canonicalTarget(name) ?? name));
  }

  function stateOf(key: string): PlatformConnection | undefined {
    return pool()?.get(key)?.getSnapshot();
  }

  function spawn(key: string): void {
    const entry = kept.get(key);
    const living = pool();
    if (entry === undefined || !entry.configured || living === undefined || living.get(key) !== undefined) return;
    if (respawns.rests(key)) return;
    living.spawn(key, inputOf(entry));
  }

  /** Checks the credentials at the platform again. */
  function lookAgain(entry: LiveTarget): void {
    entry.lastAskedMs = steadyMs();
    pool()?.get(entry.key)?.send({ type: 'platform.check' });
  }

  return {
    /**
     * Applies the configuration in force to the connections and changes only what differs. Deliveries wait for it
     * meanwhile.
     */
    reconcile(): Promise<void> {
      reconciled = reconciled.then(carryOver).catch((thrown: unknown) => {
        ports.log.log('error', `the targets could not be made: ${causeOf(thrown)}`);
      });
      return reconciled;
    },
    /** Resolves when the current `reconcile` has ended. */
    made: (): Promise<void> => reconciled,
    find,
    /** The queue of a target, where deliveries may wait although its entry was removed. */
    queueOf: (profile: string, name: string): TargetQueue | undefined =>
      queues.get(platformKey(profile, canonicalTarget(name) ?? name)),
    connectionOf: ({ key }: LiveTarget) => stateOf(key),
    checkEnded: checks.ended,
    lookAgain,
    /** Applies the outcome of a delivery, which began at this time by the steady clock, to the target's state. */
    learn(entry: LiveTarget, outcome: SendOutcome, begunAtMs: number): void {
      // An outcome for a replaced entry is not evidence about its successor, which uses the same queue.
      if (find(entry.profile, entry.target) !== entry) return;
      const connection = pool()?.get(entry.key);
      // With a reason nothing was sent, so the delivery is not evidence about the platform.
      if (outcome.kind === 'delivered' && outcome.reason === undefined) {
        connection?.send({ type: 'platform.delivered' });
        entry.queue?.arrived(begunAtMs);
      }
      if (outcome.kind === 'refused' && outcome.class === 'auth') {
        entry.lastAskedMs = steadyMs();
        connection?.send({ type: 'platform.refused' });
      }
      // A chat with its own limit already waits.
      if (outcome.kind === 'rateLimited' && outcome.ofChat !== true)
        entry.queue?.pauseFor(outcome.retryAfterMs, outcome.reason);
    },
    async verify({ profile, target }: PlatformContext, signal: AbortSignal): Promise<VerifyResult> {
      const entry = find(profile, target);
      if (entry === undefined)
        return { outcome: { kind: 'transient', reason: 'it is not configured any more' }, jitter: 0 };
      entry.lastAskedMs = steadyMs();
      return { outcome: await entry.made.verify(signal), jitter: ports.random() };
    },
    /** Called when a check has ended. */
    checked: checks.release,
    /** Called when a connection's chart has ended. */
    ended(key: string): void {
      checks.release(key);
      spawn(key);
    },
    /** Called when a connection's chart has crashed. */
    crashed(key: string, error: unknown): void {
      checks.release(key);
      const entry = kept.get(key);
      const wasSpent = respawns.isSpent(key);
      if (entry === undefined || respawns.crashed(key, () => spawn(key)) || wasSpent) return;
      const why = `it crashed in the gateway again and again: ${causeOf(error)}; read the log, then reload to try it anew`;
      pool()?.spawn(key, { ...inputOf(entry), begin: 'failed', why });
    },
    /** Checks a failed or paused target again: for a person who has fixed it. */
    check(profile: string, name: string): void {
      const entry = find(profile, name);
      if (entry === undefined) return;
      if (stateOf(entry.key)?.value === 'failed') lookAgain(entry);
      entry.queue?.probe();
    },
    rows(): readonly TargetRow[] {
      return [...kept.values()].flatMap((entry) => {
        const seen = stateOf(entry.key);
        return seen === undefined ? [] : [rowOf(entry, seen)];
      });
    },
    /** For a stopping gateway: waiting deliveries continue after the next start. */
    park(): void {
      for (const queue of queues.values()) queue.park();
    },
    /** Ends the remains of a crashed gateway. */
    clear(): void {
      pool()?.clear();
      respawns.clear();
      for (const queue of queues.values()) queue.clear();
      checks.releaseAll();
    },
  };
}

/** The waits for the check of a target that is in progress, by the target's key. */
function createCheckWaits() {
  const waiting = new Map<string, Set<() => void>>();

  function release(key: string): void {
    for (const done of [...(waiting.get(key) ?? [])]) done();
  }

  return {
    /** Resolves when the check has ended, or the signal aborts. */
    ended({ key }: LiveTarget, signal: AbortSignal): Promise<void> {
      return new Promise((resolve) => {
        const waiters = getOrMake(waiting, key, () => new Set());
        const done = (): void => {
          waiters.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        waiters.add(done);
        signal.addEventListener('abort', done);
        if (signal.aborted) done();
      });
    },
    release,
    releaseAll(): void {
      for (const key of [...waiting.keys()]) release(key);
    },
  };
}

/** The key of a target's connection in the pool, by its configured name. */
export function platformKey(profile: string, target: string): string {
  return inProfile(target, profile);
}

function rowOf({ profile, settings, target, queue }: LiveTarget, seen: PlatformConnection): TargetRow {
  const paused = queue?.pauseNow();
  const { as, note, why } = seen.context;
  return {
    name: settings.name ?? target,
    target,
    title: targetTitle(target),
    profile,
    state: seen.value,
    since: new Date(seen.since).toISOString(),
    ...defined({
      account: as ?? undefined,
      home_channel: settings.homeChannel,
      waiting: queue?.load().waiting,
      paused_until: paused && new Date(paused.untilMs).toISOString(),
      pause_reason: paused?.reason,
      note: note ?? undefined,
      error: why ?? undefined,
    }),
  };
}

function inputOf({ profile, target, settings }: LiveTarget): PlatformInput {
  const common = { profile, target, name: settings.name ?? target, why: settings.problem ?? null };
  if (settings.problem !== undefined) return { ...common, begin: 'failed' };
  return { ...common, begin: settings.enabled ? 'verifying' : 'disabled' };
}
