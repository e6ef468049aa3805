/**
 * Runs the protocol's own conformance suite against a client that is a command, and reads what the suite has to say.
 * Every scenario starts a server on the loopback and gives its address to the command as its last argument.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export type Revision = '2025-11-25' | '2026-07-28';

export interface ConformanceOptions {
  readonly requirements: Revision;
  /** The client: split at spaces by a shell, the address of the server is appended. */
  readonly clientCommand: string;
  /** Runs this one scenario alone, at the revision's wire. */
  readonly scenario?: string;
  /** For one client, in one scenario: 30 s, as the suite has it, unless told. */
  readonly clientTimeoutMs?: number;
}

export interface FailedCheck {
  readonly scenario: string;
  readonly check: string;
  readonly message: string;
}

export interface ConformanceResult {
  /** How many checks of required scenarios succeeded. */
  readonly passed: number;
  /** The required scenarios of which some check succeeded, and none failed or warned. */
  readonly passedScenarios: readonly string[];
  /** Checks of required scenarios that failed or warned; a scenario that did not run, or showed nothing, counts as one. */
  readonly failed: readonly FailedCheck[];
  /** The same of what the revision does not require: extensions, and scenarios of a later date. */
  readonly notScored: readonly FailedCheck[];
  /** The suite's own verdict: 0 where all that is required passed. It ignores how the client ended. */
  readonly exitCode: number | null;
  /** All that the suite printed, clients' stderr included. */
  readonly output: string;
}

interface Check {
  readonly id: string;
  readonly description: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED';
  readonly errorMessage?: string;
}

const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');
const shim = new URL('./register-shim.js', import.meta.url).href;

/** Runs the scenarios that a revision requires; resolves once the last client has ended. */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceResult> {
  const { requirements, scenario } = options;
  const directory = mkdtempSync(join(tmpdir(), 'agent-conformance-'));
  try {
    const { exitCode, output } = await runSuite(options, directory);
    const checks = readChecks(directory);
    const required = new Set(scenario === undefined ? requiredScenarios(requirements) : [scenario]);
    const failed: FailedCheck[] = [];
    const notScored: FailedCheck[] = [];
    const passedScenarios: string[] = [];
    let passed = 0;
    for (const [name, found] of checks) {
      const bad = found.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      const list = required.has(name) ? failed : notScored;
      list.push(...bad.map((check) => failedCheck(name, check)));
      if (!required.has(name)) continue;
      const good = found.filter(({ status }) => status === 'SUCCESS').length;
      passed += good;
      // The suite lets a scenario pass of which it has seen nothing: every check is skipped for a client that is mute.
      if (good === 0 && bad.length === 0)
        failed.push({ scenario: name, check: 'seen', message: 'every check was skipped' });
      else if (bad.length === 0) passedScenarios.push(name);
    }
    for (const name of required) {
      // The suite saves nothing of a scenario that it could not run.
      if (!checks.has(name)) failed.push({ scenario: name, check: 'ran', message: 'no result of this scenario' });
    }
    return { passed, passedScenarios, failed, notScored, exitCode, output };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function runSuite(
  { requirements, clientCommand, scenario, clientTimeoutMs = 30_000 }: ConformanceOptions,
  directory: string,
): Promise<{ exitCode: number | null; output: string }> {
  const what =
    scenario === undefined
      ? ['--requirements', requirements]
      : ['--scenario', scenario, '--spec-version', requirements];
  const args = ['client', '--command', clientCommand, ...what, '--timeout', String(clientTimeoutMs), '-o', directory];
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

/** The checks of each scenario; a folder is named after its scenario and the time, and may be nested (`auth/…`). */
function readChecks(directory: string): ReadonlyMap<string, readonly Check[]> {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  const found = files
    .filter(({ name }) => name === 'checks.json')
    .map(({ parentPath }) => {
      const folder = relative(directory, parentPath).replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
      return [folder, JSON.parse(readFileSync(join(parentPath, 'checks.json'), 'utf8')) as Check[]] as const;
    });
  return new Map(found);
}

function requiredScenarios(revision: Revision): readonly string[] {
  const file = join(dirname(dirname(suite)), 'requirements', `${revision}.yaml`);
  return (parse(readFileSync(file, 'utf8')) as { readonly client: readonly string[] }).client;
}

function failedCheck(scenario: string, { id, status, errorMessage, description }: Check): FailedCheck {
  const message = errorMessage ?? description;
  return { scenario, check: id, message: status === 'WARNING' ? `warning: ${message}` : message };
}

/** By hand: `node dist/spec/conformance/mcp/run-suite.js 2025-11-25 "node client.js" [scenario]`. */
async function main([requirements, clientCommand = '', scenario]: readonly string[]): Promise<void> {
  if (requirements !== '2025-11-25' && requirements !== '2026-07-28') {
    process.stderr.write(`usage: ${basename(process.argv[1] ?? '')} 2025-11-25|2026-07-28 "<command>" [scenario]\n`);
    process.exitCode = 2;
    return;
  }
  const options = { requirements, clientCommand, ...(scenario === undefined ? {} : { scenario }) } as const;
  const { output, ...result } = await runConformance(options);
  if (scenario !== undefined) process.stderr.write(output);
  process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  process.exitCode = result.failed.length === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
