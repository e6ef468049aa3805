/**
 * Notices that a configuration has changed on disk. Compares stamps once a second, which works on every file system and
 * with every editor's way of saving, and costs next to nothing; a change is told once two looks in a row agree on it.
 * @see CFG-2 in docs/specification.md
 */

import { stampOf } from '../../actors/files.ts';
import type { Every } from '../system/ticks.ts';

/** Long enough to be nothing, short enough that nobody waits for it. */
const lookMs = 1_000;

export interface WatchedConfig {
  /** The stamps of what was read, each from right before: a change while the daemon starts is one too. */
  readonly read: ReadonlyMap<string, string | undefined>;
  readonly paths: () => readonly string[];
  /** Resolves with false where nobody could look at the change yet: it is told again. */
  readonly changed: () => Promise<boolean>;
}

/** Calls back after a change of any of the files, until the returned function is called. */
export function watchConfig({ read, paths, changed }: WatchedConfig, every: Every): () => void {
  const spelled = (stamp: (path: string) => string | undefined): string =>
    paths()
      .map((path) => stamp(path) ?? 'none')
      .join('\n');
  let seen: string | undefined = spelled((path) => read.get(path));
  let last = seen;
  return every(() => {
    const now = spelled(stampOf);
    // Who writes over a file empties it first, and an empty one says that nothing is configured: it must be at rest.
    const rests = now === last;
    last = now;
    if (now === seen || !rests) return;
    seen = now;
    void changed().then((heard) => {
      if (!heard) seen = undefined;
    });
  }, lookMs);
}
