/**
 * Draws a machine's chart with one actor in it: its state, the arrows it has taken, each transition as it is taken. The
 * chart is fitted at first, but never enlarged; a person pans by dragging or with the arrow keys and zooms with the buttons
 * or the wheel. Only classes change while the actor moves. The drawings are laid out when the page is built, one file per
 * machine, so the page includes no layout engine.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import { chartUrls } from 'virtual:charts';
import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { activeStates, arrowId, type Drawing, type DrawnArrow, type DrawnBox, wordLine } from '../data/chart-graph.ts';
import { formatState } from '../data/format.ts';
import { onReturn } from '../data/live.ts';
import type { Played } from '../data/player.ts';
import { standingOf } from '../data/standing.ts';
import { useView, zoomStep } from '../data/use-view.ts';
import { toneOf } from './chip.tsx';

interface StateChartProps {
  readonly machine: string;
  readonly state: string;
  readonly played: Played;
  /** Arrows that the actor has taken. */
  readonly trail: ReadonlySet<string>;
}

export function StateChart({ machine, ...actor }: StateChartProps): JSX.Element {
  const drawing = useDrawing(machine);
  if (drawing === 'waiting') return <div class="chart waits" />;
  if (drawing === 'none') return <p class="muted">This actor has no chart of its own.</p>;
  if (drawing === 'failed') return <p class="muted">The chart could not be fetched. Reload the page.</p>;
  return <Chart machine={machine} drawing={drawing} {...actor} />;
}

function Chart({
  machine,
  drawing,
  state,
  played,
  trail,
}: StateChartProps & { readonly drawing: Drawing }): JSX.Element {
  const { frame, view, height, isFitted, zoom, fit, whole, grabbed, onKeyDown } = useView(drawing);
  const [told, setTold] = useState<DrawnArrow | undefined>(undefined);
  const shown = played.state ?? state;
  const active = useMemo(() => activeStates(shown), [shown]);
  const { step } = played;
  const taken = step === undefined ? '' : arrowId(step.from, step.to);
  const { anywhere } = drawing;
  return (
    <div class="chart">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form. */}
      <div
        ref={frame}
        class={`sheet-of-chart${isFitted ? '' : ' moved'}`}
        role="group"
        aria-label={`Chart of ${machine}, now ${formatState(shown)}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what is panned must be reachable by keys.
        tabIndex={0}
        style={{ height: `${height}px` }}
        onPointerDown={(event) => {
          if (event.target instanceof Element && event.target.closest('.arrow') === null) setTold(undefined);
          grabbed(event);
        }}
        onKeyDown={onKeyDown}
      >
        <svg width="100%" height={height} aria-hidden="true">
          <Tips />
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
            {drawing.starts.map((start) => (
              <g key={start.path}>
                <circle class="start" cx={start.x} cy={start.y} r="3.5" />
                <path class="edge" d={start.path} marker-end="url(#tip)" />
              </g>
            ))}
            {drawing.boxes.map((box) => (
              <Box key={box.id} box={box} active={active.has(box.id)} />
            ))}
            {drawing.arrows.map((arrow) => (
              <Arrow
                key={arrow.id}
                drawn={arrow}
                lit={trail.has(arrow.id)}
                taken={taken === arrow.id && played.state !== undefined}
                onReport={setTold}
              />
            ))}
          </g>
        </svg>
        {told === undefined ? null : <Told arrow={told} view={view} />}
        {drawing.arrows
          .filter(({ all, words }) => all.length > words.length || all.length > 2)
          .map((arrow) => (
            <button
              key={arrow.id}
              type="button"
              class="edge-stop"
              style={{
                left: `${view.x + (arrow.at?.x ?? 0) * view.scale}px`,
                top: `${view.y + (arrow.at?.y ?? 0) * view.scale}px`,
              }}
              onFocus={() => setTold(arrow)}
              onBlur={() => setTold(undefined)}
            >
              <span class="unseen">
                {formatState(arrow.from)} to {formatState(arrow.to)}: {arrow.all.join(', ')}
              </span>
            </button>
          ))}
      </div>
      <div class="chartfoot">
        <span class="hint grow">
          {anywhere.length === 0 ? null : 'In every state: '}
          {anywhere.map(({ words, to }, at) => (
            <span key={`${words} ${to}`}>
              {at === 0 ? '' : ', '}
              <code>{words}</code> leads to {to}
            </span>
          ))}
          {anywhere.length === 0 ? null : '. '}Blue is the path taken.
        </span>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form. */}
        <div class="seg" role="group" aria-label="Zoom">
          <button type="button" aria-label="Smaller" onClick={() => zoom(1 / zoomStep)}>
            −
          </button>
          <button type="button" aria-pressed={isFitted} onClick={fit}>
            Fit
          </button>
          <button type="button" aria-label={`${Math.round(view.scale * 100)} %, show at 100 %`} onClick={whole}>
            {Math.round(view.scale * 100)} %
          </button>
          <button type="button" aria-label="Larger" onClick={() => zoom(zoomStep)}>
            +
          </button>
        </div>
      </div>
    </div>
  );
}

interface ToldProps {
  readonly arrow: DrawnArrow;
  readonly view: { readonly x: number; readonly y: number; readonly scale: number };
}

/** The complete words of an arrow, beside it. */
function Told({ arrow: { from, to, all, at }, view }: ToldProps): JSX.Element {
  const left = view.x + (at?.x ?? 0) * view.scale;
  const top = view.y + (at?.y ?? 0) * view.scale + 12;
  return (
    <div class="edge-words" aria-hidden="true" style={{ left: `${Math.max(8, left)}px`, top: `${Math.max(8, top)}px` }}>
      <b>
        {formatState(from)} → {formatState(to)}
      </b>
      {all.map((words) => (
        <code key={words}>{words}</code>
      ))}
    </div>
  );
}

function Tips(): JSX.Element {
  return (
    <defs>
      {(['tip', 'tip-lit'] as const).map((id) => (
        <marker key={id} id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 .8 7.2 4 0 7.2z" class={id === 'tip' ? 'tip' : 'tip lit'} />
        </marker>
      ))}
    </defs>
  );
}

function useDrawing(machine: string): Drawing | 'waiting' | 'none' | 'failed' {
  const [drawing, setDrawing] = useState<Drawing | 'waiting' | 'none' | 'failed'>('waiting');
  useEffect(() => {
    let wanted = true;
    const look = (): void => {
      drawingOf(machine).then(
        (found) => wanted && setDrawing(found ?? 'none'),
        () => wanted && setDrawing('failed'),
      );
    };
    setDrawing('waiting');
    look();
    // One that could not be fetched while the daemon was away.
    const forget = onReturn(look);
    return () => {
      wanted = false;
      forget();
    };
  }, [machine]);
  return drawing;
}

const drawings = new Map<string, Promise<Drawing | undefined>>();

/** Resolves with the drawing of a machine's chart; undefined if it has none, as a pool. */
function drawingOf(machine: string): Promise<Drawing | undefined> {
  const known = drawings.get(machine);
  if (known !== undefined) return known;
  const url = Object.hasOwn(chartUrls, machine) ? chartUrls[machine] : undefined;
  const made = url === undefined ? Promise.resolve(undefined) : load(url);
  drawings.set(machine, made);
  made.catch(() => drawings.delete(machine));
  return made;
}

/** Fetched without a session, like the page's script, since it is the same for every home. */
async function load(url: string): Promise<Drawing> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the chart could not be fetched: ${response.status}`);
  return (await response.json()) as Drawing;
}

interface BoxProps {
  readonly box: DrawnBox;
  readonly active: boolean;
}

const Box = memo(function Box({ box, active }: BoxProps): JSX.Element {
  const { id, name, kind, tags, about, x, y, width, height, isGroup } = box;
  const tone = toneOf(standingOf({ state: id, tags }));
  return (
    <g
      class={`box ${tone}${active ? ' active on' : ''}${isGroup ? ' group' : ''}`}
      transform={`translate(${x} ${y})`}
      data-state={id}
    >
      <title>{`${name}: ${about}`}</title>
      <rect width={width} height={height} rx="6" />
      {kind === 'final' ? <rect class="inner" x="3" y="3" width={width - 6} height={height - 6} rx="4" /> : null}
      <circle cx="13" cy={isGroup ? 17 : height / 2} r="3.5" />
      <text x="22" y={isGroup ? 21 : height / 2 + 4}>
        {name}
      </text>
    </g>
  );
});

interface ArrowProps {
  readonly drawn: DrawnArrow;
  readonly lit: boolean;
  readonly taken: boolean;
  readonly onReport: (arrow: DrawnArrow | undefined) => void;
}

const Arrow = memo(function Arrow({ drawn, lit, taken, onReport }: ArrowProps): JSX.Element {
  const { id, path, words, at } = drawn;
  const look = lit || taken ? ' lit' : '';
  return (
    <g
      class={`arrow${lit ? ' lit' : ''}${taken ? ' taken' : ''}`}
      data-arrow={id}
      onPointerEnter={() => onReport(drawn)}
      // A finger leaves where it is lifted: the words stay until it touches elsewhere.
      onPointerLeave={({ pointerType }) => pointerType === 'touch' || onReport(undefined)}
    >
      <path class="reach" d={path} />
      <path class={`edge${look}`} d={path} marker-end={look === '' ? 'url(#tip)' : 'url(#tip-lit)'} />
      {at === undefined ? null : (
        <text class={`lab${look}`} x={at.x} y={at.y}>
          {words.map((word, line) => (
            <tspan key={word} x={at.x} dy={line === 0 ? 0 : wordLine}>
              {word}
            </tspan>
          ))}
        </text>
      )}
    </g>
  );
});
