/**
 * Connects to a trace collector with OpenTelemetry's SDK and its OTLP exporter over HTTP. Loaded only if traces are
 * configured.
 * @see OBS-1 in docs/specification.md
 */

import { DiagLogLevel, diag, ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
  type TracerProviderOptions,
} from '@opentelemetry/sdk-trace';
import { formatTraceparent, readTraceparent } from '../../machines/base/traceparent.ts';
import type { Logger } from '../ports.ts';

interface TracerSettings {
  /** The collector's URL, such as `http://127.0.0.1:4318`; if undefined, the exporter's own variables apply. */
  readonly endpoint: string | undefined;
  readonly serviceName: string;
  readonly version: string;
  readonly log: Logger;
  /** How long spans are gathered before they are sent. Default: the SDK's. */
  readonly batchMs?: number;
}

export interface SpanStart {
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  /** The parent in W3C format; undefined begins a trace. */
  readonly parent: string | undefined;
  readonly startMs: number;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface OpenSpan {
  readonly traceparent: string;
  /** `failed` is the reason of a failure. A span that is never ended is never sent. */
  end(attributes: SpanAttributes, endMs: number, failed?: string): void;
}

export interface Tracer {
  begin(start: SpanStart): OpenSpan;
  /** Sends the gathered spans and stops. */
  close(): Promise<void>;
}

/** The exporter retries this long, and a stopping daemon waits for it; the collector is usually nearby. */
const exportTimeoutMs = 3_000;
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

export function openTracer({ endpoint, serviceName, version, log, batchMs }: TracerSettings): Tracer {
  const quiet = (): void => {};
  diag.setLogger(
    {
      error: (message) => log.warnOnce('traces', `traces: ${message}`),
      warn: (message) => log.warnOnce('traces', `traces: ${message}`),
      info: quiet,
      debug: quiet,
      verbose: quiet,
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const exporter = new OTLPTraceExporter({
    ...(endpoint === undefined ? {} : { url: tracesUrl(endpoint) }),
    timeoutMillis: exportTimeoutMs,
  });
  const batching = batchMs === undefined ? {} : { scheduledDelayMillis: batchMs };
  const provider = new TracerProvider({
    resource: resourceOf({ 'service.name': serviceName, 'service.version': version }),
    spanProcessors: [new BatchSpanProcessor({ exporter: reporting(exporter, endpoint, log), ...batching })],
  });
  const tracer = provider.getTracer('agent-gateway', version);

  return {
    begin({ name, kind, parent, startMs }) {
      const from = readTraceparent(parent);
      const context =
        from === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId: from.traceId,
              spanId: from.spanId,
              traceFlags: from.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
              isRemote: true,
            });
      const span = tracer.startSpan(name, { kind: kinds[kind], startTime: startMs }, context);
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceparent: formatTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 }),
        end(attributes, endMs, failed) {
          for (const [key, value] of Object.entries(attributes)) {
            if (value !== undefined) span.setAttribute(key, value);
          }
          if (failed !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failed });
          span.end(endMs);
        },
      };
    },
    close: () => provider.shutdown(),
  };
}

/** Logs the first of consecutive failures. The SDK would log each as JSON with its stack, so none is passed on to it. */
function reporting(exporter: SpanExporter, endpoint: string | undefined, log: Logger): SpanExporter {
  const place = endpoint ?? 'the collector';
  const cure = endpoint === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'telemetry.otlp_endpoint';
  let hasFailed = false;
  return {
    export(spans, ended) {
      exporter.export(spans, ({ code, error }) => {
        if (code !== 0 && !hasFailed) log.log('warn', `traces: ${place} ${reasonOf(error)}; check ${cure}`);
        hasFailed = code !== 0;
        ended({ code: 0 });
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  const { code, message = 'no answer' } = error ?? {};
  return typeof code === 'number' ? `refuses spans (${code} ${message})` : `does not answer (${code ?? message})`;
}

/** Accepts the base URL, or the complete path. */
function tracesUrl(endpoint: string): string {
  const base = endpoint.replace(/\/+$/, '');
  return base.endsWith('/v1/traces') ? base : `${base}/v1/traces`;
}

/** The sender's attributes. The SDK's own resource package would also detect host and process, which are not wanted. */
function resourceOf(attributes: Record<string, string>): NonNullable<TracerProviderOptions['resource']> {
  const resource: NonNullable<TracerProviderOptions['resource']> = {
    attributes,
    merge: (other) =>
      other === null ? resource : resourceOf({ ...attributes, ...(other.attributes as Record<string, string>) }),
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}
