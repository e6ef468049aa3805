/** Creates or changes a schedule, and confirms the removal of one. @see CRN-1 and SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import type { JobDetail, JobRow } from '../../../control/contract/jobs.ts';
import { announce } from '../data/announce.ts';
import { goWithin } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Field } from '../parts/choice.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { ProfileField, type Work, WorkDialog } from './work-dialog.tsx';

interface ChangeProps {
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

/** Creates a schedule, or changes the given one. */
export function ScheduleDialog({ job, onClose, onChanged }: ChangeProps & { readonly job?: JobDetail }): JSX.Element {
  const before = { schedule: '', timezone: '', prompt: '', deliver: 'log', ...job };
  const [name, setName] = useState(job?.name ?? '');
  const [schedule, setSchedule] = useState(before.schedule);
  const [timezone, setTimezone] = useState(before.timezone);
  const [work, setWork] = useState<Work>({ prompt: before.prompt, deliver: before.deliver });
  const [profile, setProfile] = useState(useProfile() ?? 'default');
  const change = useAttempt();

  const create = (): Promise<unknown> =>
    change.attempt('Creating…', async () => {
      const record = {
        ...(schedule.trim() === '' ? {} : { schedule }),
        ...(timezone.trim() === '' ? {} : { timezone: timezone.trim() }),
        ...work,
      };
      const made = await call('cron.add', { name, profile, record });
      announce(`Schedule ${made.name} created.`);
      onClose();
      onChanged();
      goWithin('schedules', `${made.profile}/${made.id}`);
    });

  const save = ({ id, profile }: JobDetail): Promise<unknown> =>
    change.attempt('Saving…', async () => {
      const changed = Object.entries({ schedule, timezone, ...work }).filter(
        ([key, value]) => value !== before[key as keyof Work],
      );
      const record: JsonObject = Object.fromEntries(
        changed.map(([key, value]) => [key, value.trim() === '' ? null : value]),
      );
      // A chat of the earlier target is none of this one.
      await call('cron.edit', {
        job: id,
        profile,
        record: 'deliver' in record ? { ...record, deliver_extra: null } : record,
      });
      announce(`Schedule ${name} saved.`);
      onClose();
      onChanged();
    });

  return (
    <WorkDialog
      title={job === undefined ? 'New schedule' : `Edit ${name}`}
      yes={job === undefined ? 'Create schedule' : 'Save schedule'}
      isReady={name !== ''}
      promptHint="What each run is asked to do."
      {...(job === undefined ? {} : { before: { deliver: before.deliver, extra: job.deliver_extra } })}
      {...{ change, work, onClose }}
      onWork={setWork}
      onSave={() => (job === undefined ? create() : save(job))}
    >
      {job === undefined ? (
        <>
          <Field label="Name" value={name} onInput={setName} hint="Up to 100 characters, unique in its profile." />
          <ProfileField value={profile} onChoose={setProfile} />
        </>
      ) : null}
      <Field
        label="Schedule"
        value={schedule}
        onInput={setSchedule}
        hint="Five fields such as 0 7 * * 1-5, @daily, or every 15m; empty if webhooks alone fire it."
      />
      <Field
        label="Time zone"
        value={timezone}
        onInput={setTimezone}
        hint="Such as Europe/Berlin; empty is the gateway’s own."
      />
    </WorkDialog>
  );
}

export function RemoveSchedule({ row, onClose, onChanged }: ChangeProps & { readonly row: JobRow }): JSX.Element {
  const { busy, refused, attempt } = useAttempt();
  const yes = `Remove schedule ${row.name}`;

  const remove = (): Promise<unknown> =>
    attempt('Removing…', async () => {
      await call('cron.remove', { job: row.id, profile: row.profile });
      announce(`Schedule ${row.name} removed.`);
      onClose();
      goWithin('schedules');
      onChanged();
    });

  return (
    <Confirm
      title={`Remove the schedule ${row.name}?`}
      yes={yes}
      busy={busy}
      onYes={() => void remove()}
      onClose={onClose}
    >
      <p>
        It no longer fires. A run of it that is in progress continues, and the runs that it had remain in the history.
        To keep it, pause it instead.
      </p>
      <WhyNot refused={refused} button={yes} />
    </Confirm>
  );
}
