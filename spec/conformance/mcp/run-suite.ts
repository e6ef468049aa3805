/**
 * Runs the protocol's own conformance suite against a client that is a command, and reads what the suite has to say.
 * Every scenario starts a server on the loopback and gives its address to the command as its last argument. One run of
 * the suite for each scenario: all of a revision at once, as the suite would have it, is forty processes.
 * @see docs/decisions/0010-conformance.md
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import PQueue from 'p-queue';
import { parse } from 'yaml';

export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

export interface ConformanceOptions {
  readonly revision: Revision;
  /** The client: split at spaces by a shell, the address of the server is appended. */
  readonly clientCommand: string;
  readonly scenarios: readonly string[];
  /** For one client, in one scenario. */
  readonly clientTimeoutMs: number;
  /** How many scenarios run at a time. */
  readonly atOnce: number;
}

export interface ScenarioResult {
  readonly scenario: string;
  /** How many of its checks succeeded. */
  readonly succeeded: number;
  /** Empty where the scenario passes: checks that failed or warned, and whatever else the suite holds against it. */
  readonly problems: readonly string[];
  /** All that the suite printed, the client's stderr included. */
  readonly output: string;
}

interface Check {
  readonly id: string;
  readonly description: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  readonly errorMessage?: string;
}

interface Requirements {
  readonly client: readonly string[];
  readonly not_scored: readonly { readonly scenario: string; readonly leg: string }[];
}

const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const shim = new URL('./register-shim.js', import.meta.url).href;

/** What the revision requires of clients, and what it lets them choose. */
export function scenariosOf(revision: Revision): { required: readonly string[]; optional: readonly string[] } {
  const file = join(dirname(dirname(suite)), 'requirements', `${revision}.yaml`);
  const { client, not_scored: others } = parse(readFileSync(file, 'utf8')) as Requirements;
  return { required: client, optional: others.filter(({ leg }) => leg === 'client').map(({ scenario }) => scenario) };
}

/** Resolves once the last client has ended; in the order of the given scenarios. */
export function runConformance({ scenarios, atOnce, ...options }: ConformanceOptions): Promise<ScenarioResult[]> {
  const queue = new PQueue({ concurrency: atOnce });
  return queue.addAll(scenarios.map((scenario) => () => runScenario(scenario, options)));
}

async function runScenario(
  scenario: string,
  options: Omit<ConformanceOptions, 'scenarios' | 'atOnce'>,
): Promise<ScenarioResult> {
  const directory = mkdtempSync(join(tmpdir(), 'agent-conformance-'));
  try {
    const { exitCode, output } = await runSuite(scenario, options, directory);
    const checks = readChecks(directory);
    const succeeded = checks.filter(({ status }) => status === 'SUCCESS').length;
    const problems = checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status, errorMessage, description }) => `${status} ${id}: ${errorMessage ?? description}`);
    // The suite lets a scenario pass of which it has seen nothing: every check is skipped for a client that is mute.
    if (succeeded === 0) problems.push('no check succeeded');
    if (exitCode !== 0 && problems.length === 0) problems.push(verdictIn(output) ?? `the suite ended with ${exitCode}`);
    return { scenario, succeeded, problems, output };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runSuite(
  scenario: string,
  { revision, clientCommand, clientTimeoutMs }: Omit<ConformanceOptions, 'scenarios' | 'atOnce'>,
  directory: string,
): Promise<{ exitCode: number | null; output: string }> {
  const what = ['--command', clientCommand, '--scenario', scenario, '--spec-version', revision];
  // Extensions belong to no revision and run all the same.
  const args = ['client', ...what, '--force', '--timeout', String(clientTimeoutMs), '-o', directory];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', shim, suite, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk;
      });
    }
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, output }));
  });
}

/** The suite writes one file a scenario, in a folder named after it and the time. */
function readChecks(directory: string): readonly Check[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name === 'checks.json')
    .flatMap(({ parentPath }) => JSON.parse(readFileSync(join(parentPath, 'checks.json'), 'utf8')) as Check[]);
}

/** A client that ended badly, or not in time, fails a scenario whose checks are all well. */
function verdictIn(output: string): string | undefined {
  return /CLIENT (?:TIMED OUT|EXITED WITH ERROR)[^\n]*/.exec(output)?.[0];
}
