/**
 * Schedules: every job with its schedule, next due time and last outcomes; pause, resume, run, create, edit, remove.
 * @see CRN-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../../control/contract/jobs.ts';
import { useNow } from '../data/clock.ts';
import { formatClock, formatWord, sentenceCase } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import { call } from '../data/rpc.ts';
import { standingOfState } from '../data/standing.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Button } from '../parts/button.tsx';
import { Mark } from '../parts/chip.tsx';
import { Empty } from '../parts/panel.tsx';
import { ListAndPane, useListing } from './list-and-pane.tsx';
import { SchedulePane } from './schedule.tsx';
import { ScheduleDialog } from './schedule-change.tsx';

const changing = /^(cronJob|agentRun)$/;

export function Schedules({ place }: { readonly place: Place }): JSX.Element {
  const asking = useFollowed(changing, 'cron', () => call('cron.list'));
  const { again } = asking;
  const listing = useListing(asking, place);
  const [isAdding, setAdding] = useState(false);
  const add = (): void => setAdding(true);
  return (
    <>
      <ListAndPane
        view="schedules"
        {...{ listing, place }}
        idOf={({ profile, id }) => `${profile}/${id}`}
        buttons={
          <Button icon="add" onClick={add}>
            New schedule…
          </Button>
        }
        none={
          <Empty
            title="No schedules yet."
            acts={
              <Button class="primary" onClick={add}>
                New schedule…
              </Button>
            }
          >
            A schedule gives the agent a prompt at certain times.
          </Empty>
        }
        unchosen={
          <Empty title="Choose a schedule">Its prompt, its next times and its last firings are shown here.</Empty>
        }
        link={(row) => <ScheduleLink row={row} />}
      >
        {(row) => <SchedulePane row={row} onChanged={again} />}
      </ListAndPane>
      {isAdding ? <ScheduleDialog onClose={() => setAdding(false)} onChanged={again} /> : null}
    </>
  );
}

function ScheduleLink({ row }: { readonly row: JobRow }): JSX.Element {
  const now = useNow();
  const due = row.next_due === undefined || row.next_due === null ? undefined : Date.parse(row.next_due);
  return (
    <>
      <Mark standing={standingOfState(row.state)} />
      <span class="a cut">{row.name}</span>
      <span class="c num">{due === undefined ? '' : formatClock(due, now)}</span>
      <span />
      <span class="b cut">{row.problem ?? row.why ?? row.schedule}</span>
      <span class="c">{sentenceCase(formatWord(row.state))}</span>
    </>
  );
}
