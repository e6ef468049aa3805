/**
 * `npm run conformance -- --requirements 2026-07-28 [--scenario x] [--client "<command>"]`: runs the scenarios of a
 * revision and prints which pass. Ends with 1 where any that is required fails, known or not.
 */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { clientTimeoutMs, gatewayClient } from './check-revision.ts';
import { notYet } from './not-yet.ts';
import { revisions, runConformance, scenariosOf } from './run-suite.ts';

const { values } = parseArgs({
  options: {
    requirements: { type: 'string' },
    scenario: { type: 'string' },
    client: { type: 'string', default: gatewayClient },
  },
});
const revision = revisions.find((each) => each === values.requirements);
const out = (text: string): void => void process.stdout.write(`${text}\n`);

if (revision === undefined) {
  process.stderr.write(`usage: npm run conformance -- --requirements ${revisions.join('|')} [--scenario <name>]\n`);
  process.exitCode = 2;
} else {
  const { required, optional } = scenariosOf(revision);
  const scenarios = values.scenario === undefined ? [...required, ...optional] : [values.scenario];
  const atOnce = availableParallelism();
  const results = await runConformance({ revision, clientCommand: values.client, scenarios, clientTimeoutMs, atOnce });
  const isRequired = (scenario: string): boolean => values.scenario !== undefined || required.includes(scenario);
  const width = Math.max(...scenarios.map(({ length }) => length));
  for (const { scenario, succeeded, problems, output } of results) {
    const isKnown = notYet[revision].includes(scenario);
    const kind = isRequired(scenario) ? (isKnown ? 'required, not yet' : 'required') : 'optional';
    const verdict = problems.length === 0 ? 'pass' : 'FAIL';
    out(`${verdict}  ${scenario.padEnd(width)}  ${String(succeeded).padStart(3)} checks  ${kind}`);
    if (problems.length > 0 && (!isKnown || values.scenario !== undefined)) {
      for (const problem of problems) out(`      ${problem}`);
    }
    if (values.scenario !== undefined) out(output);
  }
  const passing = results.filter(({ scenario, problems }) => isRequired(scenario) && problems.length === 0).length;
  const asked = results.filter(({ scenario }) => isRequired(scenario)).length;
  out(`\n${revision}: ${passing} of ${asked} required scenarios pass`);
  process.exitCode = passing === asked ? 0 : 1;
}
