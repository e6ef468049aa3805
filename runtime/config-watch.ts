/**
 * Notices that a configuration has changed on disk. Compares stamps once a second, which works on every file system and
 * with every editor's way of saving, and costs next to nothing.
 * @see CFG-2 in docs/specification.md
 */

import { stampOf } from '../actors/files.ts';
import type { Every } from './ticks.ts';

/** Long enough to be nothing, short enough that nobody waits for it. */
const lookMs = 1_000;

/** Calls back after a change of any of the files, until the returned function is called. */
export function watchConfig(paths: () => readonly string[], changed: () => void, every: Every): () => void {
  const stamps = (): string =>
    paths()
      .map((path) => stampOf(path) ?? 'none')
      .join('\n');
  let seen = stamps();
  return every(() => {
    const now = stamps();
    if (now === seen) return;
    seen = now;
    changed();
  }, lookMs);
}
