/**
 * Schedules: every job with its schedule, next due time and last outcomes; pause, resume, run, create, remove.
 * @see CRN-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../../control/contract.ts';
import { useNow } from '../data/clock.ts';
import { formatClock, formatWord, sentenceCase } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { go } from '../data/place.ts';
import { rowsOf, useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { standingOfState } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Acts } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { Mark } from '../parts/chip.tsx';
import { Head } from '../parts/head.tsx';
import { Answer, Empty } from '../parts/panel.tsx';
import { Split } from '../parts/split.tsx';
import { SchedulePane } from './schedule.tsx';
import { NewSchedule } from './schedule-change.tsx';

const changing = /^(cronJob|agentRun)$/;

export function Schedules({ place: { chosen } }: { readonly place: Place }): JSX.Element {
  const { asked, again } = useAsked('cron', () => call('cron.list'));
  useFresh(changing, again);
  const every = asked.kind === 'there' ? asked.value : [];
  const profile = useProfile();
  const rows = rowsOf(every, profile);
  const row = every.find((one) => idOf(one) === chosen);
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <Head
        title="Schedules"
        count={asked.kind === 'there' ? rows.length.toLocaleString('en') : undefined}
        profile={profile}
      >
        <Acts>
          <Button icon="add" onClick={() => setAdding(true)}>
            New schedule…
          </Button>
        </Acts>
      </Head>
      {isAdding ? <NewSchedule onClose={() => setAdding(false)} onChanged={again} /> : null}
      <Answer asked={asked} again={again} what="The schedules">
        {() =>
          rows.length === 0 && row === undefined ? (
            <Empty
              title="No schedules yet."
              buttons={
                <Acts>
                  <Button class="primary" onClick={() => setAdding(true)}>
                    New schedule…
                  </Button>
                </Acts>
              }
            >
              A schedule gives the agent a prompt at certain times.
            </Empty>
          ) : (
            <Split
              label="Schedules"
              opened={chosen !== ''}
              back="All schedules"
              onBack={() => go('schedules')}
              list={
                <ul class="scrolls">
                  {rows.map((one) => (
                    <li key={idOf(one)}>
                      <ScheduleLink row={one} isAt={idOf(one) === chosen} />
                    </li>
                  ))}
                </ul>
              }
            >
              {chosen === '' ? (
                <Empty title="Choose a schedule">Its prompt, its next times and its last firings are shown here.</Empty>
              ) : row === undefined ? (
                <Empty title="No such schedule">
                  <code>{chosen}</code> is not among them any more.
                </Empty>
              ) : (
                <SchedulePane key={chosen} row={row} onChanged={again} />
              )}
            </Split>
          )
        }
      </Answer>
    </>
  );
}

function idOf({ profile, id }: JobRow): string {
  return `${profile}/${id}`;
}

function ScheduleLink({ row, isAt }: { readonly row: JobRow; readonly isAt: boolean }): JSX.Element {
  const now = useNow();
  const due = row.next_due === undefined || row.next_due === null ? undefined : Date.parse(row.next_due);
  return (
    <a class={isAt ? 'li at' : 'li'} href={hashOf('schedules', idOf(row))} aria-current={isAt}>
      <Mark standing={standingOfState(row.state)} />
      <span class="a cut">{row.name}</span>
      <span class="c num">{due === undefined ? '' : formatClock(due, now)}</span>
      <span />
      <span class="b cut">{row.problem ?? row.why ?? row.schedule}</span>
      <span class="c">{sentenceCase(formatWord(row.state))}</span>
    </a>
  );
}
