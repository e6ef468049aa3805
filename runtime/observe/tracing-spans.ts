/**
 * The spans and their attributes: one for a request, a run, a delivery. Wraps the effects themselves, so that a
 * span lasts as long as its effect; while tracing is off, each wrapper costs one check.
 * @see OBS-1 in docs/specification.md
 * @see [OpenTelemetry semantic conventions](https://opentelemetry.io/docs/specs/semconv/)
 */

import type { RunAgent } from '../../actors/dispatch/run-agent.ts';
import { carriedTraceparent } from '../../machines/base/traceparent.ts';
import type { Attempt } from '../../machines/dispatch/next-try.ts';
import type { DeliveryRecord, EventRecord } from '../../machines/webhook/record.ts';
import { statusOf } from '../../machines/webhook/reply.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { TracedSpan, Tracing } from './tracing.ts';

interface TracedRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined unless traces are made. */
  span: TracedSpan | undefined;
}

export interface EventTraces {
  begin(live: TracedRequest, startMs: number): void;
  /** The trace that is stored with the event: its own span, or the one that its sender named. */
  traceparentOf(live: TracedRequest | undefined): string | undefined;
  ended(context: RequestContext, live: TracedRequest | undefined): void;
}

export function createEventTraces(tracing: Tracing): EventTraces {
  return {
    begin(live, startMs) {
      if (!tracing.isOn()) return;
      live.span = tracing.begin({ name: 'webhook', kind: 'server', parent: live.headers.traceparent, startMs });
    },
    traceparentOf: (live) => live?.span?.traceparent ?? carriedTraceparent(live?.headers.traceparent),
    ended({ route, outcome, deliveryId, event, method, reason, scheme }, live) {
      // A third party's request to an unknown route makes no trace.
      if (live?.span === undefined || route === undefined || outcome === undefined) return;
      const status = statusOf(outcome);
      live.span.end(
        {
          'http.request.method': method,
          'http.route': `/webhooks/${route.name}`,
          'http.response.status_code': status,
          'agent.profile': route.profile,
          'agent.route': route.name,
          'agent.delivery_id': deliveryId,
          'agent.event': event,
          'agent.outcome': outcome.kind,
          'agent.signature.scheme': scheme,
          'agent.reason': reason,
        },
        status >= 500 ? (reason ?? outcome.kind) : undefined,
      );
    },
  };
}

type SendDelivery = (record: DeliveryRecord, signal: AbortSignal) => Promise<Attempt>;

interface RunTraces {
  /** The trace that a run passes to its agent: its own span, or the one of its event. */
  traceparentOf(run: string, event: EventRecord | undefined): string | undefined;
  traced(runAgent: RunAgent, eventOf: (key: string) => Promise<EventRecord | undefined>): RunAgent;
  tracedDelivery(send: SendDelivery, eventOf: (key: string) => Promise<EventRecord | undefined>): SendDelivery;
}

/** Spans kept for deliveries of runs; a delivery after that is a child of the event's span. */
const maxRuns = 10_000;

export function createRunTraces(tracing: Tracing): RunTraces {
  const spans = new Map<string, TracedSpan>();

  function keep(run: string, span: TracedSpan): void {
    spans.set(run, span);
    const [oldest] = spans.keys();
    if (spans.size > maxRuns && oldest !== undefined) spans.delete(oldest);
  }

  return {
    traceparentOf: (run, event) => spans.get(run)?.traceparent ?? event?.traceparent,
    traced: (runAgent, eventOf) => async (key, record, signal) => {
      if (!tracing.isOn()) return runAgent(key, record, signal);
      const event = await eventOf(record.eventKey);
      const span = tracing.begin({ name: 'agent run', kind: 'internal', parent: event?.traceparent });
      if (span === undefined) return runAgent(key, record, signal);
      keep(key, span);
      const outcome = await runAgent(key, record, signal);
      span.end(
        {
          'agent.run': key,
          'agent.profile': record.profile,
          'agent.route': record.route,
          'agent.delivery_id': event?.deliveryId,
          'agent.run.kind': record.kind,
          'agent.run.attempt': record.attempt,
          'agent.run.superseded': record.superseded,
        },
        outcome.kind === 'failed' ? outcome.reason : undefined,
      );
      return outcome;
    },
    tracedDelivery: (send, eventOf) => async (record, signal) => {
      if (!tracing.isOn()) return send(record, signal);
      const { runKey, eventKey, target, deliveryId, profile, route } = record;
      const parent =
        (runKey === undefined ? undefined : spans.get(runKey)?.traceparent) ?? (await eventOf(eventKey))?.traceparent;
      const span = tracing.begin({ name: `deliver ${target}`, kind: 'client', parent });
      const attempt = await send(record, signal);
      const { outcome } = attempt;
      span?.end(
        {
          'agent.attempt': record.attempts,
          'agent.target': target,
          'agent.delivery_id': deliveryId,
          'agent.profile': profile,
          'agent.route': route,
          'agent.outcome': outcome.kind,
          ...('messageId' in outcome ? { 'agent.message_id': outcome.messageId } : {}),
        },
        'reason' in outcome ? outcome.reason : undefined,
      );
      return attempt;
    },
  };
}
