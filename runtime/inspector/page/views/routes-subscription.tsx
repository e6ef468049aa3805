/**
 * Creates or edits a subscription. A new one shows its address and secret once.
 * @see SUB-1, SUB-3 and SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import { profileOption } from '../../../../machines/base/names.ts';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import { canonicalTarget, targets, targetTitle } from '../../../../machines/config/targets.ts';
import type { RouteDetail } from '../../../control/contract/routes.ts';
import type { Result } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { formatTargets } from '../data/event-words.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Check, Field, Select } from '../parts/choice.tsx';
import { CopyBox } from '../parts/copy-box.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Banner } from '../parts/panel.tsx';
import { ProfileField, type Work, WorkDialog } from './work-dialog.tsx';

const namePattern = /^[a-z0-9][a-z0-9_-]*$/;

interface SubscriptionProps {
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
  const there = valuesOf(route);
  const { current: before } = useRef(there);
  const [events, setEvents] = useState(before.events);
  const [where, setWhere] = useState('');
  const [isOnly, setOnly] = useState(before.isOnly);
  const [work, setWork] = useState<Work>(before);
  const change = useAttempt();
  /** The name that the gateway refused. */
  const [taken, setTaken] = useState('');
  const setup = useAsked('setup', () => call('setup.read'));
  const { sources = [], url } = setup.asked.kind === 'there' ? setup.asked.value : {};
  const sender = sources.find((one) => one.name === source);
  const needsSecret = sender?.secret_needed === true;
  const isMisspelt = route === undefined && name !== '' && !namePattern.test(name);
  const [made, setMade] = useState<Result<'webhook.subscribe'>>();
  const shown = useProfile() ?? 'default';
  const [profile, setProfile] = useState(route?.definition.profile ?? shown);
  const path = `${profile === 'default' ? '' : `/p/${profile}`}/webhooks/${name}`;
  const makeIt = typeof url === 'string' && name !== '' ? ` Make the webhook there for ${url}${path}` : '';
  const { prompt, deliver } = work;
  const hasPlace = targets.get(canonicalTarget(deliver) ?? deliver)?.extras?.includes('chat_id') === true;
  const extra = hasPlace && where.trim() !== '' ? { chat_id: where.trim() } : null;
  const hasTarget = deliver !== 'log' || route?.definition.deliverTo !== undefined;
  const isDirect = isOnly && hasTarget;
  const list = events.split(',').flatMap((one) => one.trim() || []);

  const here = { events, prompt, deliver };
  const clashing = (['events', 'prompt', 'deliver'] as const).filter(
    (one) => there[one] !== before[one] && here[one] !== before[one] && here[one] !== there[one],
  );

  const save = (): Promise<unknown> =>
    change.attempt('Saving…', async () => {
      if (route === undefined) {
        const record: JsonObject = {
          ...(list.length === 0 ? {} : { events: list }),
          ...(prompt === '' ? {} : { prompt }),
          ...(source === '' ? {} : { source }),
          ...(secret === '' ? {} : { secret }),
          deliver,
          ...(extra === null ? {} : { deliver_extra: extra }),
          ...(isDirect ? { deliver_only: true } : {}),
        };
        const answer = await call('webhook.subscribe', { name, profile, record }).catch((error: unknown) => {
          if (!/^subscription-(?:static|exists)$/.test(wordsOf(error).code)) throw error;
          setTaken(name);
        });
        if (answer === undefined) return;
        setMade(answer);
      } else {
        // Only what was changed here, so that a change made elsewhere meanwhile stays.
        const record: JsonObject = {
          ...(events === before.events ? {} : { events: list.length === 0 ? null : list }),
          ...(prompt === before.prompt ? {} : { prompt: prompt === '' ? null : prompt }),
          // A chat of the earlier target is none of this one.
          ...(deliver === before.deliver ? {} : { deliver, deliver_extra: extra }),
          ...(isDirect === before.isOnly ? {} : { deliver_only: isDirect || null }),
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
      isReady={name !== '' && !isMisspelt && (secret !== '' || !needsSecret)}
      promptHint="A template; empty is the payload."
      {...(route === undefined ? {} : { before: { deliver: before.deliver, extra: route.definition.deliverExtra } })}
      {...(route?.definition.deliverTo === undefined ? {} : { targets: formatTargets(route.deliver) })}
      {...{ change, work, onClose }}
      below={
        hasTarget ? (
          <>
            {hasPlace && deliver !== route?.definition.deliver ? (
              <Field
                label={`Where at ${targetTitle(deliver)}`}
                value={where}
                onInput={setWhere}
                hint="The id of a channel or chat; empty is the home channel."
              />
            ) : null}
            <Check checked={isOnly} onChange={setOnly}>
              Send the text itself, without an agent run
            </Check>
          </>
        ) : null
      }
      onWork={setWork}
      onSave={save}
    >
      {route === undefined ? (
        <>
          <Field
            label="Name"
            value={name}
            onInput={(next) => {
              setName(next);
              setTaken('');
            }}
            hint="Small letters, digits, - and _."
            {...(isMisspelt ? { fault: 'Small letters, digits, - and _, beginning with a letter or digit.' } : {})}
            {...(name !== '' && taken === name
              ? { fault: 'A route of this name exists already; choose another name.' }
              : {})}
          />
          <ProfileField
            value={profile}
            onChoose={(next) => {
              setProfile(next);
              setTaken('');
            }}
          />
          <Select
            label="Source"
            value={source}
            options={[['', 'Any sender that signs'], ...sources.map((one) => [one.name, one.title] as const)]}
            onChoose={setSource}
            hint="The provider that sends."
          />
          <Field
            label={needsSecret ? 'Secret' : 'Secret (optional)'}
            value={secret}
            onInput={setSecret}
            secret
            hint={
              needsSecret
                ? `${sender.title} makes it: ${sender.secret}.${makeIt}`
                : 'Only if the sender has made it; a fresh one otherwise.'
            }
          />
        </>
      ) : null}
      {clashing.map((one) => (
        <Banner key={one} mark="waiting" alert>
          <b>
            {valueNames[one]} is now {one === 'deliver' ? targetTitle(there.deliver) : inQuotes(there[one]) || 'empty'}:
          </b>{' '}
          it was changed elsewhere while you typed. Saving replaces that.
        </Banner>
      ))}
      <Field label="Event types" value={events} onInput={setEvents} hint="Separated by commas; empty accepts all." />
    </WorkDialog>
  );
}

const valueNames = { events: 'Event types', prompt: 'Prompt', deliver: 'Deliver to' } as const;

/** Returns what can be edited, as it is in force. */
function valuesOf(route: RouteDetail | undefined): Work & { readonly events: string; readonly isOnly: boolean } {
  const { prompt = '', deliver = 'log', deliverOnly } = route?.definition ?? {};
  return { events: route?.events.join(', ') ?? '', isOnly: deliverOnly === true, prompt, deliver };
}

function Made({ made, onClose }: { readonly made: Result<'webhook.subscribe'>; readonly onClose: () => void }) {
  const { name, profile = 'default' } = made;
  const route = `${name}${profileOption(profile)}`;
  return (
    <Dialog title={`Subscription ${name} is created`} onClose={onClose}>
      <div class="pad stack">
        {made.secret === undefined ? (
          <p>
            Enter the URL at the sender. It is shown once. The sender then sends its token there, which becomes the
            secret: <code>agent events show latest --route {route}</code> prints it. Type it in at the sender.
          </p>
        ) : (
          <p>Enter both at the sender. The secret is shown once.</p>
        )}
        <CopyBox text={made.url} label="URL" />
        {made.secret === undefined ? null : <CopyBox text={made.secret} label="Secret" />}
        {made.verify_token === undefined ? null : <CopyBox text={made.verify_token} label="Verify token" />}
        {made.provider?.setup === undefined ? null : <CopyBox text={made.provider.setup} label="Setup" />}
        {made.provider === undefined ? null : (
          <p class="muted">
            {made.provider.title}: {made.provider.page}
          </p>
        )}
        <div class="btns">
          <Button class="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
