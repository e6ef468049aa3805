/**
 * An opened event: the outcome in one sentence, then input and output, the timeline, the checks, the deliveries with each
 * attempt; and the actions on it.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { OpenedEvent } from '../../../control/contract/event-wire.ts';
import { announce } from '../data/announce.ts';
import { type Command, useCommands } from '../data/commands.ts';
import { copyText } from '../data/copy-text.ts';
import { formatTook, withLocalTimes } from '../data/format.ts';
import { hashOf, hashTo } from '../data/hash.ts';
import { useKeys } from '../data/keys.ts';
import { goOn, place } from '../data/place.ts';
import { call, failureWords, useKept } from '../data/rpc.ts';
import { saveFile } from '../data/save-file.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { MetaFact, MetaTime } from '../parts/headline.tsx';
import { Answer, Empty, Verdict } from '../parts/panel.tsx';
import { CompareEvents } from './event-compare.tsx';
import { EventDeliveries } from './event-deliveries.tsx';
import { EventPapers } from './event-papers.tsx';
import { EditAndReplay } from './event-replay.tsx';
import { EventTimeline, marksOfTone } from './event-timeline.tsx';

const changing = /^(webhookRequest|coalescingGroup|agentRun|delivery|toolCall|approval)$/;

export function EventPane({ id }: { readonly id: string }): JSX.Element {
  const { asked, again, failed } = useKept(useFollowed(changing, `event ${id}`, () => call('events.open', { id })));
  if (asked.kind === 'refused' && asked.code === 'delivery-unknown') {
    const [kept = ''] = / \(kept [^)]*\)/.exec(asked.why) ?? [];
    return <Empty title={`This event is no longer in the history${kept}.`} />;
  }
  return (
    <Answer {...{ asked, again, failed }} what="The event">
      {(event) => <Opened event={event} again={again} />}
    </Answer>
  );
}

type Open = 'edit' | 'compare' | 'replay' | 'cancel';

/** What can be done with the event, by the palette and by its key. */
interface EventAct extends Command {
  readonly key?: string;
  readonly applies: boolean;
}

function Opened({ event, again }: { readonly event: OpenedEvent; readonly again: () => void }): JSX.Element {
  const [open, setOpen] = useState<Open>();
  const { busy, attempt } = useAttempt();
  const opens = (dialog: Open) => (): void => setOpen(dialog);
  const close = (): void => setOpen(undefined);
  // An empty body may be an event; of a refused request no headers are kept either.
  const isKept = event.payload.bytes > 0 || Object.keys(event.headers).length > 0;
  const mayAct = useMayAct();
  const second = event.deliveries.filter(
    ({ status, target, notice }) =>
      (status === 'delivered' || status === 'unknown') && target !== 'log' && notice !== true,
  );

  async function act(words: string, what: string, run: () => Promise<unknown>): Promise<void> {
    if (!(await attempt(words, run, (refusal) => announce(failureWords(what, refusal), true)))) return;
    // Another dialog may have been opened meanwhile.
    setOpen((now) => (now === 'replay' || now === 'cancel' ? undefined : now));
  }

  const replay = (): void =>
    void act('Replaying…', 'Not replayed', async () => {
      const from = place.get();
      const { key, status } = await call('webhook.replay', { id: event.key });
      announce(`Replayed: the gateway answered ${status}.`, status >= 400);
      goOn(from, key);
    });
  const askReplay = (): void => (second.length === 0 ? replay() : setOpen('replay'));
  const copyCurl = (): void =>
    void act('Copying…', 'Not copied', async () => {
      const { curl } = await call('events.curl', { id: event.key });
      await copyText(curl, () => announce('Copied. Set SECRET to the secret of the route before you run it.'));
    });
  const download = (): void => void act('Downloading…', 'Not downloaded', () => downloadEvent(event.key));
  const cancel = (): void =>
    void act('Cancelling…', 'Not cancelled', async () => {
      if (event.run !== undefined) await call('runs.cancel', { id: event.run });
      announce('Run cancelled.');
      again();
    });

  const canReplay = isKept && mayAct;
  const canCancel = event.run !== undefined && mayAct;
  const every: readonly EventAct[] = [
    { label: 'Replay', icon: 'replay', key: 'r', applies: canReplay, asks: second.length > 0, run: askReplay },
    { label: 'Edit and replay…', icon: 'edit', key: 'e', applies: canReplay, asks: true, run: opens('edit') },
    { label: 'Copy as curl', icon: 'copy', key: 'c', applies: isKept, run: copyCurl },
    { label: 'Compare…', icon: 'switch', key: 'd', applies: true, run: opens('compare') },
    { label: 'Download JSON', icon: 'download', applies: true, run: download },
    { label: 'Cancel run…', icon: 'power', applies: canCancel, asks: true, run: opens('cancel') },
  ];
  const acts = every.filter(({ applies }) => applies);
  useCommands('selection', acts);
  useKeys(
    'Event',
    acts.flatMap(({ label, key, run }) => (key === undefined ? [] : [{ key, label: label.replace('…', ''), run }])),
  );

  const [mark, tone] = marksOfTone[event.verdict.tone];
  const places = second.map(({ place }) => inQuotes(place));
  return (
    <>
      <div class="headline two">
        <h2>
          {event.route} · {event.event}
        </h2>
        <Meta event={event} />
        <div class="btns push">
          {event.question === undefined ? null : (
            <a class="btn primary" href={hashOf('approvals', event.question)}>
              {mayAct ? 'Answer it' : 'Show the question'}
            </a>
          )}
          <Acts>
            <Button
              icon="replay"
              class={event.question === undefined ? 'primary' : ''}
              disabled={!isKept || busy !== undefined}
              onClick={askReplay}
            >
              {busy ?? (second.length > 0 ? 'Replay…' : 'Replay')}
            </Button>
            <Button icon="edit" disabled={!isKept} onClick={opens('edit')}>
              Edit and replay…
            </Button>
          </Acts>
          <Button icon="copy" disabled={!isKept} onClick={copyCurl}>
            Copy as curl
          </Button>
          <Button icon="switch" onClick={opens('compare')}>
            Compare…
          </Button>
          {canCancel ? (
            <Button class="risky" onClick={opens('cancel')}>
              Cancel run…
            </Button>
          ) : null}
          <Button
            icon="download"
            class="quiet icon-only"
            aria-label="Download JSON"
            title="Download JSON"
            onClick={download}
          >
            <span class="only-s" aria-hidden="true">
              Download JSON
            </span>
          </Button>
        </div>
      </div>
      <Verdict
        mark={mark}
        tone={tone}
        title={withLocalTimes(event.verdict.text, Date.now())}
        {...(event.verdict.detail === '' ? {} : { more: withCode(withLocalTimes(event.verdict.detail, Date.now())) })}
        {...(event.verdict.place === undefined ? {} : { buttons: <CauseLink place={event.verdict.place} /> })}
      />
      <EndWords event={event} />
      <EventPapers key={event.key} event={event} />
      <EventTimeline event={event} />
      <EventDeliveries event={event} onChanged={again} />
      {open === 'edit' ? <EditAndReplay event={event} onClose={close} /> : null}
      {open === 'compare' ? <CompareEvents event={event} onClose={close} /> : null}
      {open === 'replay' ? (
        <Confirm title="Replay this event?" yes="Replay" busy={busy} danger={false} onYes={replay} onClose={close}>
          <p>{`${places.join(' and ')} ${places.length === 1 ? 'gets' : 'get'} a second message.`}</p>
        </Confirm>
      ) : null}
      {open === 'cancel' ? (
        <Confirm title="Cancel the run?" yes="Cancel run" busy={busy} onYes={cancel} onClose={close}>
          <p>
            The agent is stopped and nothing is delivered. What its tools have done stays. The event can be replayed.
          </p>
        </Confirm>
      ) : null}
    </>
  );
}

function CauseLink({ place: named }: { readonly place: string }): JSX.Element {
  return (
    <a class="btn" href={hashTo(named)}>
      {{ routes: 'Show the routes', config: 'Open config' }[named] ?? 'Open the route'}
    </a>
  );
}

function Meta({ event }: { readonly event: OpenedEvent }): JSX.Element {
  const { replayOf, replays } = event;
  const [newest] = replays;
  return (
    <p class="meta">
      <MetaTime name="Received" at={event.received} />
      <MetaFact name="Took">
        {event.ended === undefined ? undefined : formatTook(event.ended - event.received)}
      </MetaFact>
      <MetaFact name="Source">{event.sender}</MetaFact>
      <MetaFact name="Profile">{event.profile === 'default' ? undefined : event.profile}</MetaFact>
      <MetaFact name="Node">{event.node}</MetaFact>
      <MetaFact name="Id">
        <code>{event.delivery}</code>
        <Button
          icon="copy"
          class="quiet icon-only"
          aria-label="Copy id"
          onClick={() => void copyText(event.delivery)}
        />
      </MetaFact>
      {replayOf === undefined ? null : (
        <span>
          {event.edited ? 'Edited replay' : 'Replay'} of <a href={hashOf('events', replayOf)}>{replayOf}</a>
        </span>
      )}
      {newest === undefined ? null : (
        <span>
          {replays.length === 1 ? 'Replayed as ' : `Replayed ${replays.length} times, last as `}
          <a href={hashOf('events', newest.key)}>{newest.key}</a>
        </span>
      )}
    </p>
  );
}

/** Announces once that an event has ended, if it was under way before. */
function EndWords({ event: { key, ended, verdict } }: { readonly event: OpenedEvent }): JSX.Element {
  const wasOpen = useRef('');
  const [words, setWords] = useState('');
  useEffect(() => {
    if (ended === undefined) wasOpen.current = key;
    else if (wasOpen.current === key) {
      wasOpen.current = '';
      setWords(withLocalTimes(verdict.text, Date.now()));
    }
  }, [key, ended, verdict.text]);
  return (
    <p class="unseen" role="status">
      {words}
    </p>
  );
}

async function downloadEvent(id: string): Promise<void> {
  const event = await call('events.open', { id, whole: true });
  saveFile(`event-${id}.json`, JSON.stringify(event, null, 2));
}
