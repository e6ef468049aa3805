/**
 * Detects changes of the configuration on disk. Compares stamps once a second, which works on every file system and with
 * every editor's way of saving, at little cost; a change is reported once two checks in a row agree on it.
 * @see CFG-2 in docs/specification.md
 */

import { stampForReader } from '../../actors/files.ts';
import type { Every } from '../system/ticks.ts';

/** Long enough to cost little, short enough that a person does not notice the wait. */
const lookMs = 1_000;

interface WatchedConfig {
  /** The stamps of the files that are in force or were refused, each taken right before the file was read. */
  readonly read: () => ReadonlyMap<string, string | undefined>;
  readonly paths: () => readonly string[];
  /** Resolves with false if the change could not be handled yet: it is reported again. */
  readonly changed: () => Promise<boolean>;
}

/** Calls back after a change of any of the files, until the returned function is called. */
export function watchConfig({ read, paths, changed }: WatchedConfig, every: Every): () => void {
  const stamps = (stamp: (path: string) => string | undefined): string =>
    paths()
      .map((path) => stamp(path) ?? 'none')
      .join('\n');
  const handled = (): string => stamps((path) => read().get(path));
  let seen: string | undefined;
  let last = handled();
  return every(() => {
    const now = stamps(stampForReader);
    // An editor may empty a file before it writes, and an empty file is a valid configuration: wait until it is stable.
    const rests = now === last;
    last = now;
    if (now === seen || !rests) return;
    // A reload that a person asked for has read it already, and may still fail.
    const isHandled = now === handled();
    seen = isHandled ? undefined : now;
    if (isHandled) return;
    void changed().then((heard) => {
      if (!heard) seen = undefined;
    });
  }, lookMs);
}
