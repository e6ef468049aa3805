/**
 * Traces of an event: spans of the request, its run, the run's calls and its deliveries, each below the span that led to
 * it. Without a collector no span is made and nothing is loaded; the trace that a sender began is still passed on.
 * @see OBS-1 in docs/specification.md
 * @see [Trace Context](https://www.w3.org/TR/trace-context/)
 */

import type { Logger } from '../../actors/ports.ts';
import type { OpenSpan, SpanAttributes, SpanStart, Tracer } from '../../actors/telemetry/open-tracer.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { percentDecoded } from '../../machines/base/percent-decoded.ts';
import { createTurns } from '../system/turns.ts';

interface TracingPorts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly redact: (text: string) => string;
  /** Registers the collector's credentials with the redactor. */
  readonly learn: (secret: string) => void;
  readonly nowMs: () => number;
  readonly log: Logger;
}

export interface Tracing {
  isOn(): boolean;
  /** Begins a span; undefined while none are made. */
  begin(start: Omit<SpanStart, 'startMs'> & { readonly startMs?: number }): TracedSpan | undefined;
  /** Sends spans to the configured endpoint; if it is undefined, to the one of the environment's variables, if set. */
  apply(endpoint: string | undefined): Promise<void>;
  close(): Promise<void>;
}

export interface TracedSpan {
  readonly traceparent: string;
  end(attributes: SpanAttributes, failed?: string): void;
}

/** A collector that does not answer delays a stop no longer than this. */
const closingMs = 2_000;
const maxTextLength = 300;

export function createTracing({ env, version, redact, learn, nowMs, log }: TracingPorts): Tracing {
  let tracer: Tracer | undefined;
  let standing: string | undefined;
  const isDisabled = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true';
  const fromEnvironment = [env.OTEL_EXPORTER_OTLP_ENDPOINT, env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT].some(
    (one) => (one ?? '') !== '',
  );

  for (const variable of ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']) {
    for (const pair of (env[variable] ?? '').split(','))
      learn(percentDecoded(pair.slice(pair.indexOf('=') + 1).trim()));
  }

  const inTurn = createTurns((thrown) => {
    log.log('warn', `traces: the exporter cannot be opened: ${causeOf(thrown)}; check telemetry.otlp_endpoint`);
  });

  async function move(endpoint: string | undefined): Promise<void> {
    const wanted = isDisabled ? undefined : (endpoint ?? (fromEnvironment ? 'environment' : undefined));
    if (wanted === standing) return;
    await close();
    if (wanted === undefined) return;
    standing = wanted;
    const { openTracer } = await import('../../actors/telemetry/open-tracer.ts');
    // OpenTelemetry takes an empty variable for one that is not set.
    const serviceName = env.OTEL_SERVICE_NAME || 'agent-gateway';
    const batchMs = Number(env.OTEL_BSP_SCHEDULE_DELAY ?? Number.NaN);
    const batching = batchMs > 0 ? { batchMs } : {};
    tracer = openTracer({ endpoint, serviceName, version, log, ...batching });
    log.log('info', `traces go to ${redact(endpoint ?? 'the collector that OTEL_EXPORTER_OTLP_ENDPOINT names')}`);
  }

  async function close(): Promise<void> {
    const closing = tracer;
    tracer = undefined;
    standing = undefined;
    if (closing === undefined) return;
    const over = new Promise<void>((resolve) => setTimeout(resolve, closingMs).unref());
    await Promise.race([closing.close().catch(() => {}), over]);
  }

  function traced(span: OpenSpan): TracedSpan {
    return {
      traceparent: span.traceparent,
      end(attributes, failed) {
        const clean = Object.fromEntries(
          Object.entries(attributes).map(([key, value]) => [key, typeof value === 'string' ? short(value) : value]),
        );
        span.end(clean, nowMs(), failed === undefined ? undefined : short(failed));
      },
    };
  }

  function short(text: string): string {
    return redact(text).slice(0, maxTextLength);
  }

  return {
    isOn: () => tracer !== undefined,
    begin(start) {
      if (tracer === undefined) return undefined;
      // A caller may name a tool that does not exist.
      return traced(tracer.begin({ startMs: nowMs(), ...start, name: short(start.name) }));
    },
    apply: (endpoint) => inTurn(() => move(endpoint)),
    close: () => inTurn(close),
  };
}
