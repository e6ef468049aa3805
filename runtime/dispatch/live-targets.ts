/**
 * The live delivery targets of every profile: makes them from the configuration, keeps those that did not change across a
 * reload, and has one connection chart for each that is configured. What cannot lie in a chart's context — credentials,
 * tokens, lanes — lies here.
 * @see DLV-1, DLV-2 and DLV-5 in docs/specification.md
 */

import type { LoadedHome, LoadedProfile } from '../../actors/config/load-config.ts';
import {
  createTarget,
  defaultGithubComment,
  loadPlatformTargets,
  type TargetOwner,
} from '../../actors/dispatch/deliver.ts';
import type { PlatformTarget } from '../../actors/dispatch/targets/platform-target.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { inProfile } from '../../machines/base/names.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { PlatformSettings } from '../../machines/config/settings.ts';
import { targetTitle } from '../../machines/config/target-titles.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { paceOf } from '../../machines/dispatch/pace.ts';
import type {
  PlatformContext,
  PlatformInput,
  VerifyResult,
} from '../../machines/dispatch/platform-connection.machine.ts';
import { type SendOutcome, transient } from '../../machines/dispatch/send-outcome.ts';
import type { TargetRow } from '../control/contract.ts';
import { createRespawns } from '../system/respawns.ts';
import { createTargetLane, type TargetLane } from './target-lane.ts';

export interface LiveTargetsPorts {
  readonly home: () => LoadedHome;
  /** Undefined while the ward does not live. */
  readonly ward: () => WardHandle<PlatformInput> | undefined;
  readonly owner: Pick<TargetOwner, 'ports' | 'log'>;
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  readonly nowMs: () => number;
  /** Milliseconds that only rise: for waits, which a clock that is set must not change. */
  readonly steadyMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

export interface LiveTarget {
  /** Its address in the ward, in the configuration's notation. */
  readonly key: string;
  readonly profile: string;
  /** Its name, never an alias. */
  readonly target: string;
  readonly settings: PlatformSettings;
  readonly made: PlatformTarget;
  /** The log knows no hurry. */
  readonly lane: TargetLane | undefined;
  /** Tells whether anything changed. Holds secrets: compared, never shown. */
  readonly print: string;
  /** Whether the configuration names it. */
  readonly configured: boolean;
  /** When its platform was last asked whether it takes the credentials, by the steady clock. */
  lastAskedMs: number;
}

export interface LiveTargets {
  /**
   * Carries the configuration in force over to the connections: touches what changed and nothing else. Whatever is sent
   * meanwhile waits for it.
   */
  reconcile(): Promise<void>;
  /** Resolves once what is being made is made. */
  made(): Promise<void>;
  find(profile: string, name: string): LiveTarget | undefined;
  /** How a target's connection stands; undefined where it has none. */
  connectionOf(target: LiveTarget): PlatformConnection | undefined;
  /** Resolves when the check under way has ended, or nobody waits for it any more. */
  checkEnded(target: LiveTarget, signal: AbortSignal): Promise<void>;
  /** Has the platform asked again whether it takes the credentials. */
  lookAgain(target: LiveTarget): void;
  /** What a delivery that was begun then, by the steady clock, has found out about the platform. */
  learn(target: LiveTarget, outcome: SendOutcome, begunAtMs: number): void;
  verify(context: PlatformContext, signal: AbortSignal): Promise<VerifyResult>;
  /** A check has ended, or the connection has. */
  checked(key: string): void;
  /** A connection's chart is gone. */
  ended(key: string): void;
  /** A connection's chart crashed. */
  crashed(key: string, error: unknown): void;
  /** Looks at a target that failed, or asked for a pause, again: for a person who has fixed it. */
  check(profile: string, name: string): void;
  rows(): readonly TargetRow[];
  /** The gateway stops: what waits for its place continues with the next start. */
  park(): void;
  /** Ends what a crashed gateway left behind. */
  clear(): void;
}

/** A connection's chart as it stands. */
export interface PlatformConnection {
  readonly value: string;
  readonly since: number;
  readonly context: PlatformContext;
}

const logSettings: PlatformSettings = { enabled: true, timeoutMs: 10_000, options: {} };

export function createLiveTargets(ports: LiveTargetsPorts): LiveTargets {
  const { home, ward, steadyMs } = ports;
  const respawns = createRespawns(ports);
  let kept = new Map<string, LiveTarget>();
  /** The same by the targets' names: a delivery may have been given an alias. */
  let byName = new Map<string, LiveTarget>();
  const waiting = new Map<string, Set<() => void>>();
  let createPlatformTarget: TargetOwner['createPlatformTarget'];
  let reconciled = Promise.resolve();

  function make(profile: LoadedProfile, target: string, settings: PlatformSettings, configured: boolean): LiveTarget {
    const key = platformKey(profile.name, settings.name ?? target);
    const print = JSON.stringify([settings, configured, target === 'github_comment' ? [...profile.scope] : []]);
    const standing = kept.get(key);
    if (standing?.print === print) return standing;
    const made = createTarget(target, settings, {
      ...ports.owner,
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
      lane: target === 'log' ? undefined : laneOf(profile.name, target, settings),
      print,
      configured,
      lastAskedMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** Whoever waits to be sent keeps its place in the queue when the entry of its target changes. */
  function laneOf(profile: string, target: string, settings: PlatformSettings): TargetLane {
    return byName.get(platformKey(profile, target))?.lane ?? createTargetLane(paceOf(target, settings), ports);
  }

  async function carryOver(): Promise<void> {
    // A reload that comes meanwhile has its own turn.
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
    for (const [key, { print }] of earlier) {
      if (next.get(key)?.print === print && !respawns.isSpent(key)) continue;
      // Another entry, or a person who asks again, has crashed nothing yet.
      respawns.forget(key);
      ward()?.get(key)?.send({ type: 'platform.stop' });
    }
    for (const key of next.keys()) spawn(key);
    // Whom this lets go finds the new connection, and waits for its check.
    for (const [key, { target, settings, lane, print }] of next)
      if (earlier.get(key)?.print !== print) lane?.adjust(paceOf(target, settings));
  }

  function find(profile: string, name: string): LiveTarget | undefined {
    return byName.get(platformKey(profile, canonicalTarget(name) ?? name));
  }

  function stateOf(key: string): PlatformConnection | undefined {
    return ward()?.get(key)?.getSnapshot() as PlatformConnection | undefined;
  }

  function spawn(key: string): void {
    const entry = kept.get(key);
    const living = ward();
    if (entry === undefined || !entry.configured || living === undefined || living.get(key) !== undefined) return;
    if (respawns.rests(key)) return;
    living.spawn(key, inputOf(entry));
  }

  function checkEnded({ key }: LiveTarget, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiters = waiting.get(key) ?? new Set();
      waiting.set(key, waiters);
      const done = (): void => {
        waiters.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiters.add(done);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }

  function lookAgain(entry: LiveTarget): void {
    entry.lastAskedMs = steadyMs();
    ward()?.get(entry.key)?.send({ type: 'platform.check' });
  }

  function checked(key: string): void {
    for (const done of [...(waiting.get(key) ?? [])]) done();
  }

  return {
    reconcile() {
      reconciled = reconciled.then(carryOver).catch((thrown: unknown) => {
        ports.log.log('error', `the targets could not be made: ${causeOf(thrown)}`);
      });
      return reconciled;
    },
    made: () => reconciled,
    find,
    connectionOf: ({ key }) => stateOf(key),
    checkEnded,
    lookAgain,
    learn(entry, outcome, begunAtMs) {
      // What is said to an entry that was changed meanwhile says nothing about its successor, whose lane is the same.
      if (find(entry.profile, entry.target) !== entry) return;
      const connection = ward()?.get(entry.key);
      // What was not sent says nothing about the platform.
      if (outcome.kind === 'delivered' && outcome.reason === undefined) {
        connection?.send({ type: 'platform.delivered' });
        entry.lane?.arrived(begunAtMs);
      }
      if (outcome.kind === 'refused' && outcome.class === 'auth') {
        entry.lastAskedMs = steadyMs();
        connection?.send({ type: 'platform.refused' });
      }
      // The chat of one that has a limit of its own waits for it already.
      if (outcome.kind === 'rateLimited' && outcome.ofChat !== true)
        entry.lane?.pauseFor(outcome.retryAfterMs, outcome.reason);
    },
    async verify({ profile, target }, signal) {
      const entry = find(profile, target);
      if (entry === undefined)
        return { outcome: transient('it is not configured any more'), jitter: 0 } as VerifyResult;
      entry.lastAskedMs = steadyMs();
      return { outcome: await entry.made.verify(signal), jitter: ports.random() };
    },
    checked,
    ended(key) {
      checked(key);
      spawn(key);
    },
    crashed(key, error) {
      checked(key);
      const entry = kept.get(key);
      const wasSpent = respawns.isSpent(key);
      if (entry === undefined || respawns.crashed(key, () => spawn(key)) || wasSpent) return;
      const why = `it crashed in the gateway again and again: ${causeOf(error)}; read the log, then reload to try it anew`;
      ward()?.spawn(key, { ...inputOf(entry), begin: 'failed', why });
    },
    check(profile, name) {
      const entry = find(profile, name);
      if (entry === undefined) return;
      if (stateOf(entry.key)?.value === 'failed') lookAgain(entry);
      entry.lane?.probe();
    },
    rows() {
      const rows: TargetRow[] = [];
      for (const entry of kept.values()) {
        const { key, profile, settings, target, lane } = entry;
        const seen = stateOf(key);
        if (seen === undefined) continue;
        const paused = lane?.pauseNow();
        const { as, note, why } = seen.context;
        rows.push({
          name: settings.name ?? target,
          target,
          title: targetTitle(target),
          profile,
          state: seen.value,
          since: new Date(seen.since).toISOString(),
          ...(as === null ? {} : { account: as }),
          ...(settings.homeChannel === undefined ? {} : { home_channel: settings.homeChannel }),
          ...(lane === undefined ? {} : { waiting: lane.load().waiting }),
          ...(paused === undefined
            ? {}
            : { paused_until: new Date(paused.untilMs).toISOString(), pause_reason: paused.reason }),
          ...(note === null ? {} : { note }),
          ...(why === null ? {} : { error: why }),
        });
      }
      return rows;
    },
    park() {
      for (const { lane } of kept.values()) lane?.park();
    },
    clear() {
      ward()?.clear();
      respawns.clear();
      for (const { lane } of kept.values()) lane?.clear();
      for (const key of [...waiting.keys()]) checked(key);
    },
  };
}

/** The key of a target's connection in the ward: by one name, that which people have given it. */
export function platformKey(profile: string, target: string): string {
  return inProfile(target, profile);
}

function inputOf({ profile, target, settings }: LiveTarget): PlatformInput {
  const common = { profile, target, name: settings.name ?? target, why: settings.problem ?? null };
  if (settings.problem !== undefined) return { ...common, begin: 'failed' };
  return { ...common, begin: settings.enabled ? 'verifying' : 'disabled' };
}
