/** Each delivery of an event with its attempts, newest first, and the buttons that send, drop or resolve it. */

import type { JSX } from 'preact';
import type { DeliveryAttempt, OpenedDelivery, OpenedEvent } from '../../../control/contract/event-wire.ts';
import { formatReason } from '../data/event-words.ts';
import { formatTook } from '../data/format.ts';
import { Acts } from '../parts/acts.tsx';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { marksOfTone } from './event-timeline.tsx';
import { FailureActions } from './failures-actions.tsx';

interface Row {
  readonly delivery: OpenedDelivery;
  readonly attempt: DeliveryAttempt | undefined;
}

interface EventDeliveriesProps {
  readonly event: OpenedEvent;
  readonly onChanged: () => void;
}

export function EventDeliveries({ event, onChanged }: EventDeliveriesProps): JSX.Element | null {
  const { deliveries } = event;
  if (deliveries.length === 0) return null;
  const rows = deliveries.flatMap((delivery): Row[] =>
    delivery.attempts.length === 0
      ? [{ delivery, attempt: undefined }]
      : delivery.attempts.map((attempt) => ({ delivery, attempt })),
  );
  return (
    <Panel
      title="Deliveries and attempts"
      right={
        <Acts>
          {deliveries.map((one) => (
            <DeliveryActions key={one.id} delivery={one} onChanged={onChanged} />
          ))}
        </Acts>
      }
    >
      <Table
        label="Attempts, newest first"
        columns={columns}
        rows={rows}
        keyOf={({ delivery, attempt }) => `${delivery.id} ${attempt?.number ?? ''}`}
      />
    </Panel>
  );
}

/** Ended without arriving, or waits for more than its turn. */
function isOpen({ status, reason }: OpenedDelivery): boolean {
  return /^(?:deadLettered|unknown|waitingToRetry)$/.test(status) || (status === 'queued' && reason !== undefined);
}

interface DeliveryActionsProps {
  readonly delivery: OpenedDelivery;
  readonly onChanged: () => void;
}

/** Without buttons while it is none of these, so that an open question outlasts an attempt. */
function DeliveryActions({ delivery, onChanged }: DeliveryActionsProps): JSX.Element {
  const { id, place, status } = delivery;
  const isUnsure = status === 'unknown';
  return (
    <FailureActions
      subject={{ kind: 'rows', ids: [id], place, isUnsure }}
      onDone={onChanged}
      draw={({ retry, drop, resolve }) =>
        !isOpen(delivery) ? null : (
          <>
            <Button onClick={isUnsure ? resolve : retry}>{isUnsure ? `Resolve ${place}…` : `Retry ${place}`}</Button>
            {isUnsure ? null : (
              <Button class="risky" onClick={drop}>
                Drop…<span class="unseen"> {place}</span>
              </Button>
            )}
          </>
        )
      }
    />
  );
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Target',
    width: '34%',
    cell: ({ delivery, attempt }) => {
      const [mark, tone] = marksOfTone[attempt?.tone ?? delivery.tone];
      const several = delivery.attempts.length > 1 ? `, attempt ${attempt?.number ?? 1}` : '';
      return (
        <Status mark={mark} calm={tone === 'resting' || tone === 'ended'}>
          {`${delivery.notice ? 'Failure notice: ' : ''}${delivery.place}${several}`}
        </Status>
      );
    },
  },
  {
    title: 'Time',
    wide: true,
    width: '96px',
    cell: ({ attempt }) =>
      attempt === undefined ? (
        ''
      ) : (
        <span class="num muted">
          <Clock at={attempt.at} />
        </span>
      ),
  },
  {
    title: 'Answer',
    cell: ({ delivery, attempt }) => (
      <span
        class={attempt?.tone === 'failed' || attempt?.tone === 'unconfirmed' ? '' : 'muted'}
        title={attempt?.answer ?? ''}
      >
        {attempt === undefined ? waitingWords(delivery) : formatReason(attempt.answer, delivery.place)}
        {attempt === delivery.attempts[0] && delivery.note !== undefined ? `; ${delivery.note}` : ''}
      </span>
    ),
  },
  {
    title: 'Took',
    right: true,
    width: '88px',
    cell: ({ attempt }) => <span class="muted">{attempt?.ms === undefined ? '' : formatTook(attempt.ms)}</span>,
  },
];

function waitingWords({ status, reason, note, place }: OpenedDelivery): string {
  if (status === 'dropped') return `Dropped${note === undefined ? '' : `: ${note}`}`;
  return reason === undefined ? 'Waits for its turn' : formatReason(reason, place);
}
