/**
 * What each profile provides to its routes: its runner, scripts, lists and skills. Rebuilt when the configuration
 * changes; work in progress keeps the earlier ones.
 * @see PRF-2 in docs/specification.md
 */

import { createSkillsStore } from '../../actors/agent/skills.store.ts';
import type { LoadedHome, LoadedProfile } from '../../actors/config/load-config.ts';
import type { RunnerOfProfile } from '../../actors/dispatch/run-agent.ts';
import { createListReader, type ListReader } from '../../actors/webhook/read-lists.ts';
import { createRunScript, type RunScript } from '../../actors/webhook/run-script.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Settings } from '../../machines/config/settings.ts';
import type { Runners } from './runners.ts';

export interface ProfileServices {
  readonly settings: Settings;
  readonly runner: RunnerOfProfile;
  readonly lists: ListReader;
  readonly runScript: RunScript;
}

/** Returns what a profile of the home in force provides; undefined if it is not configured. */
export function createProfileServices(
  home: () => LoadedHome,
  runners: Runners,
): (profile: string) => ProfileServices | undefined {
  const made = new WeakMap<LoadedProfile, ProfileServices>();
  return (name) => {
    const profile = home().profiles.get(name);
    return profile && getOrMake(made, profile, () => servicesOf(profile, runners));
  };
}

function servicesOf(profile: LoadedProfile, runners: Runners): ProfileServices {
  const { settings, paths } = profile;
  const skills = createSkillsStore({ folder: paths.skills });
  return {
    settings,
    runner: {
      run: runners.of(profile),
      timeoutMs: settings.agent.timeoutMs,
      servers: settings.servers.map(({ name }) => name),
      skill: (name) => skills.text(name),
    },
    lists: createListReader({ home: paths.home }),
    runScript: createRunScript({ scripts: paths.scripts, home: paths.home }),
  };
}
