/**
 * What each profile lends to the work of its routes: its runner, its targets, its scripts, lists and skills. Built
 * anew when the configuration changes; work under way keeps what it began with.
 * @see PRF-2 in docs/specification.md
 */

import { createCommandRunner } from '../actors/agent/run-command.ts';
import { echoRunner } from '../actors/agent/run-echo.ts';
import { createSkillsStore } from '../actors/agent/skills.store.ts';
import type { LoadedHome, LoadedProfile } from '../actors/config/load-config.ts';
import { createTargets, type Targets } from '../actors/dispatch/deliver.ts';
import type { RunnerOfProfile } from '../actors/dispatch/run-agent.ts';
import type { AgentRunner, Logger } from '../actors/ports.ts';
import { createListReader, type ListReader } from '../actors/webhook/read-lists.ts';
import { createRunScript, type RunScript } from '../actors/webhook/run-script.ts';
import type { ProfileName } from '../machines/base/names.ts';
import type { Settings } from '../machines/config/settings.ts';

export interface ProfileDesk {
  readonly settings: Settings;
  readonly runner: RunnerOfProfile;
  readonly targets: Targets;
  readonly lists: ListReader;
  readonly runScript: RunScript;
}

export type ProfileDesks = ReadonlyMap<ProfileName, ProfileDesk>;

export function createProfileDesks(home: LoadedHome, log: Logger): ProfileDesks {
  return new Map([...home.profiles].map(([name, profile]) => [name, deskOf(profile, log)]));
}

function deskOf(profile: LoadedProfile, log: Logger): ProfileDesk {
  const { settings, paths } = profile;
  const skills = createSkillsStore({ folder: paths.skills });
  return {
    settings,
    runner: {
      run: runnerOf(profile, log),
      timeoutMs: settings.agent.timeoutMs,
      skill: (name) => skills.text(name),
    },
    targets: createTargets({ platforms: settings.platforms, log, scope: profile.scope, cwd: paths.home }),
    lists: createListReader({ home: paths.home }),
    runScript: createRunScript({ scripts: paths.scripts, home: paths.home }),
  };
}

function runnerOf(profile: LoadedProfile, log: Logger): AgentRunner {
  const { agent } = profile.settings;
  switch (agent.runner) {
    case 'command':
      return createCommandRunner({ command: agent.command, cwd: profile.paths.home, scope: profile.scope });
    case 'echo':
      return echoRunner;
    case 'model':
      log.warnOnce(
        `runner/model/${profile.name}`,
        `profile "${profile.name}": agent.runner "model" is not available in this version; runs fail until agent.runner is command or echo`,
      );
      return () => Promise.resolve({ kind: 'failed', reason: 'agent.runner "model" is not available in this version' });
  }
}
