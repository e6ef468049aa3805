/**
 * Lists the findings of the configuration and the faults of the gateway that need a person, for all profiles or one.
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
 * @returns each fault once: the errors of the configuration, further faults of the gateway, then the journal's
 */
export function faultsOf({ findings, status }: FaultSources, profile: string | undefined): readonly string[] {
  // A server whose entry cannot be used is listed as a failing server.
  const errors = findings.filter(({ severity, scope }) => severity === 'error' && scope.kind !== 'server');
  const words = (found: Diagnostic): string => printDiagnostic({ ...found, sourceLine: '' });
  // The gateway reports the first of the errors too, which may be one that is not listed for this profile.
  const reported = [status.config.fault, status.webhook.fault].filter(
    (fault): fault is string => fault !== undefined && !errors.some((found) => fault.includes(words(found))),
  );
  // An error of a platform stops the profile of that file alone; other errors stop the gateway or its webhooks.
  const listed = errors.filter(
    ({ scope, file }) =>
      profile === undefined || scope.kind !== 'platform' || file === configFile(profile as ProfileName),
  );
  const journal = status.journal === 'ready' ? [] : [status.journal];
  return [...new Set([...listed.map(words), ...reported, ...journal])];
}
