/**
 * Cron: every job with its schedule, when it is due next and how its last firings ended; pause, resume, run.
 * @see CRN-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useNow } from '../data/clock.ts';
import { spellClock, spellCountdown } from '../data/format.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { standingOfState, standingOfStatus } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Answered, Clock, LongText, Nothing } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';
import { OldBody } from '../parts/old-body.tsx';

const changing = /^(cronJob|agentRun)$/;

function Cron(): JSX.Element {
  const { asked, again } = useAsked('cron', () => call('cron.list'));
  const [open, setOpen] = useState('');
  useFresh(changing, again);
  return (
    <section class="page" aria-label="Cron jobs">
      <h2>Cron jobs</h2>
      <Answered asked={asked}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing title="There is no job">
              Make one with <code>agent cron add</code>.
            </Nothing>
          ) : (
            <ul class="jobs">
              {rows.map((row) => {
                const id = `${row.profile}/${row.id}`;
                return (
                  <li key={id}>
                    <Job row={row} open={open === id} onOpen={() => setOpen(open === id ? '' : id)} onChanged={again} />
                  </li>
                );
              })}
            </ul>
          )
        }
      </Answered>
    </section>
  );
}

interface JobProps {
  readonly row: JobRow;
  readonly open: boolean;
  readonly onOpen: () => void;
  readonly onChanged: () => void;
}

function Job({ row, open, onOpen, onChanged }: JobProps): JSX.Element {
  const [busy, setBusy] = useState(false);
  const now = useNow();
  const rests = row.state === 'paused' || row.state === 'disabled';
  const due = row.next_due === undefined || row.next_due === null ? undefined : Date.parse(row.next_due);

  async function tell(method: 'cron.pause' | 'cron.resume' | 'cron.run', done: string): Promise<void> {
    setBusy(true);
    try {
      await call(method, { job: row.id, profile: row.profile });
      announce(done);
      onChanged();
    } catch (error) {
      announce(wordsOf(error).why, true);
    } finally {
      setBusy(false);
    }
  }

  return (
    <article class="job" aria-label={`Job ${row.name}`}>
      <div class="first">
        <strong>{row.name}</strong>
        <Chip standing={standingOfState(row.state)} text={row.state} />
        <code class="schedule">{row.schedule === '' ? 'by event only' : row.schedule}</code>
        <span class="muted">{row.timezone}</span>
        <span class="due num">
          {due === undefined ? '' : `next ${spellClock(due, now)}, in ${spellCountdown(due - now)}`}
        </span>
      </div>
      {row.problem === undefined && row.why === undefined ? null : <p class="why">{row.problem ?? row.why}</p>}
      {row.id === '' ? null : (
        <div class="buttons">
          {rests ? (
            <button type="button" disabled={busy} onClick={() => void tell('cron.resume', `${row.name} is resumed.`)}>
              Resume
            </button>
          ) : (
            <button type="button" disabled={busy} onClick={() => void tell('cron.pause', `${row.name} is paused.`)}>
              Pause
            </button>
          )}
          <button type="button" disabled={busy} onClick={() => void tell('cron.run', `${row.name} was fired.`)}>
            Run now
          </button>
          <button type="button" class="quiet" aria-expanded={open} onClick={onOpen}>
            {open ? 'Less' : 'More'}
          </button>
        </div>
      )}
      {open ? <Details row={row} /> : null}
    </article>
  );
}

function Details({ row }: { readonly row: JobRow }): JSX.Element {
  const { asked, again } = useAsked(`job ${row.profile}/${row.id}`, () =>
    call('cron.show', { job: row.id, profile: row.profile }),
  );
  useFresh(changing, again);
  return (
    <Answered asked={asked}>
      {(job) => (
        <div class="more">
          <h4>Prompt</h4>
          <LongText text={job.prompt} label="Prompt" />
          <h4>Next times</h4>
          {job.next.length === 0 ? (
            <p class="muted">None.</p>
          ) : (
            <ul class="plain">
              {job.next.map((at) => (
                <li key={at}>{new Date(at).toLocaleString()}</li>
              ))}
            </ul>
          )}
          <h4>Last firings</h4>
          {(job.history ?? []).length === 0 ? (
            <p class="muted">None yet.</p>
          ) : (
            <ul class="plain">
              {(job.history ?? []).map((fired) => (
                <li key={`${fired.at} ${fired.run ?? ''}`}>
                  <Clock at={fired.at} /> <span class="muted">{fired.cause}</span>{' '}
                  {fired.status === undefined ? null : (
                    <Chip standing={standingOfStatus(fired.status)} text={fired.status} />
                  )}{' '}
                  {fired.reason}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Answered>
  );
}

export const schedules: ViewRow = {
  name: 'schedules',
  title: 'Schedules',
  group: 'Connections',
  icon: 'schedules',
  letter: '',
  component: () => (
    <OldBody title="Schedules">
      <Cron />
    </OldBody>
  ),
};
