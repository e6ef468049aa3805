/**
 * Draws only the lines that are in sight, however many there are. The chosen line moves with the arrow keys and is told to
 * a reader of screens by `aria-activedescendant`.
 * @see INS-2 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  /** The line that the keys stand on; -1 for none. */
  readonly at: number;
  readonly label: string;
  readonly role: 'tree' | 'listbox';
  /** The DOM id of a line. */
  readonly idOf: (index: number) => string;
  readonly draw: (index: number) => ComponentChildren;
  readonly onMove: (index: number) => void;
  /** Keys other than those that move. */
  readonly onKey?: (event: KeyboardEvent) => void;
}

/** Lines beyond the edges that are drawn all the same. */
const spare = 8;

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, at, role, label, idOf, draw, onMove, onKey } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });

  const measure = useCallback(() => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    setView((old) =>
      old.top === scrollTop && old.height === clientHeight ? old : { top: scrollTop, height: clientHeight },
    );
  }, []);
  useLayoutEffect(() => {
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current !== null) observer.observe(box.current);
    return () => observer.disconnect();
  }, [measure]);
  useLayoutEffect(() => {
    const held = box.current;
    if (held === null || at < 0) return;
    const top = at * rowHeight;
    if (top < held.scrollTop) held.scrollTop = top;
    else if (top + rowHeight > held.scrollTop + held.clientHeight) held.scrollTop = top + rowHeight - held.clientHeight;
  }, [at, rowHeight]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - spare);
  const end = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + spare);
  const lines: JSX.Element[] = [];
  for (let index = first; index < end; index += 1) {
    lines.push(
      <div
        key={idOf(index)}
        class="line"
        role="presentation"
        style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
      >
        {draw(index)}
      </div>,
    );
  }

  function onKeyDown(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: Math.min(count - 1, at + 1),
      ArrowUp: Math.max(0, at - 1),
      PageDown: Math.min(count - 1, at + page),
      PageUp: Math.max(0, at - page),
      Home: 0,
      End: count - 1,
    };
    const next = moves[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      onKey?.(event);
      return;
    }
    event.preventDefault();
    if (count > 0) onMove(next);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useAriaPropsSupportedByRole: its role is a tree or a list of choices.
    <div
      ref={box}
      class="virtual"
      role={role}
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={at >= first && at < end ? idOf(at) : undefined}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div class="tall" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        {lines}
      </div>
    </div>
  );
}
