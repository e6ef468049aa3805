/**
 * Makes a subscription, or edits one. What is made shows its address and secret once.
 * @see SUB-1, SUB-3 and SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Json, JsonObject } from '../../../../machines/base/json.ts';
import type { Result, RouteDetail } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useProfile } from '../data/profile.ts';
import { call, wordsOf } from '../data/rpc.ts';
import { Field } from '../parts/choice.tsx';
import { Code } from '../parts/code.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { type Refusal, WhyNot } from '../parts/needs-fresh.tsx';

export interface SubscriptionProps {
  /** The one that is edited. */
  readonly route?: RouteDetail;
  readonly onClose: () => void;
  /** Hears `profile/name`. */
  readonly onDone: (made: string) => void;
}

export function SubscriptionDialog({ route, onClose, onDone }: SubscriptionProps): JSX.Element {
  const [name, setName] = useState(route?.name ?? '');
  const [source, setSource] = useState('');
  const [secret, setSecret] = useState('');
  const [events, setEvents] = useState(route?.events.join(', ') ?? '');
  const [prompt, setPrompt] = useState(route?.definition.prompt ?? '');
  const [deliver, setDeliver] = useState(route?.definition.deliver ?? 'log');
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refusal>();
  const [made, setMade] = useState<Result<'webhook.subscribe'>>();
  const shown = useProfile() ?? 'default';
  const profile = route?.definition.profile ?? shown;
  const list = events.split(',').flatMap((one) => one.trim() || []);

  async function save(): Promise<void> {
    setBusy(true);
    setRefused(undefined);
    try {
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
          // A list of targets is edited in the file.
          ...(route.definition.deliverTo === undefined ? { deliver } : {}),
        };
        await call('webhook.edit', { name, profile, record });
        announce('Subscription saved.');
        onClose();
      }
      onDone(`${profile}/${name}`);
    } catch (error) {
      setRefused(wordsOf(error));
    } finally {
      setBusy(false);
    }
  }

  if (made !== undefined) return <Made made={made} onClose={onClose} />;
  return (
    <Dialog title={route === undefined ? 'New subscription' : `Edit ${route.name}`} onClose={onClose}>
      <WhyNot refused={refused} />
      <form
        class="pad stack"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {route === undefined ? (
          <>
            <Field label="Name" value={name} onInput={setName} hint="Small letters, digits, - and _." />
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
        <Field label="Prompt" value={prompt} onInput={setPrompt} lines={4} hint="A template; empty is the payload." />
        <Field label="Deliver to" value={deliver} onInput={setDeliver} hint="A target such as slack, or log." />
        <div class="btns">
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="btn primary" disabled={busy || name === ''}>
            {route === undefined ? 'Create subscription' : 'Save subscription'}
          </button>
        </div>
      </form>
    </Dialog>
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
