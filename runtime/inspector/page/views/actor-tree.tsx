/** The tree of actors, which is folded and unfolded. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LivingRow } from '../../../control/contract/wire.ts';
import { counted } from '../data/format.ts';
import { wordsOfActor } from '../data/standing.ts';
import { isPool, type TreeLine } from '../data/tree.ts';
import { useMedia } from '../data/use-media.ts';
import { withCode } from '../parts/basics.tsx';
import { Mark, toneOf } from '../parts/chip.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { stateWords } from './actor.tsx';

const rowHeight = 28;

interface Folded {
  /** Lines that a person has folded or unfolded. */
  readonly folded: ReadonlyMap<string, boolean>;
  readonly fold: (line: TreeLine, close: boolean) => void;
}

export function useFolded(): Folded {
  const [folded, setFolded] = useState<ReadonlyMap<string, boolean>>(new Map());
  return { folded, fold: (line, close) => setFolded((old) => new Map(old).set(line.row.id, close)) };
}

export function ActorTree({
  label,
  lines,
  chosen,
  more,
  open,
  fold,
}: Pick<Folded, 'fold'> & {
  readonly label: string;
  readonly lines: readonly TreeLine[];
  readonly chosen: string;
  /** Children of each pool that are not among the lines. */
  readonly more: Readonly<Record<string, number>>;
  readonly open: (id: string) => void;
}): JSX.Element {
  // Where the opened actor replaces the tree, a move only marks a line: it would end at the first one.
  const isAlone = useMedia('(max-width: 1100px)') && chosen === '';
  const [marked, mark] = useState(chosen);
  useEffect(() => {
    if (chosen !== '') mark(chosen);
  }, [chosen]);
  const move = isAlone ? mark : open;
  const at = lines.findIndex(({ row }) => row.id === (isAlone ? marked : chosen));
  return (
    <VirtualList
      count={lines.length}
      rowHeight={rowHeight}
      at={at}
      role="tree"
      label={label}
      idOf={(index) => `actor-${lines[index]?.row.id ?? index}`}
      onMove={(index) => move(lines[index]?.row.id ?? '')}
      onKey={keysOfTree(lines[at], { fold, move, open })}
      draw={(index) => {
        const line = lines[index];
        return line === undefined ? null : (
          <ActorItem
            line={line}
            chosen={index === at}
            more={more[line.row.id] ?? 0}
            onChoose={() => open(line.row.id)}
            onFold={() => fold(line, line.open)}
          />
        );
      }}
    />
  );
}

interface ActorItemProps {
  readonly line: TreeLine;
  readonly chosen: boolean;
  readonly more: number;
  readonly onChoose: () => void;
  readonly onFold: () => void;
}

function ActorItem({ line, chosen, more, onChoose, onFold }: ActorItemProps): JSX.Element {
  const { row, depth, name, children, open, dimmed, position, siblings } = line;
  const { standing } = wordsOfActor(row);
  const waiting = row.meta?.size ?? row.meta?.waiting ?? 0;
  const about = row.why ?? aboutOf(row, name);
  // A pool is only a container; its children are of interest.
  const isContainer = isPool(row);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it takes the keys.
    <div
      id={`actor-${row.id}`}
      class={`it ${isContainer ? '' : toneOf(standing)}${chosen ? ' at' : ''}${dimmed ? ' dimmed' : ''}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={chosen}
      {...(children > 0 ? { 'aria-expanded': open } : {})}
      onClick={onChoose}
    >
      <span class="ind" style={{ width: `${depth * 16}px` }} />
      <span
        class="slot"
        aria-hidden="true"
        onClick={(event) => {
          if (children === 0) return;
          event.stopPropagation();
          onFold();
        }}
      >
        {children > 0 ? <i class={`caret${open ? ' open' : ''}`} /> : null}
      </span>
      {isContainer ? null : <Mark standing={standing} />}
      <span class={isContainer ? 'pool cut' : 'name cut'} title={name}>
        {name}
      </span>
      {waiting > 0 ? (
        <span class="count plain" title={isContainer ? undefined : counted(waiting, 'waits', 'wait')}>
          {waiting.toLocaleString('en')}
          <span class="unseen"> {row.meta?.size === undefined ? 'waiting' : waiting === 1 ? 'child' : 'children'}</span>
        </span>
      ) : null}
      {more > 0 ? <span class="muted small">and {more.toLocaleString('en')} more</span> : null}
      <span class="muted small cut about" title={about}>
        {withCode(about)}
      </span>
      <span class="st">{isContainer ? '' : stateWords(row)}</span>
    </div>
  );
}

/** The keys of the tree: → unfolds the chosen line; ← folds it, or goes to its parent; Enter opens it. */
function keysOfTree(
  line: TreeLine | undefined,
  {
    fold,
    move,
    open,
  }: {
    readonly fold: (line: TreeLine, close: boolean) => void;
    readonly move: (id: string) => void;
    readonly open: (id: string) => void;
  },
): (event: KeyboardEvent) => void {
  return (event) => {
    if (line === undefined) return;
    if (event.key === 'ArrowRight' && line.children > 0) fold(line, false);
    else if (event.key === 'ArrowLeft' && line.open) fold(line, true);
    else if (event.key === 'ArrowLeft' && line.row.parent !== null) move(line.row.parent);
    else if (event.key === 'Enter') open(line.row.id);
    else return;
    event.preventDefault();
  };
}

/** Returns what an actor works on; empty if its name already contains it. */
function aboutOf({ meta = {} }: LivingRow, name: string): string {
  const { tool, server, route, event, target, delivery } = meta;
  const [first, second] = tool !== undefined ? [tool, undefined] : [target ?? route ?? server, delivery ?? event];
  return first === undefined || name.includes(first) ? '' : [first, second].filter(Boolean).join(' · ');
}
