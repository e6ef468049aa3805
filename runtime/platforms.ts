/**
 * The live delivery targets of every profile: makes them from the configuration, keeps those that did not change across a
 * reload, has one connection chart for each that is configured, and sends where the connection lets it. What cannot lie in
 * a chart's context — credentials, tokens, places — lies here.
 * @see DLV-1, DLV-2 and DLV-5 in docs/specification.md
 */

import type { LoadedHome, LoadedProfile } from '../actors/config/load-config.ts';
import {
  createTarget,
  loadPlatformTargets,
  type TargetOwner,
  usualCodehost,
  whyNot,
} from '../actors/dispatch/deliver.ts';
import { createLane, type Lane } from '../actors/dispatch/lanes.ts';
import type { PlatformTarget } from '../actors/dispatch/targets/platform-target.ts';
import type { Logger } from '../actors/ports.ts';
import { causeOf } from '../machines/base/fault.ts';
import type { JsonObject } from '../machines/base/json.ts';
import type { ProfileName } from '../machines/base/names.ts';
import type { WardHandle } from '../machines/base/ward.ts';
import type { PlatformSettings } from '../machines/config/settings.ts';
import { canonicalTarget } from '../machines/config/targets.ts';
import { type Attempt, usualRetries } from '../machines/dispatch/next-try.ts';
import { paceOf } from '../machines/dispatch/pace.ts';
import type { PlatformContext, PlatformInput, VerifyResult } from '../machines/dispatch/platform-connection.machine.ts';
import { refused, type SendOutcome, transient, type Undelivered } from '../machines/dispatch/send-outcome.ts';
import type { DeliveryRecord } from '../machines/webhook/record.ts';

export interface PlatformsPorts {
  readonly home: () => LoadedHome;
  /** Undefined while the ward does not live. */
  readonly ward: () => WardHandle<PlatformInput> | undefined;
  readonly owner: Pick<TargetOwner, 'ports' | 'log'>;
  readonly wake: (callback: () => void, waitMs: number) => () => void;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly log: Logger;
}

export interface Platforms {
  /**
   * Carries the configuration in force over to the connections: touches what changed and nothing else. Whatever is sent
   * meanwhile waits for it.
   */
  reconcile(): Promise<void>;
  send(record: DeliveryRecord, signal: AbortSignal): Promise<Attempt>;
  /** Asks for a delivery's place on the way to its platform; the returned function gives it back. */
  ask(record: DeliveryRecord, granted: () => void): () => void;
  deduplicatesForMs(record: DeliveryRecord): number;
  /** Where it goes: its own place, else the home channel; undefined where its target is not made or knows no places. */
  placeOf(record: DeliveryRecord): string | undefined;
  verify(context: PlatformContext, signal: AbortSignal): Promise<VerifyResult>;
  /** A check has ended, or the connection has. */
  checked(key: string): void;
  /** A connection's chart is gone. */
  ended(key: string): void;
  /** Looks at a target that failed again, for a person who has mended it. */
  check(profile: string, name: string): void;
  rows(): readonly JsonObject[];
  /** Ends what a crashed gateway left behind. */
  clear(): void;
}

interface Kept {
  /** Its address in the ward, in the configuration's spelling. */
  readonly key: string;
  readonly profile: string;
  /** The neutral name. */
  readonly target: string;
  readonly settings: PlatformSettings;
  readonly made: PlatformTarget;
  /** The log knows no hurry. */
  readonly lane: Lane | undefined;
  /** Tells whether anything changed. Holds secrets: compared, never shown. */
  readonly print: string;
  /** Whether the configuration names it. */
  readonly configured: boolean;
  lastAskedMs: number;
}

interface Seen {
  readonly value: string;
  readonly since: number;
  readonly context: PlatformContext;
}

/** Deliveries make a platform that refuses its credentials look again this often at most. */
const leastCheckMs = 60_000;
const logSettings: PlatformSettings = { enabled: true, timeoutMs: 10_000, options: {} };

export function createPlatforms(ports: PlatformsPorts): Platforms {
  const { home, ward, nowMs } = ports;
  let kept = new Map<string, Kept>();
  /** The same by their neutral names, which a delivery may not have been given. */
  let neutral = new Map<string, Kept>();
  const waiting = new Map<string, Set<() => void>>();
  let createPlatformTarget: TargetOwner['createPlatformTarget'];
  let reconciled = Promise.resolve();

  function make(profile: LoadedProfile, target: string, settings: PlatformSettings, configured: boolean): Kept {
    const key = platformKey(profile.name, settings.name ?? target);
    const print = JSON.stringify([settings, configured, target === 'codehost_comment' ? [...profile.scope] : []]);
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
      lane: target === 'log' ? undefined : createLane(paceOf(target, settings), ports),
      print,
      configured,
      lastAskedMs: 0,
    };
  }

  async function carryOver(): Promise<void> {
    // A reload that comes meanwhile has its own turn.
    const { profiles } = home();
    const names = [...profiles.values()].flatMap(({ settings }) => Object.keys(settings.platforms));
    if (names.some((name) => name !== 'codehost_comment')) createPlatformTarget ??= await loadPlatformTargets();
    const next = new Map<string, Kept>();
    for (const profile of profiles.values()) {
      const { platforms } = profile.settings;
      const all = { log: logSettings, codehost_comment: usualCodehost, ...platforms };
      for (const [target, settings] of Object.entries(all)) {
        const entry = make(profile, target, settings, platforms[target] !== undefined);
        next.set(entry.key, entry);
      }
    }
    const earlier = kept;
    kept = next;
    neutral = new Map([...next.values()].map((entry) => [platformKey(entry.profile, entry.target), entry]));
    for (const [key, { print }] of earlier) {
      if (next.get(key)?.print !== print) ward()?.get(key)?.send({ type: 'platform.stop' });
    }
    for (const key of next.keys()) spawn(key);
  }

  function find(profile: string, name: string): Kept | undefined {
    return neutral.get(platformKey(profile, canonicalTarget(name) ?? name));
  }

  function placeOf(record: DeliveryRecord): string | undefined {
    return goesOnAt(record) ?? find(record.profile, record.target)?.made.placeOf(record.extra);
  }

  function stateOf(key: string): Seen | undefined {
    return ward()?.get(key)?.getSnapshot() as unknown as Seen | undefined;
  }

  function spawn(key: string): void {
    const entry = kept.get(key);
    const living = ward();
    if (entry === undefined || !entry.configured || living === undefined || living.get(key) !== undefined) return;
    living.spawn(key, inputOf(entry));
  }

  /** Resolves when the check under way has ended, or nobody waits for it any more. */
  function settled(key: string, signal: AbortSignal): Promise<void> {
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

  /** A crash while a check is waited for would leave a delivery as perhaps sent that was not. */
  async function grantOnceChecked(key: string, signal: AbortSignal, granted: () => void): Promise<void> {
    while (!signal.aborted && stateOf(key)?.value === 'verifying') await settled(key, signal);
    if (!signal.aborted) granted();
  }

  /** The target where it may be sent to; else why not. Waits for a check that is under way. */
  async function reach({ profile, target: name }: DeliveryRecord, signal: AbortSignal): Promise<Kept | Undelivered> {
    await reconciled;
    for (;;) {
      if (home().profiles.get(profile as ProfileName) === undefined)
        return refused('permanent', `profile "${profile}" is not configured any more`);
      const entry = find(profile, name);
      const no = whyNot(name, entry?.settings);
      if (no !== undefined || entry === undefined)
        return no ?? refused('permanent', `target "${name}" is not made yet`);
      const seen = stateOf(entry.key);
      if (signal.aborted) return transient(`${name}: stopped before it was sent`);
      if (seen?.value === 'verifying') {
        await settled(entry.key, signal);
        continue;
      }
      if (seen === undefined || seen.value !== 'failed' || !seen.context.refused) return entry;
      if (nowMs() - entry.lastAskedMs < leastCheckMs)
        return refused('auth', `target "${name}" is not connected: ${seen.context.why ?? ''}`);
      ask(entry);
    }
  }

  function ask(entry: Kept): void {
    entry.lastAskedMs = nowMs();
    ward()?.get(entry.key)?.send({ type: 'platform.check' });
  }

  /** What a delivery has found out about the platform. */
  function learn(entry: Kept, outcome: SendOutcome): void {
    const connection = ward()?.get(entry.key);
    if (outcome.kind === 'delivered') connection?.send({ type: 'platform.delivered' });
    if (outcome.kind === 'refused' && outcome.class === 'auth') {
      entry.lastAskedMs = nowMs();
      connection?.send({ type: 'platform.refused' });
    }
    if (outcome.kind === 'rateLimited') entry.lane?.pause(nowMs() + outcome.retryAfterMs);
  }

  function checked(key: string): void {
    for (const done of [...(waiting.get(key) ?? [])]) done();
  }

  async function deliver(record: DeliveryRecord, signal: AbortSignal): Promise<SendOutcome> {
    const entry = await reach(record, signal);
    if ('kind' in entry) return entry;
    const { deliveryId, text, extra, sent } = record;
    const begunAt = goesOnAt(record);
    const request = {
      deliveryId,
      profile: record.profile as ProfileName,
      text,
      extra,
      ...(sent === undefined ? {} : { sent }),
      ...(begunAt === undefined ? {} : { begunAt }),
    };
    const outcome = await entry.made.deliver(request, signal);
    learn(entry, outcome);
    return outcome;
  }

  return {
    reconcile() {
      reconciled = reconciled.then(carryOver).catch((thrown: unknown) => {
        ports.log.log('error', `the targets could not be made: ${causeOf(thrown)}`);
      });
      return reconciled;
    },
    async send(record, signal) {
      const startedAtMs = nowMs();
      const outcome = await deliver(record, signal);
      const entry = find(record.profile, record.target);
      const chat = placeOf(record);
      return {
        outcome,
        ...(chat === undefined ? {} : { chat }),
        startedAtMs,
        endedAtMs: nowMs(),
        jitter: ports.random(),
        deduplicatesForMs: entry?.made.deduplicatesForMs(record.extra) ?? 0,
        policy: entry?.settings.retries ?? usualRetries,
      };
    },
    ask(record, granted) {
      const entry = find(record.profile, record.target);
      if (entry?.lane === undefined) {
        granted();
        return () => {};
      }
      const leaving = new AbortController();
      const leave = entry.lane.ask(placeOf(record) ?? '', () => {
        if (stateOf(entry.key)?.value === 'verifying') void grantOnceChecked(entry.key, leaving.signal, granted);
        else granted();
      });
      return () => {
        leaving.abort();
        leave();
      };
    },
    deduplicatesForMs: ({ profile, target, extra }) => find(profile, target)?.made.deduplicatesForMs(extra) ?? 0,
    placeOf,
    async verify({ profile, target }, signal) {
      const entry = find(profile, target);
      if (entry === undefined)
        return { outcome: transient('it is not configured any more'), jitter: 0 } as VerifyResult;
      entry.lastAskedMs = nowMs();
      return { outcome: await entry.made.verify(signal), jitter: ports.random() };
    },
    checked,
    ended(key) {
      checked(key);
      spawn(key);
    },
    check(profile, name) {
      const entry = find(profile, name);
      if (entry !== undefined && stateOf(entry.key)?.value === 'failed') ask(entry);
    },
    rows() {
      const rows: JsonObject[] = [];
      for (const { key, profile, settings, target, lane } of kept.values()) {
        const seen = stateOf(key);
        if (seen === undefined) continue;
        const { as, note, why } = seen.context;
        rows.push({
          name: settings.name ?? target,
          target,
          profile,
          state: seen.value,
          since: new Date(seen.since).toISOString(),
          ...(as === null ? {} : { account: as }),
          ...(settings.homeChannel === undefined ? {} : { home_channel: settings.homeChannel }),
          ...(lane === undefined ? {} : { waiting: lane.load().waiting }),
          ...(note === null ? {} : { note }),
          ...(why === null ? {} : { error: why }),
        });
      }
      return rows;
    },
    clear() {
      ward()?.clear();
      for (const { lane } of kept.values()) lane?.clear();
      for (const key of [...waiting.keys()]) checked(key);
    },
  };
}

/** Where the rest of it goes that may have begun to arrive: another home channel must not get the second half. */
function goesOnAt({ chat, sent, unsureSinceMs }: DeliveryRecord): string | undefined {
  return sent === undefined && unsureSinceMs === undefined ? undefined : chat;
}

/** The key of a target's connection in the ward: by one name, that which people have given it. */
export function platformKey(profile: string, target: string): string {
  return profile === 'default' ? target : `${target}@${profile}`;
}

function inputOf({ profile, target, settings }: Kept): PlatformInput {
  const common = { profile, target, name: settings.name ?? target, why: settings.problem ?? null };
  if (settings.problem !== undefined) return { ...common, begin: 'failed' };
  return { ...common, begin: settings.enabled ? 'verifying' : 'disabled' };
}
