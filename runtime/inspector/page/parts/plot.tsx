/**
 * Plots at most 60 buckets as SVG: stacked bars, lines, sparklines. Each is an image with a sentence, and a table shows the
 * same numbers on request.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../data/format.ts';
import { Scrolled } from './basics.tsx';
import { Button } from './button.tsx';

/** Events in one time span. */
export interface Bucket {
  /** The start of the span, as the axis shows it. */
  readonly at: string;
  readonly delivered: number;
  readonly ignored: number;
  readonly open: number;
  readonly failed: number;
}

/** From the bottom up: failed is on top, so that the order distinguishes it too. */
const stack = ['ignored', 'delivered', 'open', 'failed'] as const;

export const totalOf = (one: Bucket): number => stack.reduce((sum, name) => sum + one[name], 0);

interface BarsProps {
  readonly buckets: readonly Bucket[];
  readonly height: number;
  /** "300 events, 24 failed, peak 11 at 14:20" */
  readonly sentence: string;
  /** Opens the events of a bucket. */
  readonly onOpen?: (bucket: Bucket, at: number) => void;
  readonly legend?: boolean;
}

export function Bars({ buckets, height, sentence, onOpen, legend = true }: BarsProps): JSX.Element {
  const top = niceTop(Math.max(1, ...buckets.map(totalOf)));
  const width = 600;
  const step = width / Math.max(1, buckets.length);
  return (
    <Plot
      sentence={sentence}
      height={height}
      top={top}
      format={(value) => value.toLocaleString('en')}
      ticks={buckets.map(({ at }) => at)}
      legend={
        legend
          ? (['delivered', 'ignored', 'open', 'failed'] as const).map((name) => ({ name, class: `fill-${name}` }))
          : []
      }
      columns={['Time', 'Delivered', 'Ignored', 'Open', 'Failed']}
      rows={buckets.map((one) => [one.at, one.delivered, one.ignored, one.open, one.failed])}
    >
      {buckets.map((bucket, at) => {
        let below = 0;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table below the plot has the same.
          <g
            key={at}
            class={onOpen === undefined ? 'bucket' : 'bucket opens'}
            onClick={onOpen === undefined ? undefined : () => onOpen(bucket, at)}
          >
            <title>{`${bucket.at}: ${counted(totalOf(bucket), 'event')}, ${bucket.failed} failed`}</title>
            <rect class="whole" x={at * step} y="0" width={step} height={height} />
            {stack.map((name) => {
              const high = (bucket[name] / top) * height;
              if (high === 0) return null;
              below += high;
              return (
                <rect
                  key={name}
                  class={`fill-${name}`}
                  x={at * step + step * 0.1}
                  y={height - below}
                  width={step * 0.8}
                  height={Math.max(0.5, high - 0.5)}
                />
              );
            })}
          </g>
        );
      })}
    </Plot>
  );
}

interface Line {
  readonly name: string;
  readonly dashed?: boolean;
  /** One value per tick; null for a tick without one. */
  readonly values: readonly (number | null)[];
}

interface LinesProps {
  readonly ticks: readonly string[];
  readonly lines: readonly Line[];
  readonly height: number;
  readonly sentence: string;
  readonly format: (value: number) => string;
}

export function Lines({ ticks, lines, height, sentence, format }: LinesProps): JSX.Element {
  const top = niceTop(Math.max(1, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  const step = 600 / Math.max(1, ticks.length - 1);
  const path = (values: Line['values']): string => {
    let drawn = '';
    let isOn = false;
    for (const [at, value] of values.entries()) {
      if (value !== null) {
        drawn += `${isOn ? 'L' : 'M'}${(at * step).toFixed(1)} ${(height - (value / top) * height).toFixed(1)}`;
        // A single value is drawn as a dash, because a line of one point is invisible.
        if (!isOn && (values[at + 1] ?? null) === null) drawn += 'h4';
      }
      isOn = value !== null;
    }
    return drawn;
  };
  return (
    <Plot
      sentence={sentence}
      height={height}
      top={top}
      format={format}
      ticks={ticks}
      legend={lines.map(({ name, dashed = false }) => ({ name, class: dashed ? 'dash' : 'solid' }))}
      columns={['Time', ...lines.map(({ name }) => name)]}
      rows={ticks.map((tick, at) => [
        tick,
        ...lines.map(({ values }) => {
          const value = values[at];
          return value === null || value === undefined ? '' : format(value);
        }),
      ])}
    >
      {lines.map(({ name, dashed = false, values }) => (
        <path key={name} class={dashed ? 'trend dash' : 'trend'} d={path(values)} vector-effect="non-scaling-stroke" />
      ))}
    </Plot>
  );
}

/** A few bars in a row of a table, with the numbers beside them. */
export function Sparkline({ buckets }: { readonly buckets: readonly Bucket[] }): JSX.Element {
  const top = Math.max(1, ...buckets.map(totalOf));
  const step = 72 / Math.max(1, buckets.length);
  return (
    <svg class="spark" viewBox="0 0 72 20" preserveAspectRatio="none" aria-hidden="true">
      {buckets.map((bucket, at) => {
        const total = totalOf(bucket);
        const bad = (bucket.failed / top) * 19;
        const rest = ((total - bucket.failed) / top) * 19;
        const box = { x: at * step, width: step * 0.72 };
        return (
          <g key={at}>
            <rect class="fill-delivered" {...box} y={20 - Math.max(rest, total === 0 ? 0.6 : 0)} height={rest || 0.6} />
            {bad === 0 ? null : <rect class="fill-failed" {...box} y={20 - rest - bad} height={bad} />}
          </g>
        );
      })}
    </svg>
  );
}

interface PlotProps {
  readonly sentence: string;
  readonly height: number;
  readonly top: number;
  readonly format: (value: number) => string;
  readonly ticks: readonly string[];
  readonly legend: readonly { readonly name: string; readonly class: string }[];
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
  readonly children: JSX.Element[];
}

function Plot({ sentence, height, top, format, ticks, legend, columns, rows, children }: PlotProps): JSX.Element {
  const [isTable, setTable] = useState(false);
  const other = isTable ? 'Show as chart' : 'Show as table';
  const shown = [0, 0.25, 0.5, 0.75, 1].map((part) => ticks[Math.round(part * (ticks.length - 1))] ?? '');
  return (
    <div class="plot">
      {isTable ? (
        <Scrolled class="plot-table" label={sentence}>
          <table>
            <thead>
              <tr>
                {columns.map((name) => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, at) => (
                <tr key={at}>
                  {row.map((value, column) => (
                    <td key={columns[column]} class="num">
                      {value}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolled>
      ) : (
        <>
          <svg
            role="img"
            aria-label={sentence}
            viewBox={`0 0 600 ${height}`}
            height={height}
            preserveAspectRatio="none"
          >
            {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a screen reader would read each bar; it has the sentence and the table. */}
            <g aria-hidden="true">
              <path class="gridline" d={`M0 ${height / 2}H600M0 ${height}H600`} />
              {children}
            </g>
          </svg>
          <span class="y" style={{ top: '6px' }}>
            {format(top)}
          </span>
          <span class="y" style={{ top: `${height / 2}px` }}>
            {format(top / 2)}
          </span>
          <div class="axis" aria-hidden="true">
            {shown.map((tick, at) => (
              <span key={at}>{tick}</span>
            ))}
          </div>
        </>
      )}
      <div class="legend">
        {legend.map(({ name, class: look }) => (
          <span key={name}>
            <i class={look} />
            {name}
          </span>
        ))}
        <Button
          class="quiet as-table"
          aria-label={`${other}: ${columns.slice(1).join(', ')}`}
          onClick={() => setTable(!isTable)}
        >
          {other}
        </Button>
      </div>
    </div>
  );
}

/** Returns the least of 2, 4, 6, 8, 10, 12, 20, 40… that is not below the value; its half is a whole number too. */
function niceTop(value: number): number {
  for (let power = 1; ; power *= 10) {
    for (const digit of [2, 4, 6, 8, 10, 12]) if (digit * power >= value) return digit * power;
  }
}
