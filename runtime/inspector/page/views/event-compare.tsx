/** The dialog that compares the payload of an event with that of another, key by key. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { OpenedEvent } from '../../../control/contract/event-wire.ts';
import { useNow } from '../data/clock.ts';
import { changedLines, comparable, differencesOf } from '../data/differences.ts';
import { counted, formatClock } from '../data/format.ts';
import { call, useAsked } from '../data/rpc.ts';
import { Field, Segmented } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Difference } from '../parts/difference.tsx';

interface CompareEventsProps {
  readonly event: OpenedEvent;
  readonly onClose: () => void;
}

export function CompareEvents({ event, onClose }: CompareEventsProps): JSX.Element {
  const [how, setHow] = useState<'previous' | 'id'>('previous');
  const [typed, setTyped] = useState('');
  const other = how === 'id' ? typed.trim() : '';
  const now = useNow();
  const { asked } = useAsked(`compare ${event.key} ${how} ${other}`, async () => {
    const id = how === 'id' ? other : await previousOf(event);
    if (id === undefined || id === '') return undefined;
    const [mine, theirs] = await Promise.all([
      call('events.open', { id: event.key, whole: true }),
      call('events.open', { id, whole: true }),
    ]);
    return { theirs, lines: differencesOf(comparable(theirs.payload.text), comparable(mine.payload.text)) };
  });
  const found = asked.kind === 'there' ? asked.value : undefined;
  return (
    <Dialog title="Compare" sheet onClose={onClose}>
      <div class="in">
        <Segmented
          label="Compare with"
          value={how}
          options={[
            ['previous', `Previous of ${event.route}`],
            ['id', 'Another event'],
          ]}
          onChoose={setHow}
        />
        {how === 'id' ? <Field label="Id of the other event" mono value={typed} onInput={setTyped} /> : null}
        <p class="muted" role="status">
          {asked.kind === 'refused'
            ? asked.why
            : asked.kind === 'waiting'
              ? 'Loading…'
              : found === undefined
                ? how === 'id'
                  ? 'Type an id: its sender’s or the event’s key.'
                  : 'The history has no earlier event of this route.'
                : `${found.theirs.event}, ${formatClock(found.theirs.received, now)}: ${changeWords(changedLines(found.lines))}`}
        </p>
        {found === undefined || changedLines(found.lines) === 0 ? null : (
          <Difference lines={found.lines} label="Difference of the payloads" />
        )}
      </div>
    </Dialog>
  );
}

function changeWords(count: number): string {
  return count === 0 ? 'the payloads are equal.' : `${counted(count, 'line')} ${count === 1 ? 'differs' : 'differ'}.`;
}

/** Resolves with the key of the route's newest event before this one. */
async function previousOf({ key, route, profile }: OpenedEvent): Promise<string | undefined> {
  const rows = await call('webhook.deliveries', { route, profile, before: key, limit: 20 });
  return rows.find(({ status }) => status !== 'refused')?.key;
}
