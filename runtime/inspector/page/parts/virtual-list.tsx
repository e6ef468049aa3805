/**
 * Draws only the visible lines of a long list. All lines have one height and are keyed by id. The chosen line moves with
 * the arrow keys and is announced to screen readers by `aria-activedescendant`, so that the list is one tab stop and keeps
 * the focus when lines are removed.
 * @see INS-2 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../data/format.ts';
import { heldRows } from '../data/held.ts';
import { Icon } from './icons.tsx';

interface VirtualListProps {
  readonly count: number;
  readonly rowHeight: number;
  /** The line that the keys have chosen; -1 for none. */
  readonly at: number;
  readonly label: string;
  /** A grid's lines are drawn with `role="row"`, `aria-rowindex` from 1, and cells with `role="gridcell"`. */
  readonly role: 'tree' | 'listbox' | 'grid';
  /** The DOM id of a line. */
  readonly idOf: (index: number) => string;
  readonly draw: (index: number) => ComponentChildren;
  readonly onMove: (index: number) => void;
  /** Called for keys that do not move the choice. */
  readonly onKey?: (event: KeyboardEvent) => void;
  /** Called with whether a person is reading the list: it is scrolled, focused or under the pointer. */
  readonly onReading?: (isRead: boolean) => void;
  /** Replaces the move to the first line by Home. */
  readonly onHome?: () => void;
  /** Called when the last lines become visible. */
  readonly onEnd?: () => void;
}

/** Lines beyond each edge that are drawn too. */
const overscan = 10;

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, at, role, label, idOf, draw, onMove, onKey, onReading, onHome, onEnd } = props;
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
  const chosen = at < 0 ? '' : idOf(at);
  const placed = useRef({ chosen, at, rowHeight });
  useLayoutEffect(() => {
    const held = box.current;
    const { current: before } = placed;
    placed.current = { chosen, at, rowHeight };
    if (held === null || at < 0) return;
    const hasMoved = before.chosen === chosen && before.rowHeight === rowHeight && before.at !== at;
    const wasAt = before.at * rowHeight - held.scrollTop;
    // Other lines came or went above it: a list that a person has scrolled elsewhere stays there.
    if (hasMoved && (wasAt <= -rowHeight || wasAt >= held.clientHeight)) return;
    const top = at * rowHeight;
    if (top < held.scrollTop) held.scrollTop = top;
    else if (top + rowHeight > held.scrollTop + held.clientHeight) held.scrollTop = top + rowHeight - held.clientHeight;
  }, [chosen, at, rowHeight]);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const end = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  const isAtEnd = count > 0 && end >= count;
  useLayoutEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, count]);
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
    if (event.key === 'Home' && onHome !== undefined) {
      event.preventDefault();
      onHome();
      return;
    }
    const next = moves[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      // It would also press the button that gets the focus: of a phone, the one that closes what was opened.
      if (event.key === 'Enter') event.preventDefault();
      onKey?.(event);
      return;
    }
    event.preventDefault();
    if (count > 0) onMove(next);
  }

  function reportReading(): void {
    const held = box.current;
    if (held === null || onReading === undefined) return;
    onReading(held.scrollTop > 0 || held.matches(':hover') || held === document.activeElement);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useAriaPropsSupportedByRole: its role is a tree, a grid or a list of choices.
    <div
      ref={box}
      class="virtual"
      role={role}
      aria-label={label}
      {...(role === 'grid' ? { 'aria-rowcount': count } : {})}
      tabIndex={0}
      aria-activedescendant={at >= first && at < end ? idOf(at) : undefined}
      onScroll={() => {
        measure();
        reportReading();
      }}
      onPointerEnter={reportReading}
      onPointerLeave={reportReading}
      onFocus={reportReading}
      onBlur={reportReading}
      onKeyDown={onKeyDown}
    >
      <div class="tall" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        {lines}
      </div>
    </div>
  );
}

interface News<Row> {
  readonly rows: readonly Row[];
  readonly waiting: number;
  /** Whether that is the least number. */
  readonly isLeast: boolean;
  /** For the list's `onReading`. */
  readonly onReading: (isRead: boolean) => void;
  /** Adds the waiting rows at the top; the caller scrolls to it. */
  readonly take: () => void;
}

/**
 * Keeps the rows of a list in place while a person reads them: new ones are only counted until they are taken. A new key
 * (another filter) starts a new list.
 */
export function useNews<Row>(key: string, rows: readonly Row[], keyOf: (row: Row) => string): News<Row> {
  const [isRead, setRead] = useState(false);
  const stood = useRef<{ key: string; rows: readonly Row[] }>({ key, rows: [] });
  const holds = isRead && stood.current.key === key && stood.current.rows.length > 0;
  const { shown, ...news } = holds
    ? heldRows(stood.current.rows, rows, keyOf)
    : { shown: rows, waiting: 0, isLeast: false };
  stood.current = { key, rows: shown };
  return {
    rows: shown,
    ...news,
    onReading: setRead,
    take() {
      stood.current = { key, rows };
      setRead(false);
    },
  };
}

interface FreshChipProps {
  readonly waiting: number;
  readonly isLeast: boolean;
  /** In the singular: "event". */
  readonly noun: string;
  readonly onTake: () => void;
}

/** "37 new events", "100+ new events" or "1 new event", above the rows; announced to screen readers at most every ten seconds. */
export function FreshChip({ waiting, isLeast, noun, onTake }: FreshChipProps): JSX.Element {
  const announced = useAnnounced(waiting);
  const wordsOf = (count: number): string =>
    isLeast ? `${count.toLocaleString('en')}+ new ${noun}s` : counted(count, `new ${noun}`);
  return (
    <>
      {waiting === 0 ? null : (
        <button type="button" class="fresh" onClick={onTake}>
          <Icon name="upwards" small />
          {wordsOf(waiting)}
        </button>
      )}
      <span class="unseen" role="status">
        {announced === 0 ? '' : wordsOf(announced)}
      </span>
    </>
  );
}

const announceMs = 10_000;

function useAnnounced(waiting: number): number {
  const [announced, setAnnounced] = useState({ count: 0, at: 0 });
  useLayoutEffect(() => {
    if (waiting === announced.count) return;
    const rest = waiting === 0 ? 0 : Math.max(0, announced.at + announceMs - performance.now());
    const timer = setTimeout(() => setAnnounced({ count: waiting, at: performance.now() }), rest);
    return () => clearTimeout(timer);
  }, [waiting, announced]);
  return announced.count;
}
