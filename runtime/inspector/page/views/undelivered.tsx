/** The texts that have not arrived, of one target or of all: retry, drop. Nothing is given up without a question. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { OutgoingRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useNow } from '../data/clock.ts';
import { spellCountdown, spellWord } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { sendTwice, settledText, standingOfStatus } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Clock } from '../parts/basics.tsx';
import { markOf, Status } from '../parts/chip.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Answer, Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

const changing = /^(delivery|platformConnection)$/;
/** What has not arrived and was not given up; each is asked for by name, however much arrived since. */
const notThere = ['queued', 'sending', 'waitingToRetry', 'failed', 'deadLettered', 'unknown'];
const mostRows = 200;

type Question = { readonly row: OutgoingRow; readonly what: 'retry' | 'drop' };

export function Undelivered({ target }: { readonly target: string }): JSX.Element {
  const [question, setQuestion] = useState<Question | undefined>(undefined);
  const [busy, setBusy] = useState('');
  const now = useNow();
  const { asked, again } = useAsked('outgoing', async () => {
    const found = await Promise.all(notThere.map((status) => call('deliveries.list', { status, limit: mostRows })));
    return found.flat().sort((one, other) => Date.parse(other.queued_at) - Date.parse(one.queued_at));
  });
  useFresh(changing, again);

  async function tell({ row, what }: Question): Promise<void> {
    setBusy(row.id);
    try {
      const force = what === 'retry' && row.status === 'unknown' ? { force: true } : {};
      const answer = await call(`deliveries.${what}`, { id: row.id, ...force });
      const until = 'paused_until' in answer ? answer.paused_until : undefined;
      if (what === 'drop') announce('Delivery dropped.');
      else if (until === undefined) announce('The text is on its way again.');
      else announce(`The platform asks for a pause for ${spellCountdown(Date.parse(until) - Date.now())}.`);
      again();
    } catch (error) {
      announce(wordsOf(error).why, true);
    } finally {
      setBusy('');
      setQuestion(undefined);
    }
  }

  return (
    <Panel title="Not delivered">
      <Answer asked={asked} again={again} what="The deliveries">
        {(all) => {
          const rows = target === '' ? all : all.filter((row) => row.target.split(':')[0] === target);
          return rows.length === 0 ? (
            <p class="pad muted">Everything that was to be delivered has arrived.</p>
          ) : (
            <Table
              label="Deliveries that have not arrived"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Event',
                  width: '22%',
                  cell: (row) => (
                    <a href={hashOf('events', row.delivery_id)}>
                      {row.route} <span class="muted">{row.event}</span>
                    </a>
                  ),
                },
                { title: 'Target', wide: true, width: '12%', cell: ({ target: to }) => to },
                {
                  title: 'Status',
                  width: '24%',
                  cell: ({ status }) => (
                    <Status mark={markOf(standingOfStatus(status))}>
                      {status === 'unknown' ? 'unconfirmed' : spellWord(status)}
                    </Status>
                  ),
                },
                { title: 'Reason', wide: true, cell: (row) => <span title={row.reason}>{reasonOf(row, now)}</span> },
                {
                  title: 'Queued',
                  right: true,
                  wide: true,
                  width: '124px',
                  cell: (row) => <Clock at={row.queued_at} />,
                },
                {
                  title: 'Actions',
                  right: true,
                  width: '30%',
                  cell: (row) => (
                    <Actions
                      row={row}
                      busy={busy === row.id}
                      onRetry={() =>
                        row.status === 'unknown'
                          ? setQuestion({ row, what: 'retry' })
                          : void tell({ row, what: 'retry' })
                      }
                      onDrop={() => setQuestion({ row, what: 'drop' })}
                    />
                  ),
                },
              ]}
            />
          );
        }}
      </Answer>
      {question === undefined ? null : (
        <Confirm
          title={question.what === 'drop' ? 'Drop this delivery?' : 'Send it again?'}
          yes={question.what === 'drop' ? 'Drop delivery' : 'Send again'}
          busy={busy === '' ? undefined : question.what === 'drop' ? 'Dropping…' : 'Sending…'}
          danger={question.what === 'drop'}
          onYes={() => void tell(question)}
          onClose={() => setQuestion(undefined)}
        >
          <p>
            {question.what === 'drop'
              ? `The text of ${question.row.route} for ${question.row.target} is not sent any more. Its event can still be replayed.`
              : sendTwice}
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function reasonOf({ reason = '', status, next_try_at }: OutgoingRow, now: number): string {
  if (next_try_at === undefined || settledText.test(status)) return reason;
  const next = `next try in ${spellCountdown(Date.parse(next_try_at) - now)}`;
  return reason === '' ? next : `${reason}; ${next}`;
}

function Actions({
  row: { status },
  busy,
  onRetry,
  onDrop,
}: {
  readonly row: OutgoingRow;
  readonly busy: boolean;
  readonly onRetry: () => void;
  readonly onDrop: () => void;
}): JSX.Element {
  return (
    <span class="btns trailing">
      {status === 'waitingToRetry' || settledText.test(status) ? (
        <button type="button" class="btn" disabled={busy} onClick={onRetry}>
          {status === 'unknown' ? 'Retry…' : 'Retry'}
        </button>
      ) : null}
      {status === 'sending' ? null : (
        <button type="button" class="btn quiet" disabled={busy} onClick={onDrop}>
          Drop…
        </button>
      )}
    </span>
  );
}
