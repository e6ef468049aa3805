/** What the specs of the revisions have in common: every required scenario is run through the daemon's own half. */

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { notYet } from './not-yet.ts';
import { type Revision, runConformance, scenariosOf } from './run-suite.ts';

/** To a shell; neither path holds a space that the suite could split at. */
export const gatewayClient = `node ${fileURLToPath(new URL('./gateway-client.js', import.meta.url))}`;
/** A loaded machine must not fail a scenario. */
export const clientTimeoutMs = 100_000;

/** Compares the failing scenarios with those that are known to fail. */
export async function checkRevision(t: Test, revision: Revision): Promise<void> {
  const { required } = scenariosOf(revision);
  const atOnce = availableParallelism();
  const results = await runConformance({
    revision,
    clientCommand: gatewayClient,
    scenarios: required,
    clientTimeoutMs,
    atOnce,
  });
  const failing = results.filter(({ problems }) => problems.length > 0);
  for (const { scenario, problems, output } of failing) {
    if (!notYet[revision].includes(scenario)) t.comment(`${scenario}: ${problems.join('; ')}\n${output}`);
  }
  t.same(failing.map(({ scenario }) => scenario).sort(), [...notYet[revision]].sort(), 'exactly the known ones fail');
}
