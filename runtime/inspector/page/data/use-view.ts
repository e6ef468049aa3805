/** The view of a drawing: fitted at first, then as a person pans and zooms. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export const zoomStep = 1.25;
const farthest = 0.2;
const closest = 2;
const panStep = 40;
/** The largest share of the window for a drawing. */
const maxOfWindow = 0.52;
const leastHeight = 240;

interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

interface Viewing {
  readonly frame: { current: HTMLDivElement | null };
  readonly view: View;
  readonly height: number;
  readonly isFitted: boolean;
  zoom(factor: number): void;
  fit(): void;
  /** Shows the drawing at its own size. */
  whole(): void;
  grabbed(event: PointerEvent): void;
  onKeyDown(event: KeyboardEvent): void;
}

export function useView(drawing: { readonly width: number; readonly height: number }): Viewing {
  const frame = useRef<HTMLDivElement | null>(null);
  const [room, setRoom] = useState({ width: 0, height: leastHeight });
  const [moved, setMoved] = useState<View | undefined>(undefined);
  useLayoutEffect(() => {
    const held = frame.current;
    if (held === null) return;
    const measure = (): void =>
      setRoom({ width: held.clientWidth, height: Math.max(leastHeight, Math.round(innerHeight * maxOfWindow)) });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(held);
    return () => observer.disconnect();
  }, []);
  useEffect(() => setMoved(undefined), [drawing]);

  const fitted = Math.min(1, room.width / drawing.width, room.height / drawing.height);
  const height = Math.min(room.height, Math.ceil(drawing.height * Math.min(1, room.width / drawing.width)));
  const view = moved ?? {
    scale: fitted,
    x: (room.width - drawing.width * fitted) / 2,
    y: Math.max(0, (height - drawing.height * fitted) / 2),
  };
  const now = useRef(view);
  now.current = view;

  function zoomAt(factor: number, x: number, y: number): void {
    const old = now.current;
    const scale = Math.min(closest, Math.max(farthest, old.scale * factor));
    const change = scale / old.scale;
    setMoved({ scale, x: x - (x - old.x) * change, y: y - (y - old.y) * change });
  }

  // Explicitly not passive, because it keeps the page from zooming.
  useEffect(() => {
    const held = frame.current;
    if (held === null) return;
    const onWheel = (event: WheelEvent): void => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = held.getBoundingClientRect();
      zoomAt(event.deltaY < 0 ? zoomStep : 1 / zoomStep, event.clientX - box.left, event.clientY - box.top);
    };
    held.addEventListener('wheel', onWheel, { passive: false });
    return () => held.removeEventListener('wheel', onWheel);
  }, []);

  return {
    frame,
    view,
    height,
    isFitted: moved === undefined,
    zoom: (factor) => zoomAt(factor, room.width / 2, height / 2),
    fit: () => setMoved(undefined),
    whole: () => zoomAt(1 / now.current.scale, room.width / 2, height / 2),
    grabbed(event) {
      const held = frame.current;
      if (held === null || event.button !== 0) return;
      const from = { ...now.current, left: event.clientX, top: event.clientY };
      const drag = new AbortController();
      const { signal } = drag;
      const onMove = ({ clientX, clientY }: PointerEvent): void =>
        setMoved({ scale: from.scale, x: from.x + clientX - from.left, y: from.y + clientY - from.top });
      addEventListener('pointermove', onMove, { signal });
      addEventListener('pointerup', () => drag.abort(), { signal });
      // Fingers that scroll or enlarge the page cancel; the drawing is where it was.
      const cancelled = (): void => {
        setMoved(moved);
        drag.abort();
      };
      addEventListener('pointercancel', cancelled, { signal });
    },
    onKeyDown(event) {
      const steps: Readonly<Record<string, readonly [number, number]>> = {
        ArrowLeft: [panStep, 0],
        ArrowRight: [-panStep, 0],
        ArrowUp: [0, panStep],
        ArrowDown: [0, -panStep],
      };
      const step = steps[event.key];
      if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const { x, y, scale } = now.current;
      setMoved({ scale, x: x + step[0], y: y + step[1] });
    },
  };
}
