/** One line of the tree of actors. */

import type { JSX } from 'preact';
import type { LivingRow } from '../../wire.ts';
import { counted } from '../data/format.ts';
import { wordsOfActor } from '../data/standing.ts';
import type { TreeLine } from '../data/tree.ts';
import { isWard } from '../data/tree.ts';
import { Mark, toneOf } from '../parts/chip.tsx';
import { stateWords } from './actor.tsx';

export interface ActorItemProps {
  readonly line: TreeLine;
  readonly chosen: boolean;
  /** Children that are not among the rows. */
  readonly more: number;
  readonly onChoose: () => void;
  readonly onFold: () => void;
}

export function ActorItem({ line, chosen, more, onChoose, onFold }: ActorItemProps): JSX.Element {
  const { row, depth, name, children, open, dimmed, position, siblings } = line;
  const { standing } = wordsOfActor(row);
  const waiting = row.meta?.size ?? row.meta?.waiting ?? 0;
  const about = row.why ?? aboutOf(row, name);
  // A pool is only a container; its children are of interest.
  const isPool = isWard(row);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it takes the keys.
    <div
      id={`actor-${row.id}`}
      class={`it ${isPool ? '' : toneOf(standing)}${chosen ? ' at' : ''}${dimmed ? ' dimmed' : ''}`}
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
      {isPool ? null : <Mark standing={standing} />}
      <span class={isPool ? 'pool cut' : 'name cut'} title={name}>
        {name}
      </span>
      {waiting > 0 ? (
        <span class="count plain" title={isPool ? undefined : counted(waiting, 'waits', 'wait')}>
          {waiting.toLocaleString('en')}
          <span class="unseen"> {row.meta?.size === undefined ? 'waiting' : waiting === 1 ? 'child' : 'children'}</span>
        </span>
      ) : null}
      {more > 0 ? <span class="muted small">and {more.toLocaleString('en')} more</span> : null}
      <span class="muted small cut about" title={about}>
        {about}
      </span>
      <span class="st">{isPool ? '' : stateWords(row)}</span>
    </div>
  );
}

/** The keys of the tree: → unfolds the chosen line; ← folds it, or goes to its parent. */
export function keysOfTree(
  line: TreeLine | undefined,
  { fold, open }: { readonly fold: (line: TreeLine, close: boolean) => void; readonly open: (id: string) => void },
): (event: KeyboardEvent) => void {
  return (event) => {
    if (line === undefined) return;
    if (event.key === 'ArrowRight' && line.children > 0) fold(line, false);
    else if (event.key === 'ArrowLeft' && line.open) fold(line, true);
    else if (event.key === 'ArrowLeft' && line.row.parent !== null) open(line.row.parent);
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
