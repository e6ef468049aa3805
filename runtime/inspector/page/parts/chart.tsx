/**
 * Draws a machine's chart with one actor in it: where it stands, the way it came, each transition as it is taken. The
 * drawing is the machine's, laid out once; only classes change while the actor moves.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { activeStates, arrowId, spellTransition, wordLine } from '../data/chart-graph.ts';
import { spellWord } from '../data/format.ts';
import { type Drawing, type DrawnArrow, type DrawnBox, drawingOf } from '../data/layout.ts';
import { vitals } from '../data/live.ts';
import type { Played } from '../data/player.ts';
import { standingOf } from '../data/standing.ts';
import { Scrolled } from './basics.tsx';

const closest = 1.6;
const farthest = 0.3;
const zoomStep = 1.2;
/** Smaller than this the words of a drawing cannot be read, so that it is scrolled instead. */
const smallestRead = 0.86;
const largestFit = 1.1;

export function StateChart({
  machine,
  state,
  played,
  trail,
}: {
  readonly machine: string;
  readonly state: string;
  readonly played: Played;
  /** Arrows that the actor has gone along. */
  readonly trail: ReadonlySet<string>;
}): JSX.Element {
  const drawing = useDrawing(machine);
  const frame = useRef<HTMLDivElement>(null);
  const [zoom, setZoom] = useState<number | undefined>(undefined);
  const [fitted, setFitted] = useState(1);
  const shown = played.state ?? state;
  const active = useMemo(() => activeStates(shown), [shown]);

  const width = typeof drawing === 'object' ? drawing.width : 0;
  useLayoutEffect(() => {
    const held = frame.current;
    if (held === null || width === 0) return;
    const fit = (): void => setFitted(Math.max(farthest, Math.min(largestFit, (held.clientWidth - 2) / width)));
    fit();
    const observer = new ResizeObserver(fit);
    observer.observe(held);
    return () => observer.disconnect();
  }, [width]);
  const scale = zoom ?? Math.max(smallestRead, fitted);

  // The active state stays in sight.
  useEffect(() => {
    const held = frame.current;
    const box = held?.querySelector('.box.active:not(.group)');
    if (held === null || box === null || box === undefined) return;
    const place = box.getBoundingClientRect();
    const view = held.getBoundingClientRect();
    const margin = 24;
    if (place.top < view.top + margin || place.bottom > view.bottom - margin) {
      held.scrollTop += place.top - view.top - view.height / 2;
    }
    if (place.left < view.left + margin || place.right > view.right - margin) {
      held.scrollLeft += place.left - view.left - view.width / 2;
    }
  }, [shown, drawing, scale]);

  if (drawing === 'waiting') return <p class="awaited">Laying the chart out…</p>;
  if (drawing === 'none') return <p class="awaited">This actor has no chart of its own.</p>;
  if (drawing === 'failed') return <p class="awaited">The chart could not be drawn.</p>;
  const change = (factor: number): void => setZoom(Math.min(closest, Math.max(farthest, scale * factor)));
  const { anywhere } = drawing.graph;
  return (
    <>
      <div class="chart">
        <Scrolled class="frame" frame={frame} label={`Statechart of ${machine}, now ${shown}`}>
          <svg
            width={drawing.width * scale}
            height={drawing.height * scale}
            viewBox={`0 0 ${drawing.width} ${drawing.height}`}
            role="img"
            aria-label={`${drawing.boxes.length} states; active: ${shown}`}
          >
            <defs>
              <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 .8 7.2 4 0 7.2z" class="tip" />
              </marker>
              <marker id="tip-lit" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                <path d="M0 .8 7.2 4 0 7.2z" class="tip lit" />
              </marker>
            </defs>
            {drawing.boxes.map((box) => (
              <Box
                key={box.id}
                box={box}
                active={active.has(box.id)}
                pulse={played.step?.to === box.id && played.state !== undefined ? played.count : 0}
              />
            ))}
            {drawing.starts.map((start) => (
              <g key={start.path} class="start">
                <circle cx={start.x} cy={start.y} r="4" />
                <path d={start.path} marker-end="url(#tip)" />
              </g>
            ))}
            {drawing.arrows.map((arrow) => (
              <Arrow
                key={arrow.arrow.id}
                drawn={arrow}
                lit={trail.has(arrow.arrow.id)}
                taken={
                  played.step !== undefined && arrowId(played.step.from, played.step.to) === arrow.arrow.id
                    ? played.count
                    : 0
                }
              />
            ))}
          </svg>
        </Scrolled>
        <div class="zoom">
          <button type="button" class="quiet small" onClick={() => change(1 / zoomStep)} aria-label="Smaller chart">
            −
          </button>
          <button type="button" class="quiet small" onClick={() => setZoom(scale === fitted ? undefined : fitted)}>
            Fit
          </button>
          <button type="button" class="quiet small" onClick={() => change(zoomStep)} aria-label="Larger chart">
            +
          </button>
        </div>
      </div>
      {anywhere.length === 0 ? null : (
        <p class="anywhere">
          In every state:{' '}
          {anywhere.map((transition, at) => (
            <span key={transition.id}>
              {at === 0 ? '' : ', '}
              <code>{spellTransition(transition)}</code> leads to <code>{transition.to}</code>
            </span>
          ))}
        </p>
      )}
    </>
  );
}

function useDrawing(machine: string): Drawing | 'waiting' | 'none' | 'failed' {
  const [drawing, setDrawing] = useState<Drawing | 'waiting' | 'none' | 'failed'>('waiting');
  useEffect(() => {
    let wanted = true;
    setDrawing('waiting');
    drawingOf(machine, vitals.get()?.version ?? '').then(
      (found) => wanted && setDrawing(found ?? 'none'),
      () => wanted && setDrawing('failed'),
    );
    return () => {
      wanted = false;
    };
  }, [machine]);
  return drawing;
}

interface BoxProps {
  readonly box: DrawnBox;
  readonly active: boolean;
  readonly pulse: number;
}

const Box = memo(function Box({ box, active, pulse }: BoxProps): JSX.Element {
  const { x, y, width, height, state, isGroup } = box;
  const standing = standingOf({ state: state.id, tags: state.tags });
  const classes = ['box', standing, state.kind, active ? 'active' : '', isGroup ? 'group' : ''].join(' ');
  return (
    <g class={classes} transform={`translate(${x} ${y})`} data-state={state.id}>
      <title>{`${spellWord(state.name)}: ${state.description}${state.rule === '' ? '' : ` (${state.rule})`}`}</title>
      {pulse > 0 ? (
        <rect key={pulse} class="pulse" x="-4" y="-4" width={width + 8} height={height + 8} rx="11" />
      ) : null}
      <rect class="body" width={width} height={height} rx="8" />
      {state.kind === 'final' ? <rect class="inner" x="3" y="3" width={width - 6} height={height - 6} rx="6" /> : null}
      <circle class="dot" cx="14" cy={isGroup ? 17 : height / 2} r="3.5" />
      <text x="24" y={isGroup ? 21 : height / 2 + 4}>
        {state.name}
      </text>
    </g>
  );
});

interface ArrowProps {
  readonly drawn: DrawnArrow;
  readonly lit: boolean;
  /** Which step took it; 0 while none does. */
  readonly taken: number;
}

const Arrow = memo(function Arrow({ drawn: { arrow, path, words }, lit, taken }: ArrowProps): JSX.Element {
  return (
    <g class={`arrow${lit ? ' lit' : ''}${taken > 0 ? ' taken' : ''}`} data-arrow={arrow.id}>
      <title>{`${arrow.from} → ${arrow.to}\n${arrow.transitions.map((one) => spellTransition(one) || 'always').join('\n')}`}</title>
      <path d={path} marker-end={lit ? 'url(#tip-lit)' : 'url(#tip)'} />
      {taken > 0 ? <path key={taken} class="run" d={path} pathLength={1} /> : null}
      {words === undefined ? null : (
        <text x={words.x} y={words.y}>
          {arrow.words.map((word, at) => (
            <tspan key={word} x={words.x} dy={at === 0 ? 0 : wordLine}>
              {word}
            </tspan>
          ))}
        </text>
      )}
    </g>
  );
});
