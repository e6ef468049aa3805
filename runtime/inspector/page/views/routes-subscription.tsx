/**
 * Creates or edits a subscription. A new one shows its address and secret once.
 * @see SUB-1, SUB-3 and SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import type { Result, RouteDetail } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useProfile } from '../data/profile.ts';
import { call } from '../data/rpc.ts';
import { Field } from '../parts/choice.tsx';
import { Code } from '../parts/code.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ProfileField, useChange, type Work, WorkDialog } from './work-dialog.tsx';

export interface SubscriptionProps {
  /** The subscription to edit; absent for a new one. */
  readonly route?: RouteDetail;
  readonly onClose: () => void;
  /** Called with `profile/name`. */
  readonly onDone: (made: string) => void;
}

export function SubscriptionDialog({ route, onClose, onDone }: SubscriptionProps): JSX.Element {
  const [name, setName] = useState(route?.name ?? '');
  const [source, setSource] = useState('');
  const [secret, setSecret] = useState('');
  const [events, setEvents] = useState(route?.events.join(', ') ?? '');
  const [work, setWork] = useState<Work>({
    prompt: route?.definition.prompt ?? '',
    deliver: route?.definition.deliver ?? 'log',
  });
  const change = useChange();
  const [made, setMade] = useState<Result<'webhook.subscribe'>>();
  const shown = useProfile() ?? 'default';
  const [profile, setProfile] = useState(route?.definition.profile ?? shown);
  const { prompt, deliver } = work;
  const list = events.split(',').flatMap((one) => one.trim() || []);

  const save = (): Promise<void> =>
    change.attempt(async () => {
      if (route === undefined) {
        const record: JsonObject = {
          ...(list.length === 0 ? {} : { events: list }),
          ...(prompt === '' ? {} : { prompt }),
          ...(source === '' ? {} : { source }),
          ...(secret === '' ? {} : { secret }),
          deliver,
        };
        setMade(await call('webhook.subscribe', { name, profile, record }));
      } else {
        const orNone = (value: Json, isNone: boolean): Json => (isNone ? null : value);
        const record: JsonObject = {
          events: orNone(list, list.length === 0),
          prompt: orNone(prompt, prompt === ''),
          // A list of targets can only be edited in the file.
          ...(route.definition.deliverTo === undefined ? { deliver } : {}),
        };
        await call('webhook.edit', { name, profile, record });
        announce('Subscription saved.');
        onClose();
      }
      onDone(`${profile}/${name}`);
    });

  if (made !== undefined) return <Made made={made} onClose={onClose} />;
  return (
    <WorkDialog
      title={route === undefined ? 'New subscription' : `Edit ${route.name}`}
      yes={route === undefined ? 'Create subscription' : 'Save subscription'}
      isReady={name !== ''}
      promptHint="A template; empty is the payload."
      {...{ change, work, onClose }}
      onWork={setWork}
      onSave={save}
    >
      {route === undefined ? (
        <>
          <Field label="Name" value={name} onInput={setName} hint="Small letters, digits, - and _." />
          <ProfileField value={profile} onChoose={setProfile} />
          <Field
            label="Source (optional)"
            value={source}
            onInput={setSource}
            hint="The provider that sends, such as stripe; empty is any sender that signs."
          />
          <Field
            label="Secret (optional)"
            value={secret}
            onInput={setSecret}
            secret
            hint="Only if the sender has made it; a fresh one otherwise."
          />
        </>
      ) : null}
      <Field label="Event types" value={events} onInput={setEvents} hint="Separated by commas; empty accepts all." />
    </WorkDialog>
  );
}

function Made({ made, onClose }: { readonly made: Result<'webhook.subscribe'>; readonly onClose: () => void }) {
  return (
    <Dialog title={`Subscription ${made.name} is created`} onClose={onClose}>
      <div class="pad stack">
        {made.secret === undefined ? (
          <p>
            Enter the URL at the sender. It is shown once. The sender then sends its token there, which becomes the
            secret: <code>agent events show latest --route {made.name}</code> prints it. Type it in at the sender.
          </p>
        ) : (
          <p>Enter both at the sender. The secret is shown once.</p>
        )}
        <Code text={made.url} label="URL" />
        {made.secret === undefined ? null : <Code text={made.secret} label="Secret" />}
        {made.verify_token === undefined ? null : <Code text={made.verify_token} label="Verify token" />}
        {made.provider === undefined ? null : (
          <p class="muted">
            {made.provider.title}: {made.provider.page}
          </p>
        )}
        <div class="btns">
          <button type="button" class="btn primary" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}
