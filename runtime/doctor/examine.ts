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
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import { createDocumentsInForce } from '../config/documents-in-force.ts';
import { askOnce } from '../control/client.ts';
import { checkClock } from './check-clock.ts';
import { checkConfig } from './check-config.ts';
import { checkCron } from './check-cron.ts';
import { checkEngine } from './check-engine.ts';
import { checkFiles } from './check-files.ts';
import { checkLock } from './check-lock.ts';
import { checkPort } from './check-port.ts';
import { checkAgent, checkServers, checkTargets } from './check-reach.ts';
import { checkSecrets } from './check-secrets.ts';
import { checkStore } from './check-store.ts';
import { checkWritable } from './check-writable.ts';
import { type Area, areas, type Examined, type Finding, type RunningGateway } from './finding.ts';

export interface ExamRequest {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly offline: boolean;
  readonly fix: boolean;
}

/** A finding as it is reported: fixed, or with the reason why it could not be. */
export type Reported = Finding & { readonly fixed?: true; readonly fixFailed?: string };

/** A gateway that does not answer within this time is considered hung. */
const answerMs = 5_000;

export async function examineHome(request: ExamRequest): Promise<readonly Reported[]> {
  const paths = placedPaths(request.home, request.env);
  if (statSync(paths.home, { throwIfNoEntry: false })?.isDirectory() !== true) return [missingHome(paths.home)];
  const gateway = await findGateway(paths.socket);
  const { version, offline } = request;
  // A service has another PATH than the shell of this command.
  const env = { ...request.env, ...(typeof gateway?.status.path === 'string' ? { PATH: gateway.status.path } : {}) };
  // Reading shared documents could write to the database, and an examination changes nothing.
  const documents = createDocumentsInForce({ home: request.home, log: { log: () => {}, warnOnce: () => {} } });
  const home = loadHome({ home: request.home, env, documents: documents.choose });
  // The environment of a service has variables that this shell lacks.
  const asked = (await gateway?.ask('config.check')) as readonly Diagnostic[] | undefined;
  const diagnostics = asked ?? home.diagnostics;
  const examined: Examined = { home, diagnostics, paths, env, version, offline, gateway };
  const found: readonly Finding[] = (
    await Promise.all([
      checkEngine(examined),
      checkWritable(examined),
      checkFiles(examined),
      checkLock(examined),
      checkConfig(examined),
      checkCron(examined),
      checkSecrets(examined),
      checkPort(examined),
      checkStore(examined),
      checkClock(examined),
      checkAgent(examined),
      checkServers(examined),
      checkTargets(examined),
    ])
  )
    .flat()
    .map((finding) => (finding.level === 'good' ? readable(finding, examined) : finding));
  const reported: Reported[] = [];
  for (const finding of [...found].sort((one, other) => areas.indexOf(one.area) - areas.indexOf(other.area))) {
    reported.push(request.fix ? await fixed(finding) : finding);
  }
  return reported;
}

/** What is reported of these comes from the configuration. */
const configured: ReadonlySet<Area> = new Set(['secrets', 'port', 'store', 'agent', 'servers', 'targets']);

/** A fact of the configuration; a note instead if the part that decides it cannot be read, so that it would be a default. */
function readable(fact: Finding, { home, diagnostics }: Examined): Finding {
  const hidden = home.diagnostics.find(
    ({ scope, severity }) =>
      severity === 'error' &&
      (scope.kind === 'home' || (scope.kind === 'section' && scope.section === 'inspector' && fact.area === 'port')),
  );
  if (!configured.has(fact.area) || hidden === undefined) return fact;
  const isOfShell = !diagnostics.some(
    ({ code, file, line }) => code === hidden.code && file === hidden.file && line === hidden.line,
  );
  const what = isOfShell ? `not checked: ${hidden.message}` : `not checked: ${hidden.file} cannot be read`;
  const cure = isOfShell
    ? 'the running gateway has it; set it in .env, or here too, and look again'
    : '`agent config check` shows why; then look again';
  return { level: 'note', area: fact.area, code: 'not-checked', place: 'config', what, cure };
}

async function fixed(finding: Finding): Promise<Reported> {
  if (finding.level === 'good' || finding.fix === undefined) return finding;
  try {
    await finding.fix();
    return { ...finding, fixed: true };
  } catch (thrown) {
    return { ...finding, fixFailed: causeOf(thrown) };
  }
}

async function findGateway(socket: string): Promise<RunningGateway | undefined> {
  const ask: RunningGateway['ask'] = (method, params = {}) => askOnce(socket, method, params, answerMs);
  const status = await ask('gateway.status');
  return status === undefined ? undefined : { status: status as JsonObject, ask };
}

function missingHome(home: string): Finding {
  return {
    level: 'wrong',
    area: 'home',
    code: 'home-missing',
    place: home,
    what: 'there is no such folder, so nothing is configured',
    cure: 'agent gateway setup makes it; --home or AGENT_HOME names another',
  };
}
