/**
 * Reads and writes the header that passes a trace from one program to the next. An invalid header is ignored: a third
 * party's header is never passed on without parsing.
 * @see OBS-1 in docs/specification.md
 * @see [Trace Context §3.2](https://www.w3.org/TR/trace-context/#traceparent-header)
 */

interface TraceParts {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly sampled: boolean;
}

const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

export function readTraceparent(text: string | undefined): TraceParts | undefined {
  const [, traceId = '', spanId = '', flags = ''] = form.exec(text ?? '') ?? [];
  // All zeros are invalid ids.
  if (!/[1-9a-f]/.test(traceId) || !/[1-9a-f]/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceParts): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** The header to pass on if no span is made; undefined if it is invalid. */
export function carriedTraceparent(text: string | undefined): string | undefined {
  const parts = readTraceparent(text);
  return parts === undefined ? undefined : formatTraceparent(parts);
}
