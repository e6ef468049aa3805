/** Creates a schedule, and confirms the removal of one. @see CRN-1 and SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../../control/contract/jobs.ts';
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

export function NewSchedule({ onClose, onChanged }: ChangeProps): JSX.Element {
  const [name, setName] = useState('');
  const [schedule, setSchedule] = useState('');
  const [timezone, setTimezone] = useState('');
  const [work, setWork] = useState<Work>({ prompt: '', deliver: 'log' });
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

  return (
    <WorkDialog
      title="New schedule"
      yes="Create schedule"
      isReady={name !== ''}
      promptHint="What each run is asked to do."
      {...{ change, work, onClose }}
      onWork={setWork}
      onSave={create}
    >
      <Field label="Name" value={name} onInput={setName} hint="Up to 100 characters, unique in its profile." />
      <ProfileField value={profile} onChoose={setProfile} />
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
