/** Each delivery of an event with its attempts, newest first, and the buttons that send it again. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { DeliveryAttempt, OpenedDelivery, OpenedEvent } from '../../../control/contract/event-wire.ts';
import { announce } from '../data/announce.ts';
import { formatReason } from '../data/event-words.ts';
import { formatTook } from '../data/format.ts';
import { follow } from '../data/progress.ts';
import { call, failureWords, wordsOf } from '../data/rpc.ts';
import { Acts } from '../parts/acts.tsx';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { marksOfTone } from './event-timeline.tsx';

interface Row {
  readonly delivery: OpenedDelivery;
  readonly attempt: DeliveryAttempt | undefined;
}

export function EventDeliveries({ event }: { readonly event: OpenedEvent }): JSX.Element | null {
  const [unsure, setUnsure] = useState<OpenedDelivery>();
  const { deliveries } = event;
  if (deliveries.length === 0) return null;
  const rows = deliveries.flatMap((delivery): Row[] =>
    delivery.attempts.length === 0
      ? [{ delivery, attempt: undefined }]
      : delivery.attempts.map((attempt) => ({ delivery, attempt })),
  );
  const failed = deliveries.filter(({ status }) => status === 'deadLettered' || status === 'unknown');

  async function retry({ id, status }: OpenedDelivery): Promise<void> {
    setUnsure(undefined);
    try {
      const answer = await call('deliveries.retry', { ids: [id], ...(status === 'unknown' ? { force: true } : {}) });
      if ('done' in answer) follow(answer);
    } catch (error) {
      announce(failureWords('Not retried', wordsOf(error)), true);
    }
  }

  return (
    <Panel
      title="Deliveries and attempts"
      right={
        <Acts>
          {failed.map((one) => (
            <Button key={one.id} onClick={() => (one.status === 'unknown' ? setUnsure(one) : void retry(one))}>
              {one.status === 'unknown' ? `Retry ${one.place}…` : `Retry ${one.place}`}
            </Button>
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
      {unsure === undefined ? null : (
        <Confirm
          title={`Retry ${inQuotes(unsure.place)}?`}
          yes="Retry delivery"
          danger={false}
          onYes={() => void retry(unsure)}
          onClose={() => setUnsure(undefined)}
        >
          <p>The message may have arrived. Look there first: a retry can post it twice.</p>
        </Confirm>
      )}
    </Panel>
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
