/**
 * The events over the range: bars by outcome. A drag chooses a range, a double click removes it.
 * @see INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { CountedEvents } from '../../../control/contract/events.ts';
import { counted, formatTime } from '../data/format.ts';
import { Bars, totalOf } from '../parts/plot.tsx';

interface HistogramProps {
  readonly counts: CountedEvents;
  readonly onRange: (range: string) => void;
  readonly onClear: () => void;
}

const height = 52;
/** A shorter drag is a click. */
const leastDrag = 6;

export function Histogram({ counts, onRange, onClear }: HistogramProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const { buckets, bucket_ms: widthMs } = counts;
  const format = (at: string): string => formatTime(at, widthMs);
  const drawn = buckets.map(({ at, delivered, ignored, open, failed }) => ({
    at: format(at),
    delivered,
    ignored,
    open,
    failed,
  }));
  const peak = drawn.reduce((best, one) => (best === undefined || totalOf(one) > totalOf(best) ? one : best), drawn[0]);
  const sentence = [
    counted(counts.total, 'event'),
    `${counts.counts.failed.toLocaleString('en')} failed`,
    ...(peak === undefined || counts.total === 0 ? [] : [`peak ${totalOf(peak).toLocaleString('en')} at ${peak.at}`]),
  ].join(', ');

  /** Returns the place of a pointer, as a share of the bars' width. */
  function shareAt(event: PointerEvent): number {
    const area = box.current?.querySelector('svg')?.getBoundingClientRect();
    if (area === undefined || area.width === 0) return 0;
    return Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
  }

  function choose(from: number, to: number): void {
    const first = buckets[Math.min(buckets.length - 1, Math.floor(from * buckets.length))];
    const last = buckets[Math.min(buckets.length - 1, Math.floor(to * buckets.length))];
    if (first === undefined || last === undefined) return;
    const end = Math.min(Date.parse(last.at) + widthMs, Date.parse(counts.to));
    const begin = Math.max(Date.parse(first.at), Date.parse(counts.from));
    if (end > begin) onRange(`${new Date(begin).toISOString()}..${new Date(end).toISOString()}`);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the range above the bars does the same by keyboard.
    <div
      ref={box}
      class="hist"
      onPointerDown={(event) => {
        if (event.button !== 0 || !(event.target instanceof SVGElement)) return;
        const share = shareAt(event);
        setDrag({ from: share, to: share });
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const share = shareAt(event);
        if (drag !== undefined) setDrag({ from: drag.from, to: share });
      }}
      onPointerUp={(event) => {
        if (drag === undefined) return;
        setDrag(undefined);
        const to = shareAt(event);
        const width = box.current?.querySelector('svg')?.getBoundingClientRect().width ?? 0;
        if (Math.abs(to - drag.from) * width >= leastDrag) choose(Math.min(drag.from, to), Math.max(drag.from, to));
      }}
      onPointerCancel={() => setDrag(undefined)}
      onDblClick={({ target, currentTarget }) => {
        // Not one on the table or the buttons. While the pointer is captured, the bars are this element.
        if (target === currentTarget || target instanceof SVGElement) onClear();
      }}
    >
      <Bars buckets={drawn} height={height} sentence={sentence} />
      {drag === undefined ? null : (
        <div class="area" aria-hidden="true">
          <i
            style={{
              left: `${Math.min(drag.from, drag.to) * 100}%`,
              width: `${Math.abs(drag.to - drag.from) * 100}%`,
            }}
          />
        </div>
      )}
    </div>
  );
}
