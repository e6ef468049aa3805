/**
 * Checks that what the routes of a home name exists now: jobs, scripts, lists and programs of their profiles.
 * @see CFG-2 and RTE-1 in docs/specification.md
 */

import { statSync } from 'node:fs';
import { restrictedToolsets, serversOf, toolsetNames, unknownToolsets } from '../../machines/agent/toolset.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { EntryFinding } from '../../machines/config/diagnostic.ts';
import { type FileStanding, looseEnds, type RouteWorld } from '../../machines/config/loose-ends.ts';
import type { ProfilePaths } from '../../machines/config/profile.ts';
import type { RouteWithSecret } from '../../machines/config/route.ts';
import type { Settings } from '../../machines/config/settings.ts';
import { jobsMeant } from '../../machines/cron/job.ts';
import { compileFilters } from '../../machines/webhook/filter.ts';
import { skillFile } from '../agent/skills.store.ts';
import { confined, leadsOut, placedIn } from '../confine.ts';
import { createJobsStore } from '../cron/jobs.store.ts';
import type { Documents } from '../documents.ts';
import { findCommand } from '../process-group.ts';
import { isBrokenList } from '../webhook/read-lists.ts';

interface ProfileOfRoutes {
  readonly paths: ProfilePaths;
  readonly settings: Settings;
  readonly searchPath: string;
}

interface HomeOfRoutes {
  readonly profiles: ReadonlyMap<string, ProfileOfRoutes>;
  readonly documents: Documents;
}

/** Reports what a route names that does not exist. A route whose profile is not served has its own finding elsewhere. */
export function findLooseEnds({
  profiles,
  documents,
}: HomeOfRoutes): (entry: RouteWithSecret) => readonly EntryFinding[] {
  const worlds = new Map<string, RouteWorld>();
  return (entry) => {
    const { route } = entry;
    const profile = profiles.get(route.profile);
    if (profile === undefined) return [];
    return looseEnds(
      entry,
      getOrMake(worlds, route.profile, () => worldOf(profile, documents)),
    );
  };
}

function worldOf(
  { paths, settings: { platforms, servers }, searchPath }: ProfileOfRoutes,
  documents: Documents,
): RouteWorld {
  const store = createJobsStore({ document: documents.at(paths.jobs) });
  const full = servers.filter(({ enabled, entry }) => enabled && entry.trust === 'full').map(({ name }) => name);
  const names = servers.map(({ name }) => name);
  return {
    platforms,
    toolsetNames: toolsetNames(names),
    unknownToolsets: (toolsets) => unknownToolsets(toolsets, names),
    restrictedToolsets,
    hasJob(ref) {
      const { jobs, problem } = store.read();
      return jobsMeant(jobs, ref).length > 0 || problem !== undefined;
    },
    fullServersOf: (toolsets) => serversOf(toolsets, full),
    script: (name) => standingOf(paths.scripts, name),
    hasSkill: hasSkillIn(paths.skills),
    // Resolved as at its start: from the profile's home.
    hasProgram: (command) => findCommand(command, searchPath, paths.home) !== undefined,
    list(name) {
      const standing = standingOf(paths.home, name);
      return standing === 'there' && isBrokenList(placedIn(paths.home, name)) ? 'broken' : standing;
    },
    listsOf(filters) {
      // A list outside the home is an error of the route.
      const compiled = compileFilters(filters, (file) => leadsOut(paths.home, file));
      return (compiled.ok ? compiled.value : compiled).lists;
    },
  };
}

/** Whether a skill of a name is in a folder of skills. */
export function hasSkillIn(skills: string): (name: string) => boolean {
  return (name) => skillFile(skills, name) !== undefined;
}

function standingOf(folder: string, name: string): FileStanding {
  const file = confined(folder, name);
  if (file !== undefined) return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? 'there' : 'missing';
  if (leadsOut(folder, name)) return 'outside';
  // An existing file that is not confined is behind a link that leads outside.
  return name.includes('\0') || statSync(placedIn(folder, name), { throwIfNoEntry: false }) === undefined
    ? 'missing'
    : 'outside';
}
