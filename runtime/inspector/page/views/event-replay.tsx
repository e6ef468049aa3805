/** The sheet that edits an event and replays it: on this page only, or to the targets of its route. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { indentedJson } from '../../../../machines/base/indented-json.ts';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { OpenedEvent } from '../../../control/contract/event-wire.ts';
import { announce } from '../data/announce.ts';
import { changedLines, differencesOf } from '../data/differences.ts';
import { counted } from '../data/format.ts';
import { goOn, place } from '../data/place.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Field, Segmented, Select } from '../parts/choice.tsx';
import { Cancel, Dialog } from '../parts/dialog.tsx';
import { Difference } from '../parts/difference.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Kbd } from '../parts/panel.tsx';

interface EditAndReplayProps {
  readonly event: OpenedEvent;
  readonly onClose: () => void;
}

export function EditAndReplay({ event, onClose }: EditAndReplayProps): JSX.Element {
  const { asked } = useAsked(`whole ${event.key}`, () => call('events.open', { id: event.key, whole: true }));
  // The first answer, so that what is being typed stays if a later one fails.
  const first = useRef<string | undefined>(undefined);
  if (asked.kind === 'there') first.current ??= indentedJson(asked.value.payload.text);
  const { current: before } = first;
  return (
    <Dialog title="Edit and replay" sheet keepsText onClose={onClose}>
      {before === undefined ? (
        <p class="pad muted">{asked.kind === 'refused' ? asked.why : 'Loading…'}</p>
      ) : (
        <Editor event={event} before={before} onClose={onClose} />
      )}
    </Dialog>
  );
}

interface EditorProps {
  readonly event: OpenedEvent;
  readonly before: string;
  readonly onClose: () => void;
}

function Editor({ event, before, onClose }: EditorProps): JSX.Element {
  const [payload, setPayload] = useState(before);
  const [type, setType] = useState(event.event);
  const [route, setRoute] = useState(event.route);
  const [view, setView] = useState<'edit' | 'difference'>('edit');
  const [dry, setDry] = useState(true);
  const { busy, refused, attempt } = useAttempt();
  const routes = useAsked('route names', () => call('webhook.list', { brief: true }));
  const names = routeNames(event, routes.asked);
  const lines = differencesOf(before, payload);
  const changed = changedLines(lines);
  const isEdited = changed > 0 || type !== event.event || route !== event.route;
  const syntax = syntaxFault(before, payload);

  async function replay(): Promise<void> {
    if (syntax !== undefined) return;
    const from = place.get();
    await attempt('Replaying…', async () => {
      const { key, status } = await call('webhook.replay', {
        id: event.key,
        ...(changed > 0 ? { payload } : {}),
        ...(type === event.event ? {} : { event: type }),
        ...(route === event.route ? {} : { to: route }),
        ...(dry ? { dry: true } : {}),
      });
      announce(`Replayed: the gateway answered ${status}.`, status >= 400);
      onClose();
      goOn(from, key);
    });
  }

  useEffect(() => {
    const onKey = (pressed: KeyboardEvent): void => {
      // Not while the page asks whether to discard the changes.
      const isAsking = document.querySelector('dialog[role=alertdialog]') !== null;
      if (pressed.key === 'Enter' && (pressed.ctrlKey || pressed.metaKey) && !isAsking) void replay();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });

  // The dialog opened before the payload was there.
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const text = box.current?.querySelector('textarea');
    text?.setSelectionRange(0, 0);
    text?.focus();
  }, []);

  return (
    <>
      <div class="in" ref={box}>
        <div class="cols2">
          <Select
            label="Route"
            value={route}
            options={names.map((name) => [name, name] as const)}
            onChoose={setRoute}
          />
          <Field label="Event type" mono value={type} onInput={setType} />
        </div>
        <div class="btns">
          <h3>Payload</h3>
          <Segmented
            label="Payload"
            value={view}
            options={[
              ['edit', 'Edit'],
              ['difference', 'Difference'],
            ]}
            onChoose={setView}
          />
          <span class="muted small push" role="status">
            {changed === 0 ? 'Unchanged' : `${counted(changed, 'line')} changed`}
          </span>
        </div>
        {view === 'edit' ? (
          <Field
            label="Payload"
            mono
            lines={18}
            value={payload}
            onInput={setPayload}
            {...(syntax === undefined ? {} : { fault: syntax })}
          />
        ) : (
          <Difference lines={lines} label="Difference" />
        )}
        {before.includes('[redacted]') ? (
          <p class="hint">Secrets are shown as [redacted]. A changed payload is sent with that in their place.</p>
        ) : null}
        <fieldset class="field bare">
          <legend>Deliver the result to</legend>
          <Choice checked={dry} title="This page only" onChoose={() => setDry(true)}>
            The run uses real tools. Its response is shown here and sent nowhere.
          </Choice>
          <Choice checked={!dry} title="The route’s targets" onChoose={() => setDry(false)}>
            {targetWords(event)}
          </Choice>
        </fieldset>
        <p class="hint">
          The replay gets a new id, is marked as a replay of {event.key} and skips the signature and duplicate checks.
        </p>
        <WhyNot refused={refused} />
      </div>
      <footer>
        <span class="hint not-s">
          <Kbd>Ctrl</Kbd> <Kbd>Enter</Kbd>
        </span>
        <span class="push btns">
          <Cancel class="tall" />
          <Button
            icon="replay"
            class="primary tall"
            disabled={busy !== undefined || syntax !== undefined}
            onClick={() => void replay()}
          >
            {busy ?? (isEdited ? 'Replay edited event' : 'Replay')}
          </Button>
        </span>
      </footer>
    </>
  );
}

interface ChoiceProps {
  readonly checked: boolean;
  readonly title: string;
  readonly onChoose: () => void;
  readonly children: string;
}

function Choice({ checked, title, onChoose, children }: ChoiceProps): JSX.Element {
  return (
    <label class="check">
      <input type="radio" name="deliver" checked={checked} onChange={onChoose} />
      <span>
        {title}
        <br />
        <span class="hint">{children}</span>
      </span>
    </label>
  );
}

function targetWords({ deliveries }: OpenedEvent): string {
  const places = deliveries.filter(({ notice }) => notice !== true).map(({ place }) => inQuotes(place));
  return places.length === 0
    ? 'As the route is configured now.'
    : `${places.join(' and ')}. A second message will appear there.`;
}

/** Returns a fault if JSON was edited into something that is not JSON. */
function syntaxFault(before: string, payload: string): string | undefined {
  try {
    JSON.parse(before);
  } catch {
    return undefined;
  }
  try {
    JSON.parse(payload);
    return undefined;
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function routeNames(
  { route, profile }: OpenedEvent,
  asked: ReturnType<typeof useAsked<readonly { readonly name: string; readonly profile?: string }[]>>['asked'],
): readonly string[] {
  const others = asked.kind === 'there' ? asked.value.filter((one) => one.profile === profile) : [];
  return [...new Set([route, ...others.map(({ name }) => name)])];
}
