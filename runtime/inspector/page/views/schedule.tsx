/** One schedule: when it is due, its prompt, the outcomes of its last firings. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobDetail, JobRow } from '../../../control/contract/jobs.ts';
import { announce } from '../data/announce.ts';
import { useNow } from '../data/clock.ts';
import { formatReason, formatTargets, outcomeOfRow } from '../data/event-words.ts';
import { formatClock, formatCountdown, formatWord, sentenceCase } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { call } from '../data/rpc.ts';
import { standingOfState } from '../data/standing.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Acts } from '../parts/acts.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { Clock, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Chip, Status } from '../parts/chip.tsx';
import { Code } from '../parts/code.tsx';
import { Headline, MetaFact } from '../parts/headline.tsx';
import { Answer, Facts, Panel, Verdict } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';
import { RemoveSchedule, ScheduleDialog } from './schedule-change.tsx';

const changing = /^(cronJob|agentRun)$/;

interface SchedulePaneProps {
  readonly row: JobRow;
  readonly onChanged: () => void;
}

export function SchedulePane({ row, onChanged }: SchedulePaneProps): JSX.Element {
  const { busy, attempt } = useAttempt();
  const [isRemoving, setRemoving] = useState(false);
  const [edited, setEdited] = useState<JobDetail>();
  const now = useNow();
  const rests = row.state === 'paused' || row.state === 'disabled';
  const due = row.next_due === undefined || row.next_due === null ? undefined : Date.parse(row.next_due);
  const problem = row.problem ?? row.why;

  const act = (label: string, method: 'cron.pause' | 'cron.resume' | 'cron.run', done: string): JSX.Element => {
    const change = async (): Promise<void> => {
      await call(method, { job: row.id, profile: row.profile });
      announce(done);
      onChanged();
    };
    return (
      <Button
        disabled={busy !== undefined}
        onClick={() => void attempt(label, change, ({ why }) => announce(why, true))}
      >
        {label}
      </Button>
    );
  };

  const edit = (): Promise<unknown> =>
    attempt(
      'Reading…',
      async () => setEdited(await call('cron.show', { job: row.id, profile: row.profile })),
      ({ why }) => announce(why, true),
    );

  return (
    <article class="stack" aria-label={`Schedule ${row.name}`}>
      <Headline
        title={row.name}
        chip={<Chip standing={standingOfState(row.state)} text={sentenceCase(formatWord(row.state))} />}
        meta={
          <>
            <span>
              <code>{row.schedule === '' ? 'by event only' : row.schedule}</code> {row.timezone}
            </span>
            <MetaFact name="Next">
              {due === undefined ? undefined : `${formatClock(due, now)}, in ${formatCountdown(due - now)}`}
            </MetaFact>
            {row.profile === 'default' ? null : <span>Profile {row.profile}</span>}
          </>
        }
      >
        {row.id === '' ? null : (
          <Acts>
            {act('Run now', 'cron.run', `${row.name} was fired.`)}
            {rests
              ? act('Resume', 'cron.resume', `${row.name} is resumed.`)
              : act('Pause', 'cron.pause', `${row.name} is paused.`)}
            <Button onClick={() => void edit()}>Edit…</Button>
            <Button class="risky" onClick={() => setRemoving(true)}>
              Remove…
            </Button>
          </Acts>
        )}
      </Headline>
      {edited === undefined ? null : (
        <ScheduleDialog job={edited} onClose={() => setEdited(undefined)} onChanged={onChanged} />
      )}
      {isRemoving ? <RemoveSchedule row={row} onClose={() => setRemoving(false)} onChanged={onChanged} /> : null}
      {problem === undefined ? null : <Verdict mark="failed" tone="bad" title={withCode(problem)} />}
      {row.id === '' ? null : <Details row={row} />}
    </article>
  );
}

function Details({ row }: { readonly row: JobRow }): JSX.Element {
  const { asked, again } = useFollowed(changing, `job ${row.profile}/${row.id}`, () =>
    call('cron.show', { job: row.id, profile: row.profile }),
  );
  return (
    <Answer asked={asked} again={again} what="The schedule">
      {(job) => (
        <>
          <Panel title="Prompt">
            <Code text={job.prompt} label="Prompt" />
          </Panel>
          <Panel title="Next times">
            <div class="pad">
              <Facts
                facts={[
                  [
                    'Due',
                    job.next.length === 0
                      ? 'At no time'
                      : job.next.map((at) => (
                          <div key={at} class="num">
                            <Clock at={at} />
                          </div>
                        )),
                  ],
                  ['Delivers to', formatTargets(job.deliver ?? 'log')],
                  ['If a run fails', job.on_failure === undefined ? 'No notice' : formatTargets(job.on_failure)],
                ]}
              />
            </div>
          </Panel>
          <Panel title="Last firings">
            {(job.history ?? []).length === 0 ? (
              <p class="pad muted">None yet.</p>
            ) : (
              <Table
                label="Last firings, newest first"
                rows={job.history ?? []}
                keyOf={(fired) => `${fired.at} ${fired.run ?? ''}`}
                columns={[
                  { title: 'Fired', width: '30%', cell: (fired) => <Clock at={fired.at} /> },
                  { title: 'By', width: '15%', wide: true, cell: (fired) => fired.cause },
                  {
                    title: 'Outcome',
                    cell: (fired) => {
                      const { mark, words, calm } = outcomeOfRow(fired);
                      return (
                        <Status mark={mark} calm={calm}>
                          {words}
                        </Status>
                      );
                    },
                  },
                  {
                    title: 'Reason',
                    cell: (fired) =>
                      fired.run === undefined ? (
                        formatReason(fired.reason ?? '')
                      ) : (
                        <a href={hashOf('events', fired.run)}>
                          {fired.reason === undefined ? 'Open event' : formatReason(fired.reason)}
                        </a>
                      ),
                  },
                ]}
              />
            )}
          </Panel>
        </>
      )}
    </Answer>
  );
}
