/**
 * Stores since when the configuration of each profile is in force, and what was applied or refused since the daemon
 * started. In memory and bounded; contains no values.
 * @see CFG-3 and INS-4 in docs/specification.md
 */

import type { LoadedHome } from '../../actors/config/load-config.ts';
import { configChanges } from '../../machines/config/config-changes.ts';

interface ConfigChange {
  readonly atMs: number;
  readonly profile: string;
  readonly kind: 'applied' | 'refused';
  /** What changed, or why it was refused. */
  readonly what: readonly string[];
}

export interface ConfigHistory {
  /** Records that a home is in force from now on. */
  applied(home: LoadedHome): void;
  /** Records that the files were refused. */
  refused(why: string): void;
  /** Settings whose new value takes effect only at the next start of the daemon. */
  restartFor(): readonly string[];
  sinceMs(profile: string): number | undefined;
  /** Newest first. */
  changes(profile: string): readonly ConfigChange[];
}

const maxChanges = 50;

export function createConfigHistory(first: LoadedHome, nowMs: () => number): ConfigHistory {
  let standing = first;
  const since = new Map([...first.profiles.keys()].map((name): [string, number] => [name, nowMs()]));
  const kept: ConfigChange[] = [];
  const keep = (change: ConfigChange): void => {
    kept.unshift(change);
    kept.length = Math.min(kept.length, maxChanges);
  };
  return {
    applied(home) {
      const atMs = nowMs();
      for (const [name, { text, written }] of home.profiles) {
        const before = standing.profiles.get(name);
        if (before?.text === text) continue;
        since.set(name, atMs);
        // Reading a file of many routes again would hold up all requests.
        const what = configChanges(before?.written ?? {}, written);
        keep({ atMs, profile: name, kind: 'applied', what: what.length === 0 ? ['Comments or order changed'] : what });
      }
      standing = home;
    },
    refused(why) {
      const [last] = kept;
      // The same file may be read more than once.
      if (last?.kind === 'refused' && last.what[0] === why) return;
      keep({ atMs: nowMs(), profile: 'default', kind: 'refused', what: [why] });
    },
    restartFor() {
      const [was, is] = [first, standing].map(({ main }) => main.settings.gateway);
      const isOther = (key: 'journal' | 'node' | 'postgres'): boolean =>
        JSON.stringify(was?.[key]) !== JSON.stringify(is?.[key]);
      return (['journal', 'postgres', 'node'] as const).filter(isOther).map((key) => `gateway.${key}`);
    },
    sinceMs: (profile) => since.get(profile),
    changes: (profile) => kept.filter((change) => change.profile === profile || change.kind === 'refused'),
  };
}
