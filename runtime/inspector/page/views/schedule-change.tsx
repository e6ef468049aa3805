/** Makes a schedule, and asks before one is removed. @see CRN-1 and SEC-1 in docs/specification.md */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { JobRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { goWithin } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Field } from '../parts/choice.tsx';
import { Confirm, Dialog } from '../parts/dialog.tsx';
import { type Refusal, WhyNot } from '../parts/needs-fresh.tsx';

interface ChangeProps {
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

export function NewSchedule({ onClose, onChanged }: ChangeProps): JSX.Element {
  const [name, setName] = useState('');
  const [schedule, setSchedule] = useState('');
  const [prompt, setPrompt] = useState('');
  const [deliver, setDeliver] = useState('log');
  const profile = useProfile() ?? 'default';
  const { busy, refused, attempt } = useChange(onClose);

  const create = (): Promise<void> =>
    attempt(async () => {
      const made = await call('cron.add', { name, profile, record: { schedule, prompt, deliver } });
      announce(`Schedule ${made.name} created.`);
      onChanged();
      goWithin('schedules', `${made.profile}/${made.id}`);
    });

  return (
    <Dialog title="New schedule" onClose={onClose}>
      <WhyNot refused={refused} />
      <form
        class="pad stack"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field label="Name" value={name} onInput={setName} hint="Small letters, digits, - and _." />
        <Field
          label="Schedule"
          value={schedule}
          onInput={setSchedule}
          hint="Five fields such as 0 7 * * 1-5, @daily, or every 15m; empty if webhooks alone fire it."
        />
        <Field label="Prompt" value={prompt} onInput={setPrompt} lines={4} hint="What each run is asked to do." />
        <Field label="Deliver to" value={deliver} onInput={setDeliver} hint="A target such as slack, or log." />
        <div class="btns">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary" disabled={busy || name === ''}>
            Create schedule
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function RemoveSchedule({ row, onClose, onChanged }: ChangeProps & { readonly row: JobRow }): JSX.Element {
  const { busy, refused, attempt } = useChange(onClose);
  const yes = `Remove schedule ${row.name}`;

  const remove = (): Promise<void> =>
    attempt(async () => {
      await call('cron.remove', { job: row.id, profile: row.profile });
      announce(`Schedule ${row.name} removed.`);
      goWithin('schedules');
      onChanged();
    });

  return (
    <Confirm
      title={`Remove the schedule ${row.name}?`}
      yes={yes}
      busy={busy ? 'Removing…' : undefined}
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

/** A change that is asked for once, and closes what it was asked in unless it is refused. */
function useChange(onClose: () => void) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refusal>();
  return {
    busy,
    refused,
    async attempt(change: () => Promise<void>): Promise<void> {
      setBusy(true);
      setRefused(undefined);
      try {
        await change();
        onClose();
      } catch (error) {
        setRefused(wordsOf(error));
        setBusy(false);
      }
    },
  };
}
