// biome-ignore-all lint/a11y/useFocusableInteractive: the grid around the rows has the focus.
// biome-ignore-all lint/a11y/useSemanticElements: a table's own elements cannot be placed one by one.
// biome-ignore-all lint/a11y/noNoninteractiveElementToInteractiveRole: an id is a cell too.
/** One event as a row of the table; drawn again only when the event has changed. @see INS-4 in docs/specification.md */

import { Component, type JSX } from 'preact';
import type { EventFound } from '../../../control/contract/events.ts';
import { daemonNow } from '../data/clock.ts';
import { lineOfRow, outcomeOfRow, shortIdOf } from '../data/event-words.ts';
import { formatClock, formatFull, formatTook } from '../data/format.ts';
import { Status } from '../parts/chip.tsx';

interface EventRowProps {
  readonly row: EventFound;
  readonly id: string;
  /** The row's number among all matches, from 1. */
  readonly index: number;
  readonly isMarked: boolean;
  /** Whether to show the gateway that received it. */
  readonly withNode: boolean;
  /** The present day: at midnight its times become those of yesterday. */
  readonly day: string;
  readonly onOpen: (row: EventFound) => void;
}

export class EventLine extends Component<EventRowProps> {
  override shouldComponentUpdate(next: EventRowProps): boolean {
    const { row, index, isMarked, withNode, day } = this.props;
    return (
      next.row !== row ||
      next.index !== index ||
      next.isMarked !== isMarked ||
      next.withNode !== withNode ||
      next.day !== day
    );
  }

  override render({ row, id, index, isMarked, withNode, onOpen }: EventRowProps): JSX.Element {
    const { mark, words, calm } = outcomeOfRow(row);
    const line = lineOfRow(row);
    const tries = row.attempts > 1 ? `×${row.attempts}` : '';
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the grid around it takes the keys.
      <div
        id={id}
        class={`ev${isMarked ? ' at' : ''}`}
        role="row"
        aria-rowindex={index}
        aria-selected={isMarked}
        onClick={() => onOpen(row)}
      >
        <span role="gridcell" class="cell">
          <Status mark={mark} calm={calm}>
            {words}
          </Status>
        </span>
        <span role="gridcell" class="what cut">
          <b>
            {row.route}
            {row.profile === 'default' ? '' : ` · ${row.profile}`}
          </b>{' '}
          <span>{row.event}</span>
        </span>
        <span role="gridcell" class={`said cut${calm || quiet.test(mark) ? '' : ' loud'}`} title={line}>
          {line}
        </span>
        {withNode ? (
          <span role="gridcell" class="x muted cut" title={row.node}>
            {row.node}
          </span>
        ) : null}
        <code role="gridcell" class="x muted cut" title={row.delivery_id}>
          {shortIdOf(row.delivery_id)}
        </code>
        <span role="gridcell" class="x right num">
          {tries}
        </span>
        <span role="gridcell" class="took right num muted">
          {row.took_ms === undefined ? '' : formatTook(row.took_ms)}
        </span>
        <span role="gridcell" class="at2 right num muted" title={formatFull(row.received_at)}>
          {formatClock(row.received_at, daemonNow())}
        </span>
      </div>
    );
  }
}

/** Outcomes under way, which need no attention. */
const quiet = /^(working|batching|queued)$/;

export function HeadRow({ withNode }: Pick<EventRowProps, 'withNode'>): JSX.Element {
  return (
    <div class="ev headrow" aria-hidden="true">
      <span>Outcome</span>
      <span>Route and event</span>
      <span>Result or reason</span>
      {withNode ? <span class="x">Node</span> : null}
      <span class="x">Id</span>
      <span class="x right">Tries</span>
      <span class="right">Took</span>
      <span class="right">Received</span>
    </div>
  );
}
