/**
 * Lists what needs a person: open questions, failed deliveries, servers and targets that cannot work, findings of the
 * configuration. Each has the place of the page that resolves it.
 * @see INS-4 and PRF-2 in docs/specification.md
 */

import { formatQuery } from '../../machines/base/event-query.ts';
import { defined } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import { type Diagnostic, printDiagnostic } from '../../machines/config/diagnostic.ts';
import { targetTitle } from '../../machines/config/targets.ts';
import { type FailureGroup, failureKey } from '../../machines/dispatch/failure-groups.ts';
import { toolWords } from '../../machines/mcp/tool-name.ts';
import { configFile } from './config-view.ts';
import type { ApprovalRow } from './contract/approvals.ts';
import type { TargetRow } from './contract/deliveries.ts';
import type { GatewayStatus } from './contract/gateway.ts';
import type { Need } from './contract/overview.ts';
import type { ServerRow } from './contract/servers.ts';
import type { FailingRoute } from './route-standing.ts';

export interface NeedSources {
  readonly approvals: readonly (ApprovalRow & { readonly route?: string; readonly event?: string })[];
  readonly failures: readonly FailureGroup[];
  readonly routes: readonly (FailingRoute & {
    /** Another profile has a route of this name. */
    readonly isOfSeveral?: boolean;
  })[];
  readonly servers: readonly ServerRow[];
  readonly targets: readonly TargetRow[];
  /** Routes of which no run begins, or that none of all begins. */
  readonly held: 'all' | readonly { readonly name: string; readonly profile: string; readonly held?: true }[];
  /** Findings of the configuration and faults of the gateway, the first one first. */
  readonly faults: readonly string[];
}

/** Approvals by deadline, failures by size, then servers, targets and logins by name, the configuration, held runs, and failing routes. */
export function needsOf({ approvals, failures, routes, servers, targets, held, faults }: NeedSources): readonly Need[] {
  // A group may have thousands of routes.
  const groups = failures.map((group) => ({ ...group, routes: new Set(group.routes) }));
  return [
    ...[...approvals].sort(byDeadline).map(approvalNeed),
    ...failures.map(failureNeed),
    ...servers.filter(isFailing).sort(byName).map(serverNeed),
    ...targets
      .filter(({ state }) => state === 'failed')
      .sort(byName)
      .map(targetNeed),
    ...servers
      .filter(({ state }) => state === 'needsLogin')
      .sort(byName)
      .map(loginNeed),
    ...configNeed(faults),
    ...(held === 'all' ? [allHeld] : [...held].sort(byName).map(heldNeed)),
    // Last, and without refused requests: untrusted senders could fill the list with them (SEC-8).
    ...routes
      .filter((one) => one.example.status !== 'refused' && !isAmong(groups, one))
      .sort((one, other) => (one.route < other.route ? -1 : 1))
      .map(routeNeed),
  ];
}

/** Returns whether a server needs a change to work, or has used up its attempts. */
export function isFailing({ state }: Pick<ServerRow, 'state'>): boolean {
  return state === 'failed' || state === 'parked';
}

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

function approvalNeed(row: NeedSources['approvals'][number]): Need {
  const { id, kind, server, tool, route, event, expires_at, run } = row;
  const asked = [route, event].filter((part) => part !== undefined && part !== '');
  const waits = run === undefined ? 'a call waits for your answer' : 'the run is paused';
  return {
    id: `approval/${id}`,
    kind: 'approval',
    title:
      kind === 'form'
        ? tool === 'clarify'
          ? 'Answer the question of a run'
          : `Fill in the form of ${server}`
        : `Approve ${toolWords(tool ?? '', server)}`,
    reason: [...asked, waits].join(' · '),
    until: expires_at,
    action: { label: 'Review', place: placeOf('approvals', id) },
  };
}

function failureNeed({ key, title, advice, helps, count, firstMs, routes }: FailureGroup): Need {
  const deliveries = count === 1 ? 'delivery' : 'deliveries';
  const what = helps === 'unsure' ? 'unconfirmed' : 'failed';
  return {
    id: `failures/${key}`,
    kind: helps === 'unsure' ? 'unconfirmed' : 'failures',
    title: `${count.toLocaleString('en')} ${deliveries} ${what}: ${title}`,
    reason: `${routes.join(', ')} · ${advice}`,
    since: new Date(firstMs).toISOString(),
    action: { label: 'Show', place: placeOf('failures', key) },
  };
}

type GroupOfRoutes = Pick<FailureGroup, 'key' | 'target'> & { readonly routes: ReadonlySet<string> };

/** Whether a group of failed deliveries already names the route and the reason. */
function isAmong(groups: readonly GroupOfRoutes[], { route, example: { reason } }: FailingRoute): boolean {
  return groups.some(
    ({ key, target, routes }) =>
      routes.has(route) &&
      (['deadLettered', 'unknown'] as const).some(
        (status) => key === failureKey({ target, route, status, ...defined({ reason }) }),
      ),
  );
}

function routeNeed({ route, profile, share, example, isOfSeveral = false }: NeedSources['routes'][number]): Need {
  const { reason } = example;
  const filters = { route: [route], status: ['failed'] };
  const isNamed = isOfSeveral || profile !== 'default';
  const q = formatQuery({ texts: [], filters: isNamed ? { ...filters, profile: [profile] } : filters });
  return {
    id: `route/${profile}/${route}`,
    kind: 'route',
    title: `Route ${route}${ofProfile(profile)} is failing`,
    reason: [`${share} failed`, reason?.replace(/^\w+(?=: )/, targetTitle)]
      .filter((part) => part !== undefined)
      .join(' · '),
    action: { label: 'Show events', place: `events?${new URLSearchParams({ q, range: '24h' })}` },
  };
}

function serverNeed({ name, profile, failure, since }: ServerRow): Need {
  return {
    id: `server/${profile}/${name}`,
    kind: 'server',
    title: `Server ${name}${ofProfile(profile)} is failing`,
    reason: failure?.why ?? '',
    since,
    action: { label: 'Open log', place: placeOf('servers', profile, name) },
  };
}

function targetNeed({ name, title, profile, error, since }: TargetRow): Need {
  return {
    id: `target/${profile}/${name}`,
    kind: 'target',
    title: `${title}${ofProfile(profile)} is not connected`,
    reason: withoutSubject(error ?? '', name),
    since,
    action: { label: 'Show', place: placeOf('targets', profile, name) },
  };
}

function loginNeed({ name, profile, failure, since }: ServerRow): Need {
  return {
    id: `login/${profile}/${name}`,
    kind: 'login',
    title: `Server ${name}${ofProfile(profile)} needs a login`,
    reason:
      failure?.why === 'The server needs a login'
        ? 'Its tools cannot be called until you log in.'
        : (failure?.why ?? ''),
    since,
    action: { label: 'Log in', place: placeOf('servers', profile, name) },
  };
}

const whyHeld = 'is 0: events are accepted, and their runs wait until you raise it';
const allHeld: Need = {
  id: 'held',
  kind: 'held',
  title: 'No run begins',
  reason: `agent.concurrency ${whyHeld}`,
  action: { label: 'Open config', place: 'config' },
};

function heldNeed({ name, profile, held }: Exclude<NeedSources['held'], 'all'>[number]): Need {
  return {
    id: `held/${profile}/${name}`,
    kind: 'held',
    title: `No run of route ${name}${ofProfile(profile)} begins`,
    reason: held
      ? 'It is held: events are accepted, and their runs wait until you release it'
      : `Its concurrency ${whyHeld}`,
    action: { label: 'Open route', place: placeOf('routes', profile, name) },
  };
}

/** The file and the line with which a finding begins. */
const ofFile = /^(?:profiles\/([^/]+)\/)?config\.yaml:(?:(\d+):)?/;

function configNeed(faults: readonly string[]): readonly Need[] {
  const [first] = faults;
  if (first === undefined) return [];
  const title = faults.length === 1 ? '1 configuration error' : `${faults.length} configuration errors`;
  const [found, file = 'default', line] = ofFile.exec(first) ?? [];
  // The file is named even if it is that of the default profile: the page may show another one.
  const query = new URLSearchParams({ file, ...(line === undefined ? {} : { line }) });
  const place = found === undefined ? 'config' : `config?${query}`;
  return [{ id: 'config', kind: 'config', title, reason: first, action: { label: 'Open config', place } }];
}

/** Another profile may have a server, a target or a route of the same name. */
function ofProfile(profile: string): string {
  return profile === 'default' ? '' : ` of profile ${profile}`;
}

/** Removes the subject, which the title already names. */
function withoutSubject(text: string, subject: string): string {
  return text.startsWith(`${subject}: `) ? text.slice(subject.length + 2) : text;
}

function placeOf(view: string, ...parts: readonly string[]): string {
  return [view, ...parts.map(encodeURIComponent)].join('/');
}

function byDeadline(one: ApprovalRow, other: ApprovalRow): number {
  return one.expires_at < other.expires_at ? -1 : 1;
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1;
}
