/**
 * Counts outcomes, and defines the labels. An unconfigured route has no label: a third party's path makes no series.
 * @see OBS-1 in docs/specification.md
 */

import type { AnyActorRef } from 'xstate';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { Route } from '../../machines/config/route.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import type { CallOutput } from '../../machines/mcp/tool-call.machine.ts';
import type { DeliveryRecord, RunRecord } from '../../machines/webhook/record.ts';
import { secretNumber } from '../../machines/webhook/signature.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { type Metrics, observe, type Series } from './metrics.ts';

/** The requests to every configured route are counted together. */
export const anyRoute = 'any';
/** The name under which recent commits are counted. */
export const everyCommit = 'every';

type CountRequest = (request: RequestContext, nowMs: number) => void;

/** Returns a counter of requests, which looks up the series of a route once, not per request. */
export function createRequestCount(metrics: Metrics): CountRequest {
  const kept = new WeakMap<Route, RequestSeries>();

  function seriesOf(route: Route | undefined): RequestSeries {
    const known = route && kept.get(route);
    if (known !== undefined) return known;
    const [profile, name] = [route?.profile ?? '', route?.name ?? ''];
    const made: RequestSeries = {
      profile,
      name,
      duration: metrics.series('agent_webhook_request_duration_seconds', profile, name),
      outcomes: new Map(),
    };
    if (route !== undefined) kept.set(route, made);
    return made;
  }

  return ({ route, outcome, origin, scheme, receivedAtMs }, nowMs) => {
    const { profile, name, duration, outcomes } = seriesOf(route);
    const kind = outcome?.kind ?? 'abandoned';
    let total = outcomes.get(kind);
    if (total === undefined) {
      total = metrics.series('agent_webhook_requests_total', profile, name, kind);
      outcomes.set(kind, total);
    }
    total.count += 1;
    const older = scheme === undefined || origin !== 'http' ? undefined : secretNumber(scheme);
    if (older !== undefined) metrics.count('agent_webhook_older_secret_total', profile, name, older);
    // Only a request over HTTP has a duration.
    if (origin !== 'http') return;
    const tookMs = Math.max(0, nowMs - receivedAtMs);
    observe(duration, tookMs / 1_000);
    if (route !== undefined) metrics.recent.requests.add(anyRoute, { tookMs, failed: false });
  };
}

interface RequestSeries {
  readonly profile: string;
  readonly name: string;
  readonly duration: Series;
  readonly outcomes: Map<string, Series>;
}

/** A clock that is set back makes no time negative, here and below: a decreasing sum looks like a restart. */
export function countRun(run: RunRecord, nowMs: number, metrics: Metrics): void {
  const { profile, route, kind, status, queuedAtMs, startedAtMs } = run;
  // Left to another gateway, which counts its end.
  if (status === 'running') return;
  metrics.count('agent_runs_total', profile, route, kind, status);
  if (startedAtMs === undefined) return;
  metrics.observe('agent_run_wait_seconds', Math.max(0, startedAtMs - queuedAtMs) / 1_000, profile, route);
  metrics.observe('agent_run_duration_seconds', Math.max(0, nowMs - startedAtMs) / 1_000, profile, route);
}

export function countDelivery(record: DeliveryRecord, nowMs: number, metrics: Metrics): void {
  const { profile, target, status, queuedAtMs, startedAtMs = queuedAtMs } = record;
  // Left to another gateway too.
  if (status === 'sending') return;
  metrics.count('agent_deliveries_total', target, status);
  metrics.observe('agent_delivery_duration_seconds', Math.max(0, nowMs - queuedAtMs) / 1_000, target);
  if (status === 'dropped') return;
  const name = `${profile}/${canonicalTarget(target) ?? target}`;
  metrics.recent.deliveries.add(name, { tookMs: Math.max(0, nowMs - startedAtMs), failed: status !== 'delivered' });
}

/** An unregistered tool has no server; the name that its caller gave makes no series. */
export function countCall({ profile, server, fault }: CallOutput, seconds: number, metrics: Metrics): void {
  const name = server ?? '';
  metrics.count('agent_tool_calls_total', profile, name, fault?.code ?? 'result');
  metrics.observe('agent_tool_call_duration_seconds', Math.max(0, seconds), profile, name);
  metrics.recent.calls.add(`${profile}/${name}`, { tookMs: seconds * 1_000, failed: fault !== null });
}

export function countRestarts(root: AnyActorRef, metrics: Metrics): void {
  const restarts = metrics.series('agent_gateway_restarts_total');
  let was: unknown;
  root.subscribe({
    next: ({ value }: { readonly value?: unknown }) => {
      if (value === 'restarting' && was !== 'restarting') restarts.count += 1;
      was = value;
    },
    error: () => {},
  });
}

export function timedKeeper(keeper: JournalKeeper, metrics: Metrics): JournalKeeper {
  const committed = metrics.series('agent_journal_commits_total', 'committed');
  const duration = metrics.series('agent_journal_commit_duration_seconds');

  const submit: JournalKeeper['submit'] = (writes, settled, rewrite) => {
    const beganMs = performance.now();
    keeper.submit(
      writes,
      (verdict, judged) => {
        const tookMs = performance.now() - beganMs;
        observe(duration, tookMs / 1_000);
        // Recent commits are shown only for a shared journal; a local commit is not worth a second count.
        if (keeper.isShared())
          metrics.recent.commits.add(everyCommit, { tookMs, failed: verdict.kind === 'unavailable' });
        if (verdict.kind === 'committed') committed.count += 1;
        else metrics.count('agent_journal_commits_total', verdict.kind);
        settled(verdict, judged);
      },
      rewrite,
    );
  };
  return { ...keeper, submit, commit: (writes) => new Promise((resolve) => submit(writes, resolve)) };
}
