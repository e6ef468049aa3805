/**
 * Gathers the overview of the page and sends it to each watcher when it has changed, at most four times a second.
 * Watchers of one range and profile share the work. Nothing is read or counted while there is no watcher.
 * @see INS-4 and INS-3 in docs/specification.md
 */

import { LRUCache } from 'lru-cache';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { fewOfEach } from '../../machines/base/few-of-each.ts';
import { rangeSpans, readRange } from '../../machines/base/time-range.ts';
import { holdOf } from '../../machines/config/hints.ts';
import type { FailureGroup } from '../../machines/dispatch/failure-groups.ts';
import type { EventStats } from '../dispatch/event-stats.ts';
import { type OpenFailures, openFailures } from '../dispatch/open-failures.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { type CommandHost, daemonOf } from './command.ts';
import type { ApprovalRow } from './contract/approvals.ts';
import type { OpenCounts, Overview, OverviewChoice, OverviewService } from './contract/overview.ts';
import type { RoutedHome } from './home-view.ts';
import { routeHealth, serverHealth, targetHealth, topOf } from './overview-health.ts';
import { faultsOf, needsOf } from './overview-needs.ts';
import { failingRoutes } from './route-standing.ts';
import type { DaemonView } from './view.ts';

export interface OverviewPorts {
  readonly pools: () => Pick<WorkPools, 'deliveries' | 'groups' | 'runs'>;
  readonly host: () => CommandHost;
  readonly keeper: Pick<JournalKeeper, 'journal' | 'watch'>;
  readonly events: Pick<EventStats, 'count' | 'countRoutes'>;
  readonly recent: Metrics['recent'];
  readonly load: () => {
    readonly running: number;
    readonly waiting: number;
    /** Whether more runs wait, on disk alone. */
    readonly isMore: (profile?: string) => boolean;
  };
  readonly concurrency: () => number;
  readonly runsThatWait: () => ReadonlyMap<string, string>;
  /** Calls back whenever an actor takes a step, until the returned function is called. */
  readonly onStep: (listener: () => void) => () => void;
  readonly redact: <Given extends object>(record: Given) => Given;
  readonly nowMs: () => number;
}

/** More than the page shows at first. */
const maxNeeds = 50;
const nothing: readonly ApprovalRow[] = [];
const beatMs = 250;
/** A change that no step or commit reports, such as the end of a pause, is seen after this time. */
const maxRestMs = 5_000;
/** A slow reading, such as that of seven days, is repeated less often: it takes at most a twentieth of the time. */
const restPerWork = 20;
/** A long history is counted in pieces, so that the first is seen at once; until all is counted, that takes half of the time. */
const pieceMs = 250;
const restPerPiece = 1;

interface Watched {
  readonly choice: OverviewChoice;
  readonly listeners: Set<(overview: Overview) => void>;
  /** The last overview that was sent, as JSON without its time. */
  last: string;
  latest: Overview | undefined;
  isDirty: boolean;
  isReading: boolean;
  nextMs: number;
}

export function createOverview(ports: OverviewPorts): OverviewService {
  const { nowMs } = ports;
  const gather = createGathering(ports);
  const all = new Map<string, Watched>();
  let live:
    | { readonly failures: OpenFailures; elsewhere: readonly ApprovalRow[]; readonly close: () => void }
    | undefined;

  async function refresh(watched: Watched): Promise<void> {
    if (live === undefined) return;
    watched.isDirty = false;
    watched.isReading = true;
    const beganMs = performance.now();
    let rest = restPerWork;
    try {
      const overview = await gather(watched.choice, live.failures, live.elsewhere, pieceMs);
      watched.latest = overview;
      if (overview.events.counted_from !== undefined) {
        watched.isDirty = true;
        rest = restPerPiece;
      }
      const text = JSON.stringify({ ...overview, at: '' });
      if (text === watched.last) return;
      watched.last = text;
      for (const heard of watched.listeners) heard(overview);
    } catch {
      // The journal cannot be read just now; the beat after the rest tries again.
    } finally {
      watched.isReading = false;
      watched.nextMs = performance.now() + Math.max(0, (performance.now() - beganMs) * rest - beatMs);
    }
  }

  function begin(): void {
    const markAll = (): void => {
      for (const watched of all.values()) watched.isDirty = true;
    };
    const failures = openFailures(ports.keeper, nowMs);
    const forgetCommits = ports.keeper.watch(markAll);
    const forgetSteps = ports.onStep(markAll);
    const beat = setInterval(() => {
      const atMs = performance.now();
      const elsewhere = knownElsewhere(ports.host());
      if (live !== undefined && elsewhere !== live.elsewhere) {
        live.elsewhere = elsewhere;
        markAll();
      }
      for (const watched of all.values()) {
        if (watched.isReading || atMs < watched.nextMs) continue;
        if (watched.isDirty || atMs > watched.nextMs + maxRestMs) void refresh(watched);
      }
    }, beatMs).unref();
    const close = (): void => {
      clearInterval(beat);
      forgetCommits();
      forgetSteps();
      failures.close();
    };
    // Asked already here, they are known at the first beat.
    live = { failures, elsewhere: knownElsewhere(ports.host()), close };
  }

  return {
    async read(choice) {
      const elsewhere = (await ports.host().nodes?.questionsOfOthers()) ?? nothing;
      if (live !== undefined) return gather(choice, live.failures, elsewhere);
      const failures = openFailures(ports.keeper, nowMs);
      return gather(choice, failures, elsewhere).finally(failures.close);
    },
    watch(choice, heard) {
      if (live === undefined) begin();
      const name = `${choice.range} ${choice.profile ?? ''}`;
      const watched: Watched = all.get(name) ?? {
        choice,
        listeners: new Set(),
        last: '',
        latest: undefined,
        isDirty: true,
        isReading: false,
        nextMs: 0,
      };
      all.set(name, watched);
      watched.listeners.add(heard);
      if (watched.latest !== undefined) heard(watched.latest);
      return () => {
        watched.listeners.delete(heard);
        if (watched.listeners.size === 0) all.delete(name);
        if (all.size > 0) return;
        live?.close();
        live = undefined;
      };
    },
  };
}

/** Returns a function that reads one overview. */
function createGathering(ports: OverviewPorts) {
  const sources = new LRUCache<string, { readonly route: string; readonly event: string }>({ max: 1_000 });

  /** The route and the event of a run, which never change. */
  async function sourceOf(key: string, daemon: DaemonView) {
    const known = sources.get(key);
    if (known !== undefined) return known;
    const run = await daemon.run(key);
    if (run !== undefined) sources.set(key, { route: run.route, event: run.event });
    return sources.get(key);
  }

  /**
   * @param elsewhere the open questions of other gateways
   * @param maxMs how long each reading of the history may take
   */
  return async function gather(
    { range, profile }: OverviewChoice,
    failures: OpenFailures,
    elsewhere: readonly ApprovalRow[],
    maxMs?: number,
  ): Promise<Overview> {
    const { events } = ports;
    const ofProfile = <Row extends { readonly profile: string }>(rows: readonly Row[]): readonly Row[] =>
      profile === undefined ? rows : rows.filter((row) => row.profile === profile);
    const host = ports.host();
    const daemon = daemonOf(host);
    const inForce = host.inForce?.();
    const atMs = ports.nowMs();
    const sinceMs = atMs - rangeSpans[range];
    const { all, routes: counted } = await events.count(readRange(range, atMs) ?? { fromMs: sinceMs }, profile, maxMs);
    const servers = ofProfile(daemon.mcp.list());
    const targets = ofProfile(daemon.deliveryService.targets());
    const sending = deliveriesLoad(ports.pools(), profile);
    const groups = await failures.groups(profile);
    const everyRoute = routesOf(inForce);
    const routes = ofProfile(everyRoute);
    const countOf = new Map(counted.map((one) => [routeKey(one.profile, one.route), one]));
    const enabled = new Set(routes.filter((one) => one.enabled).map(({ profile, name }) => routeKey(profile, name)));
    const profilesOf = new Map<string, number>();
    for (const { name } of everyRoute) profilesOf.set(name, (profilesOf.get(name) ?? 0) + 1);
    const failing = await failingRoutes(
      { countRoutes: (one, of) => events.countRoutes(one, of, maxMs), deliveries: daemon.deliveries },
      atMs,
      profile,
    );
    const failingKeys = new Set(failing.map((one) => routeKey(one.profile, one.route)));
    const needs = needsOf({
      approvals: await Promise.all(
        ofProfile([...daemon.mcp.approvals(), ...elsewhere]).map(async (row) => ({
          ...row,
          ...(row.run === undefined ? {} : await sourceOf(row.run, daemon)),
        })),
      ),
      failures: groups,
      routes: failing
        .filter((one) => enabled.has(routeKey(one.profile, one.route)))
        .map((one) => ({ ...one, isOfSeveral: (profilesOf.get(one.route) ?? 0) > 1 })),
      servers,
      targets,
      held: ports.concurrency() === 0 ? 'all' : routes.filter((one) => one.enabled && holdOf(1, one) !== undefined),
      faults: faultsOf(
        { findings: [...(inForce?.problems ?? []), ...(inForce?.home.diagnostics ?? [])], status: daemon.status() },
        profile,
      ),
    });
    return ports.redact({
      at: new Date(atMs).toISOString(),
      range,
      routeless: everyRoute.length === 0,
      needs: { total: needs.length, rows: fewOfEach(needs, maxNeeds) },
      events: all,
      open: openCounts(ports, sending, profile),
      routes: topOf(
        routes.map((route) => {
          const key = routeKey(route.profile, route.name);
          return routeHealth(route, countOf.get(key), {
            failing: failingKeys.has(key),
            held: holdOf(ports.concurrency(), route) !== undefined,
            retrying: sending.retrying.get(key) ?? 0,
          });
        }),
      ),
      servers: topOf(
        servers.map((row) => serverHealth(row, ports.recent.calls.read(`${row.profile}/${row.name}`, sinceMs))),
      ),
      targets: topOf(
        await Promise.all(
          targets.map(async (row) =>
            targetHealth(
              row,
              openAt(row.target, await failures.groups(row.profile)),
              ports.recent.deliveries.read(`${row.profile}/${row.target}`, sinceMs),
            ),
          ),
        ),
      ),
    });
  };
}

/** The open questions of other gateways; none while they are not known. */
function knownElsewhere({ nodes }: CommandHost): readonly ApprovalRow[] {
  const known = nodes?.questionsOfOthers() ?? nothing;
  return 'then' in known ? nothing : known;
}

/** How many deliveries to a target wait for a person. */
function openAt(target: string, groups: readonly FailureGroup[]): number {
  return groups.reduce((sum, group) => sum + (group.target === target ? group.count : 0), 0);
}

type RouteOf = RoutedHome['sources']['configured'][number]['route'];

function routesOf(inForce: RoutedHome | undefined): readonly RouteOf[] {
  if (inForce === undefined) return [];
  const { configured, subscriptions } = inForce.sources;
  const all = [...configured, ...[...subscriptions.values()].flatMap((store) => store.current().routes)];
  // A subscription of the same name as a route of config.yaml is not used.
  return [...new Map(all.reverse().map(({ route }) => [routeKey(route.profile, route.name), route])).values()];
}

const routeKey = (profile: string, route: string): string => `${profile}/${route}`;

interface DeliveriesLoad {
  /** How many wait for their next try, by `profile/route`. */
  readonly retrying: ReadonlyMap<string, number>;
  /** How many others are under way or wait for their turn. */
  readonly delivering: number;
}

function deliveriesLoad({ deliveries }: Pick<WorkPools, 'deliveries'>, only: string | undefined): DeliveriesLoad {
  const retrying = new Map<string, number>();
  let delivering = 0;
  for (const [, delivery] of deliveries) {
    const { value, context } = delivery.getSnapshot();
    const { profile, route } = context.record;
    if (only !== undefined && profile !== only) continue;
    const key = routeKey(profile, route);
    if (value === 'waitingToRetry') retrying.set(key, (retrying.get(key) ?? 0) + 1);
    else delivering += 1;
  }
  return { retrying, delivering };
}

/** The runs of a profile, as `load` counts them for all. */
function loadOf(
  profile: string,
  { pools, runsThatWait }: OverviewPorts,
): { readonly running: number; readonly queued: number; readonly asking: number } {
  const asking = runsThatWait();
  const counts = { running: 0, queued: 0, asking: 0 };
  for (const [key, chart] of pools().runs) {
    const run = chart.getSnapshot();
    if (run.context.record.profile !== profile) continue;
    if (asking.has(key)) counts.asking += 1;
    if (run.hasTag('holdsSlot')) counts.running += 1;
    else if (run.value === 'queued') counts.queued += 1;
  }
  return counts;
}

function openCounts(
  ports: OverviewPorts,
  { retrying, delivering }: DeliveriesLoad,
  profile: string | undefined,
): OpenCounts {
  let batching = 0;
  for (const [, group] of ports.pools().groups) {
    const { burst, profile: its } = group.getSnapshot().context;
    if (burst !== null && (profile === undefined || its === profile)) batching += 1;
  }
  const { running, waiting, isMore } = ports.load();
  const own = profile === undefined ? undefined : loadOf(profile, ports);
  return {
    running: own?.running ?? running,
    slots: ports.concurrency(),
    batching,
    waiting: own?.asking ?? ports.runsThatWait().size,
    retrying: [...retrying.values()].reduce((sum, count) => sum + count, 0),
    queued: own?.queued ?? waiting,
    ...(isMore(profile) ? { more_queued: true } : {}),
    delivering,
  };
}
