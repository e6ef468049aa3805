/**
 * Makes a profile's delivery targets, and explains why a target name cannot be used. Causes go to the history and the log
 * only; HTTP callers never see them.
 * @see DLV-2, DLV-3 and DLV-5 in docs/specification.md
 */

import { clientOf } from '../../machines/config/loose-ends.ts';
import type { PlatformSettings } from '../../machines/config/settings.ts';
import { canonicalTarget, cureOfTarget } from '../../machines/config/targets.ts';
import { refused, type Undelivered } from '../../machines/dispatch/send-outcome.ts';
import type { Logger } from '../ports.ts';
import type { createPlatformTarget } from './targets/all.ts';
import { createGithubComment } from './targets/github-comment.ts';
import { createLogTarget } from './targets/log.ts';
import type { PlatformTarget, TargetPorts } from './targets/platform-target.ts';

export interface TargetOwner {
  readonly ports: TargetPorts;
  readonly log: Logger;
  /** The profile's `.env` and its home. */
  readonly scope: ReadonlyMap<string, string>;
  readonly cwd: string;
  /** The targets of the platforms, loaded if one is configured. */
  readonly createPlatformTarget?: typeof createPlatformTarget;
}

/** Imported on demand, so a gateway without platforms does not load their code. */
export async function loadPlatformTargets(): Promise<typeof createPlatformTarget> {
  return (await import('./targets/all.ts')).createPlatformTarget;
}

/** DLV-3. */
const githubTimeoutMs = 30_000;
/** Used if the profile has no entry for it: `gh` may be installed anyway. */
export const defaultGithubComment: PlatformSettings = { enabled: true, timeoutMs: githubTimeoutMs, options: {} };

/** Makes a target by its canonical name; undefined if the name is unknown or its target is not loaded. */
export function createTarget(name: string, settings: PlatformSettings, owner: TargetOwner): PlatformTarget | undefined {
  const { log, scope, cwd, ports, createPlatformTarget } = owner;
  switch (name) {
    case 'log':
      return { ...createLogTarget(log), verify: () => Promise.resolve({ kind: 'verified' }) };
    case 'github_comment': {
      const client = { command: clientOf(settings), cwd, timeoutMs: githubTimeoutMs, scope };
      return createGithubComment(client, settings, ports);
    }
    default:
      return createPlatformTarget?.(name, settings, ports);
  }
}

/** Why a target cannot be used, with the fix; undefined if it can. */
export function whyNot(name: string, settings: PlatformSettings | undefined): Undelivered | undefined {
  const target = canonicalTarget(name);
  if (target === undefined) return refused('permanent', `target "${name}" is not known; ${cureOfTarget(name)}`);
  if (settings?.problem !== undefined)
    return refused('permanent', `target "${name}" cannot be used: ${settings.problem}`);
  if (settings?.enabled !== true) {
    const key = `platforms.${settings?.name ?? name}`;
    return refused('permanent', `target "${name}" is not enabled; set ${key}.enabled: true and its credentials`);
  }
  return undefined;
}
