/**
 * What the events view shows instead of rows: no event in the range, no match, or why a search failed.
 * @see INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { searchIn } from '../../../../machines/base/event-query.ts';
import { counted } from '../data/format.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { Button } from '../parts/button.tsx';
import { Empty } from '../parts/panel.tsx';

interface NoEventsProps {
  readonly q: string;
  readonly range: string;
  /** "in this hour" */
  readonly inRange: string;
  /** "between 13:32 and 14:32" */
  readonly between: string;
  readonly onRange: (range: string) => void;
  readonly onClear: () => void;
  readonly onTest: () => void;
}

export function NoEvents(props: NoEventsProps): JSX.Element {
  return props.q.trim() === '' ? <NothingCame {...props} /> : <NothingMatches {...props} />;
}

function NothingCame({ range, inRange, onRange, onTest }: NoEventsProps): JSX.Element {
  return (
    <Empty
      title={range === 'all' ? 'No event has come yet.' : `No events ${inRange}.`}
      buttons={
        range === 'all' ? null : range === '24h' || range === '7d' ? (
          <Button onClick={() => onRange('all')}>Show all events</Button>
        ) : (
          <Button onClick={() => onRange('24h')}>Show last 24 hours</Button>
        )
      }
      acts={<Button onClick={onTest}>Send test event…</Button>}
    />
  );
}

function NothingMatches({ q: typed, range, between, onRange, onClear }: NoEventsProps): JSX.Element {
  const profile = useProfile();
  const [all, q] = [searchIn('', profile), searchIn(typed, profile)];
  const inRange = useAsked(`events of ${all} in ${range}`, () => call('events.search', { q: all, range, limit: 0 }));
  const wider = range === '7d' || range === 'all' ? 'all' : '7d';
  const elsewhere = useAsked(`events of ${q} in ${wider}`, () => call('events.search', { q, range: wider, limit: 0 }));
  // A count that could not read its complete range is too low.
  const isAll = inRange.asked.kind === 'there' && inRange.asked.value.counted_from === undefined;
  const searched = inRange.asked.kind === 'there' && isAll ? inRange.asked.value.total : undefined;
  const found = elsewhere.asked.kind === 'there' ? elsewhere.asked.value.total : 0;
  const isPart = elsewhere.asked.kind === 'there' && elsewhere.asked.value.counted_from !== undefined;
  const where = wider === '7d' ? 'in the last 7 days' : 'in the history';
  return (
    <Empty
      title="No event matches"
      buttons={
        <>
          {found === 0 ? null : (
            <Button class="primary" onClick={() => onRange(wider)}>
              Show {found.toLocaleString('en')} {where}
            </Button>
          )}
          <Button onClick={onClear}>Clear filters</Button>
        </>
      }
    >
      {searched === undefined ? 'Searched' : `Searched all ${counted(searched, 'event')}`} {between}, payloads included.
      {found === 0 ? '' : ` The same search finds ${isPart ? 'at least ' : ''}${counted(found, 'event')} ${where}.`}
    </Empty>
  );
}
