/** A collector of traces: takes OTLP over HTTP and JSON, and remembers the spans. */

import type { Test } from 'tap';
import { listenHttp } from './http-listener.ts';
import { collected } from './processes.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Everything that came, as it came. */
  text(): string;
  /** Resolves with the first span of that name. */
  span(name: string): Promise<CollectedSpan>;
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes'> & { readonly attributes: readonly Attribute[] })[];
    }[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

export async function startCollector(t: Test): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const waiting = new Set<() => void>();
  let whole = '';
  const { url } = await listenHttp(t, (request, response) => {
    const body = collected(request);
    request.on('end', () => {
      whole += body();
      const { resourceSpans } = JSON.parse(body()) as Exported;
      for (const { scopeSpans } of resourceSpans)
        for (const scope of scopeSpans)
          for (const span of scope.spans)
            spans.push({
              ...span,
              attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
            });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      for (const look of waiting) look();
    });
  });
  return {
    url,
    spans,
    text: () => whole,
    span: (name) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = spans.find((span) => span.name === name);
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
