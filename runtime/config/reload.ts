/**
 * The home in force, the home that a reload has read, and the reload chart with its effects: reading the files and
 * applying them. A request for a reload is answered when the reload has ended.
 * @see CFG-2 and CFG-3 in docs/specification.md
 */

import { type AnyActorRef, fromPromise } from 'xstate';
import { type HomeSource, type LoadedHome, loadHome, loadingHome } from '../../actors/config/load-config.ts';
import { stampForReader } from '../../actors/files.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import type { Logger } from '../../actors/ports.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { Settings } from '../../machines/config/settings.ts';
import {
  type ReadVerdict,
  type ReloadInput,
  type ReloadOutcome,
  reloadMachine,
} from '../../machines/reload.machine.ts';
import { Refusal } from '../control/contract/refusal.ts';
import type { Redactor } from '../observe/redact.ts';
import {
  adapterBlock,
  adapterFault,
  brokenSections,
  learningSecrets,
  learnSecrets,
  reportDiagnostics,
  watchedPaths,
  withLostFiles,
} from './loaded-home.ts';

/** Longer files are not read at once for their findings alone, since the watcher has them read between other work. */
const atOnceLength = 64 * 1024;

export interface Homes {
  inForce(): LoadedHome;
  /** The home that a reload has read, until the reload ends; else the one in force. */
  wanted(): LoadedHome;
  /** Reads the files again between other work; `wanted` returns them from then on. Rejects once the reading is aborted. */
  read(signal?: AbortSignal): Promise<LoadedHome>;
  adopt(): void;
  /** Returns to the home in force. */
  dismiss(): void;
  /** The stamps of the files that were or are being read to be in force; none if that failed for another reason than their findings. */
  handled(): ReadonlyMap<string, string | undefined>;
  /** The files are to be read again, unchanged or not. */
  forget(): void;
  /** Findings of the files as they are now, which are read again only after a change; of long ones, as they were read last. */
  problems(): readonly Diagnostic[];
  /** The files to watch: of the home in force, and of the one read last, which a profile may have made refused. */
  watched(): readonly string[];
}

export function createHomes(source: HomeSource, redactor: Redactor, log: Logger): Homes {
  let wanted = loadHome(source);
  let inForce = wanted;
  let last = wanted;
  let handled = wanted.stamps;
  reportDiagnostics(wanted, log);
  learnSecrets(wanted, redactor);
  return {
    inForce: () => inForce,
    wanted: () => wanted,
    async read(signal) {
      const stamps = new Map<string, string | undefined>();
      handled = stamps;
      const loaded = await inPieces(loadingHome(source, stamps), () => signal?.aborted !== true);
      if (loaded === undefined) throw new Error('the gateway stops');
      const read = withLostFiles(loaded, inForce);
      reportDiagnostics(read, log);
      await inPieces(learningSecrets(read, redactor));
      wanted = read;
      last = read;
      return read;
    },
    adopt() {
      inForce = wanted;
    },
    dismiss() {
      wanted = inForce;
    },
    handled: () => handled,
    forget() {
      handled = new Map();
    },
    problems() {
      const length = [...last.profiles.values()].reduce((sum, { text }) => sum + text.length, 0);
      const isOutdated = () => [...last.stamps].some(([path, stamp]) => stampForReader(path) !== stamp);
      if (length <= atOnceLength && isOutdated()) last = loadHome(source);
      return last.webhookBlocked;
    },
    watched() {
      const paths = homePaths(source.home);
      return [...new Set([inForce, last].flatMap((home) => watchedPaths(home, paths)))];
    },
  };
}

interface ReloadPorts {
  readonly homes: Homes;
  /** Assigns all requests so far to the reload that begins. */
  readonly begun: () => void;
  /** Whether the listener is where these settings want it, or closed if they want none. */
  readonly listensAs: (settings: Settings) => boolean;
  /** Applies the home in force to every part. */
  readonly apply: () => void;
  readonly refused: (why: string) => void;
  readonly redact: (text: string) => string;
  readonly log: Logger;
}

export function wireReload({ homes, begun, listensAs, apply, refused, redact, log }: ReloadPorts) {
  async function read(wasBlocked: boolean, signal: AbortSignal): Promise<ReadVerdict> {
    begun();
    const next = await homes.read(signal);
    const found = adapterBlock(next);
    // A gateway that began with findings in a section has no good one to keep, and another section still does.
    const standing = brokenSections(homes.inForce());
    const isAsBefore = [...brokenSections(next)].every((section) => standing.has(section));
    const mayApply = found.kind === 'section' ? isAsBefore : wasBlocked;
    if (found.kind === 'home' || (found.kind !== 'free' && !mayApply)) {
      const why = redact(found.fault);
      refused(why);
      return { plan: null, fault: why };
    }
    const { settings } = next.main;
    return {
      fault: null,
      plan: { listens: settings.webhook.enabled, listenerChanged: !listensAs(settings), blocked: adapterFault(next) },
    };
  }

  return reloadMachine.provide({
    actors: {
      readHome: fromPromise<ReadVerdict, ReloadInput>(async ({ input, signal }) => read(input.wasBlocked, signal)),
      adoptHome: fromPromise<undefined, undefined>(async () => {
        homes.adopt();
        apply();
        log.log('info', 'configuration reloaded');
        return undefined;
      }),
    },
  });
}

/** Whether the reload was refused for what the files say; the status shows it until they change. */
export function isOfFindings(thrown: unknown): boolean {
  return thrown instanceof Refusal && (thrown.code === 'reload-refused' || thrown.code === 'reload-incomplete');
}

type Answer = (refusal: Refusal | undefined) => void;

/** The pending requests for reloads: one that arrives during a reload gets the next one. */
export function createReloads(homes: Homes, log: Logger) {
  const asked: Answer[] = [];
  const underWay: Answer[] = [];
  const busy = (): Refusal =>
    new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment');

  function answer(refusal: Refusal | undefined): void {
    homes.dismiss();
    if (refusal !== undefined && !isOfFindings(refusal)) homes.forget();
    for (const settle of underWay.splice(0)) settle(refusal);
  }

  return {
    /** Resolves when the files at the time of the call are in force; rejects with the reason if they are not. */
    ask: (root: AnyActorRef): Promise<void> =>
      new Promise((resolve, reject) => {
        if (!root.getSnapshot().can({ type: 'config.reload' })) {
          reject(busy());
          return;
        }
        asked.push((refusal) => (refusal === undefined ? resolve() : reject(refusal)));
        root.send({ type: 'config.reload' });
      }),
    begun: (): void => void underWay.push(...asked.splice(0)),
    ended({ inForce, fault, hasFindings }: ReloadOutcome): void {
      const why = hasFindings ? `${fault}; the last good one stays in force` : fault;
      if (why !== null) log.log('error', `reload: ${why}`);
      if (why === null) answer(undefined);
      else if (!inForce) answer(new Refusal('reload-refused', why));
      else if (adapterFault(homes.inForce()) === null) answer(new Refusal('internal-error', `applied; ${why}`));
      else answer(new Refusal('reload-incomplete', `applied; webhooks still do not listen: ${why}`));
    },
    /** Refuses all pending requests; without a reason, because the gateway is starting or stopping. */
    refuse(why?: string): void {
      underWay.push(...asked.splice(0));
      answer(why === undefined ? busy() : new Refusal('internal-error', why));
    },
  };
}
