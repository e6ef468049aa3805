/** The two charts of the overview: events by outcome, and their time to delivery. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { useNow } from '../data/clock.ts';
import { counted, formatClock, formatTook } from '../data/format.ts';
import type { Overview, Range } from '../data/overview.ts';
import { rangeWords, rateWords, tickWords } from '../data/overview-words.ts';
import { go } from '../data/place.ts';
import { Panel } from '../parts/panel.tsx';
import { Bars, Lines, totalOf } from '../parts/plot.tsx';

interface ChartProps {
  readonly events: Overview['events'];
  readonly range: Range;
}

const height = 104;

export function RateChart({ events, range }: ChartProps): JSX.Element {
  const { counts, total, bucket_ms } = events;
  const buckets = useMemo(
    () => events.buckets.map((bucket) => ({ ...bucket, from: bucket.at, at: tickWords(bucket.at, range) })),
    [events, range],
  );
  const peak = buckets.reduce((max, one) => (totalOf(one) > totalOf(max) ? one : max), {
    at: '',
    delivered: 0,
    ignored: 0,
    open: 0,
    failed: 0,
  });
  const atPeak = totalOf(peak) === 0 ? '' : `, peak ${totalOf(peak)} at ${peak.at}`;
  return (
    <Panel title="Events per minute" bare>
      <div class="pad figure">
        <p class="big num">
          {rateWords(events, range)}{' '}
          <small>
            {total.toLocaleString('en')} in the {rangeWords(range)}
            {totalOf(peak) === 0 ? '' : ` · ${peakWords(totalOf(peak), bucket_ms)} at peak`}
          </small>
        </p>
        <Bars
          buckets={buckets}
          height={height}
          sentence={`${counted(total, 'event')} in the ${rangeWords(range)}, ${counts.failed} failed${atPeak}`}
          onOpen={(_, at) => {
            const from = Date.parse(events.buckets[at]?.at ?? '');
            const span = `${new Date(from).toISOString()}..${new Date(from + bucket_ms).toISOString()}`;
            go('events', '', { range: span });
          }}
        />
        <StillCounting events={events} />
      </div>
    </Panel>
  );
}

/** "10", or "24 a minute" if a bucket is not a minute. */
function peakWords(peak: number, widthMs: number): string {
  if (widthMs === 60_000) return peak.toLocaleString('en');
  return `${((peak / widthMs) * 60_000).toFixed(1)} a minute`;
}

export function DurationChart({ events, range }: ChartProps): JSX.Element {
  const { median_ms, p95_ms, buckets } = events;
  const has = median_ms !== undefined && p95_ms !== undefined;
  return (
    <Panel title="Time from request to delivery" bare>
      <div class="pad figure">
        <p class="big num">
          {has ? formatTook(median_ms) : '–'}{' '}
          <small>{has ? `median · ${formatTook(p95_ms)} at the 95th percentile` : 'nothing was delivered'}</small>
        </p>
        <Lines
          height={height}
          ticks={buckets.map(({ at }) => tickWords(at, range))}
          lines={[
            { name: 'median', values: buckets.map((bucket) => bucket.median_ms ?? null) },
            { name: '95th percentile', dashed: true, values: buckets.map((bucket) => bucket.p95_ms ?? null) },
          ]}
          format={formatTook}
          sentence={
            has
              ? `Time from request to delivery in the ${rangeWords(range)}: median ${formatTook(median_ms)}, 95th percentile ${formatTook(p95_ms)}`
              : `Nothing was delivered in the ${rangeWords(range)}`
          }
        />
      </div>
    </Panel>
  );
}

function StillCounting({ events }: Pick<ChartProps, 'events'>): JSX.Element | null {
  const now = useNow();
  if (events.counted_from === undefined) return null;
  return <p class="hint">Still counting: complete from {formatClock(events.counted_from, now)} on.</p>;
}
