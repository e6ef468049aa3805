/**
 * Examines a home: runs every check, applies fixes if requested, and reports the rest. If the home itself is missing,
 * there is nothing else to check.
 * @see CLI-2 in docs/specification.md
 */

import { statSync } from 'node:fs';
import { loadHome } from '../../actors/config/load-config.ts';
import { placedPaths } from '../../actors/socket-place.ts';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { createDocumentsInForce } from '../config/documents-in-force.ts';
import { askOnce } from '../control/client.ts';
import type { Method } from '../control/contract.ts';
import { checkClock } from './check-clock.ts';
import { checkConfig, checkCron } from './check-config.ts';
import { checkEngine } from './check-engine.ts';
import { checkFiles } from './check-files.ts';
import { checkLock } from './check-lock.ts';
import { checkPort } from './check-port.ts';
import { checkAgent, checkServers, checkTargets } from './check-reach.ts';
import { checkSecrets } from './check-secrets.ts';
import { checkStore } from './check-store.ts';
import { checkWritable } from './check-writable.ts';
import type { Examined, Finding, RunningGateway } from './finding.ts';

interface ExamRequest {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly offline: boolean;
  readonly fix: boolean;
}

type Check = (examined: Examined) => readonly Finding[] | Promise<readonly Finding[]>;

/** In the order of the report. */
const checks = [
  ['engine', checkEngine],
  ['home', checkWritable],
  ['home', checkFiles],
  ['lock', checkLock],
  ['config', checkConfig],
  ['config', checkCron],
  ['secrets', checkSecrets],
  ['port', checkPort],
  ['store', checkStore],
  ['clock', checkClock],
  ['agent', checkAgent],
  ['servers', checkServers],
  ['targets', checkTargets],
] as const satisfies readonly (readonly [area: string, check: Check])[];

type Area = (typeof checks)[number][0];
export const areas: ReadonlySet<Area> = new Set(checks.map(([area]) => area));

type Placed = Finding & { readonly area: Area };
/** A finding as it is reported: fixed, or with the reason why it could not be. */
export type Reported = Placed & { readonly fixed?: true; readonly fixFailed?: string };

/** A gateway that does not answer within this time is considered hung. */
const answerMs = 5_000;

export async function examineHome(request: ExamRequest): Promise<readonly Reported[]> {
  const paths = placedPaths(request.home, request.env);
  if (statSync(paths.home, { throwIfNoEntry: false })?.isDirectory() !== true) return [missingHome(paths.home)];
  const gateway = await findGateway(paths.socket);
  const { version, offline } = request;
  // A service has another PATH than the shell of this command.
  const env = { ...request.env, ...(gateway?.status.path === undefined ? {} : { PATH: gateway.status.path }) };
  // Reading shared documents could write to the database, and an examination changes nothing.
  const documents = createDocumentsInForce({ home: request.home, log: { log: () => {}, warnOnce: () => {} } });
  const home = loadHome({ home: request.home, env, documents: documents.choose });
  // The environment of a service has variables that this shell lacks.
  const diagnostics = (await gateway?.ask('config.check', {})) ?? home.diagnostics;
  const examined: Examined = { home, diagnostics, paths, env, version, offline, gateway };
  const found = await Promise.all(
    checks.map(async ([area, check]: readonly [Area, Check]) =>
      (await check(examined)).map((finding) => readable({ ...finding, area }, examined)),
    ),
  );
  const reported: Reported[] = [];
  for (const finding of found.flat()) reported.push(request.fix ? await fixed(finding) : finding);
  return reported;
}

/** The areas whose facts come from the configuration. */
const configured: ReadonlySet<Area> = new Set(['secrets', 'port', 'store', 'agent', 'servers', 'targets']);

/** A fact of the configuration; a note instead if the part that decides it cannot be read, so that it would be a default. */
function readable(fact: Placed, { home, diagnostics }: Examined): Placed {
  if (fact.level !== 'good' || !configured.has(fact.area)) return fact;
  const hidden = home.diagnostics.find(
    ({ scope, severity }) =>
      severity === 'error' &&
      (scope.kind === 'home' || (scope.kind === 'section' && scope.section === 'inspector' && fact.area === 'port')),
  );
  if (hidden === undefined) return fact;
  const isOfShell = !diagnostics.some(
    ({ code, file, line }) => code === hidden.code && file === hidden.file && line === hidden.line,
  );
  const what = isOfShell ? `not checked: ${hidden.message}` : `not checked: ${hidden.file} cannot be read`;
  const cure = isOfShell
    ? 'the running gateway has it; set it in .env, or here too, and look again'
    : '`agent config check` shows why; then look again';
  return { level: 'note', area: fact.area, code: 'not-checked', place: 'config', what, cure };
}

async function fixed(finding: Placed): Promise<Reported> {
  if (finding.level === 'good' || finding.fix === undefined) return finding;
  try {
    await finding.fix();
    return { ...finding, fixed: true };
  } catch (thrown) {
    return { ...finding, fixFailed: causeOf(thrown) };
  }
}

async function findGateway(socket: string): Promise<RunningGateway | undefined> {
  // The answers are trusted to have the contract's types.
  const ask = ((method: Method, params: JsonObject = {}) =>
    askOnce(socket, method, params, answerMs)) as RunningGateway['ask'];
  const status = await ask('gateway.status');
  return status && { status, ask };
}

function missingHome(home: string): Placed {
  return {
    level: 'wrong',
    area: 'home',
    code: 'home-missing',
    place: home,
    what: 'there is no such folder, so nothing is configured',
    cure: 'agent gateway setup makes it; --home or AGENT_HOME names another',
  };
}
