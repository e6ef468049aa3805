/**
 * Lists the findings of the configuration and the faults of the gateway that need a person, all of them or those of a profile.
 * @see INS-4 and PRF-2 in docs/specification.md
 */

import type { ProfileName } from '../../machines/base/names.ts';
import { type Diagnostic, printDiagnostic } from '../../machines/config/diagnostic.ts';
import { configFile } from '../control/config-view.ts';
import type { GatewayStatus } from '../control/contract.ts';

export interface FaultSources {
  readonly findings: readonly Diagnostic[];
  readonly status: Pick<GatewayStatus, 'config' | 'webhook' | 'journal'>;
}

/**
 * @param profile whose faults are listed; undefined for all
 * @returns each fault once: the errors that were found, or what the gateway reports where there are none, then the journal's
 */
export function faultsOf({ findings, status }: FaultSources, profile: string | undefined): readonly string[] {
  // A server whose entry cannot be used is listed as a failing server.
  const errors = findings.filter(({ severity, scope }) => severity === 'error' && scope.kind !== 'server');
  // The gateway reports the first error itself, so its report says nothing new where there is any, shown here or not.
  const reported = errors.length > 0 ? [] : [status.config.fault, status.webhook.fault];
  // An error of a platform stops the profile of that file alone; other errors stop the gateway or its webhooks.
  const shown = errors.filter(
    ({ scope, file }) =>
      profile === undefined || scope.kind !== 'platform' || file === configFile(profile as ProfileName),
  );
  const all = [...shown.map((found) => printDiagnostic({ ...found, sourceLine: '' })), ...reported];
  const faults = all.filter((fault) => fault !== undefined);
  return [...new Set(status.journal === 'ready' ? faults : [...faults, status.journal])];
}
