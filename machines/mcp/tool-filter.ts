/**
 * Decides which tools of a server are registered: its own by the include and exclude lists, matched against the server's
 * names, and the utilities by flag and capability.
 * @see FLT-1 and FLT-2 in docs/specification.md
 */

import { meantOr } from '../config/nearest.ts';
import { matchesGlob } from './glob.ts';
import type { ToolPolicy } from './server-settings.ts';
import type { Utility } from './tool-name.ts';

/** The capabilities that the session announced. */
interface UtilityCapabilities {
  readonly resources: boolean;
  readonly prompts: boolean;
}

interface ChosenTools {
  readonly natives: readonly string[];
  readonly utilities: readonly Utility[];
}

const resourceUtilities: readonly Utility[] = ['list_resources', 'read_resource'];
const promptUtilities: readonly Utility[] = ['list_prompts', 'get_prompt'];

/** Filters a server's tools; `include` takes precedence over `exclude`, and an empty `include` allows none. */
export function chooseTools(
  policy: ToolPolicy,
  natives: readonly string[],
  capabilities: UtilityCapabilities,
): ChosenTools {
  return {
    natives: chooseNatives(policy, natives),
    utilities: [
      ...(policy.resources && capabilities.resources ? resourceUtilities : []),
      ...(policy.prompts && capabilities.prompts ? promptUtilities : []),
    ],
  };
}

function chooseNatives({ include, exclude }: ToolPolicy, natives: readonly string[]): readonly string[] {
  if (include !== undefined) {
    const listed = nameMatcher(include);
    return natives.filter(listed);
  }
  const banned = nameMatcher(exclude);
  return natives.filter((name) => !banned(name));
}

/** One sentence for each pattern of the list in force that matches none of the server's tools. */
export function idlePatterns({ include, exclude }: ToolPolicy, natives: readonly string[]): readonly string[] {
  const list = include === undefined ? 'exclude' : 'include';
  return (include ?? exclude)
    .filter((pattern) => !natives.some(nameMatcher([pattern])))
    .map((pattern) => {
      // The name that `agent mcp tools` lists.
      const cure = meantOr(pattern.replace(/^mcp__.+?__/, ''), natives, 'correct it, or drop it');
      return `tools.${list} has ${JSON.stringify(pattern)}, which matches no tool; ${cure}`;
    });
}

/** A name listed literally matches, even if it contains glob characters. */
function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns);
  const globs = patterns.filter((pattern) => /[*?[\\]/.test(pattern)).map(matchesGlob);
  return (name) => exact.has(name) || globs.some((matches) => matches(name));
}
