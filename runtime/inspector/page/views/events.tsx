/**
 * Events: every delivery a row, newest first, with what became of it and why; filters; the whole story of the chosen one.
 * @see DUR-2 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { historyStatuses } from '../../../../machines/base/status.ts';
import { waitingForYou } from '../../../../machines/base/waiting.ts';
import type { HistoryRow } from '../../../control/contract.ts';
import { counted } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import type { Listed } from '../data/listed.ts';
import { go, goFiltered } from '../data/place.ts';
import { call, useAsked } from '../data/rpc.ts';
import { wordsOfRow } from '../data/standing.ts';
import { type DeliveryHistory, useHistory } from '../data/use-history.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Age, Nothing, Refused } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';
import { Body, Head } from '../parts/head.tsx';
import { OldBody } from '../parts/old-body.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { EventPane } from './event.tsx';

const rowHeight = 44;
const statuses = [...historyStatuses, waitingForYou];

function Events({ place }: { readonly place: Place }): JSX.Element {
  const { chosen, query } = place;
  const { route = '', status = '', q = '' } = query;
  const isWaiting = status === waitingForYou;
  // The daemon knows no such status: a run that waits is under way.
  const history = useHistory({ route, status: isWaiting ? 'running' : status });
  const { asked } = history;
  const routes = useAsked('routes', () => call('webhook.list'));
  const listed = asked.kind === 'there' ? asked.value : undefined;
  const holdsAll = (row: HistoryRow): boolean => holds(row, q) && (!isWaiting || row.question !== undefined);
  const rows = useMemo(() => (listed?.rows ?? []).filter(holdsAll), [listed, q, isWaiting]);
  const at = rows.findIndex((row) => keyOf(row) === chosen || row.delivery_id === chosen);
  const names =
    routes.asked.kind === 'there'
      ? [...new Set(routes.asked.value.map(({ name }) => name).filter((name) => name !== ''))]
      : [];
  const change = (part: Readonly<Record<string, string>>): void => goFiltered({ ...query, ...part });
  const isSearching = q !== '' || isWaiting;
  const isFiltered = isSearching || route !== '' || status !== '';
  const back =
    listed === undefined || listed.isWhole ? null : (
      <BackButton
        history={history}
        listed={listed}
        isQuiet={rows.length > 0}
        {...(isSearching ? { holds: holdsAll } : {})}
      />
    );
  const clear = isFiltered ? (
    <button type="button" class="quiet small" onClick={() => goFiltered({})}>
      Clear
    </button>
  ) : null;

  return (
    <div class={`split${chosen === '' ? '' : ' chosen'}`}>
      <section class="list" aria-label="Deliveries">
        <search class="filters">
          <div class="row">
            <input
              type="search"
              placeholder="Filter by id, event, reason"
              aria-label="Filter by id, event or reason"
              value={q}
              onInput={(event) => change({ q: event.currentTarget.value })}
            />
          </div>
          <div class="row choices">
            <label>
              <span>route</span>
              <select value={route} onChange={(event) => change({ route: event.currentTarget.value })}>
                <option value="">all</option>
                {(route === '' || names.includes(route) ? names : [route, ...names]).map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label>
              <span>status</span>
              <select value={status} onChange={(event) => change({ status: event.currentTarget.value })}>
                <option value="">all</option>
                {statuses.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <div class="row">
            <span class="muted total" role="status">
              {listed === undefined ? '' : totalWords(listed, isSearching ? rows.length : undefined)}
            </span>
            <span>
              {rows.length === 0 ? null : back}
              {clear}
            </span>
          </div>
        </search>
        {asked.kind === 'refused' ? <Refused why={asked.why} /> : null}
        {history.why === '' ? null : <Refused why={history.why} />}
        {listed !== undefined && rows.length === 0 ? (
          <NoRow listed={listed} isFiltered={isFiltered} back={back} />
        ) : (
          <VirtualList
            count={rows.length}
            rowHeight={rowHeight}
            at={at}
            role="listbox"
            label="Deliveries, newest first"
            idOf={(index) => `delivery-${rows[index] === undefined ? index : keyOf(rows[index])}`}
            onMove={(index) => rows[index] !== undefined && go('events', keyOf(rows[index]), query)}
            draw={(index) => {
              const row = rows[index];
              return row === undefined ? null : (
                <EventItem row={row} chosen={index === at} onChoose={() => go('events', keyOf(row), query)} />
              );
            }}
          />
        )}
      </section>
      {chosen === '' ? (
        <div class="pane">
          <Nothing title="Choose a delivery">
            Its whole story is told here: which signature scheme was chosen, which condition failed and what it saw,
            what the agent was asked and answered, where the text went.
          </Nothing>
        </div>
      ) : (
        <div class="pane">
          <button type="button" class="quiet small back" onClick={() => go('events', '', query)}>
            ← All deliveries
          </button>
          <EventPane key={chosen} id={chosen} />
        </div>
      )}
    </div>
  );
}

/** What was looked at is said, so that nobody takes a page for the history. */
function totalWords({ rows, isWhole }: Listed<HistoryRow>, found: number | undefined): string {
  const count = rows.length.toLocaleString('en');
  if (found === undefined)
    return isWhole ? counted(rows.length, 'delivery', 'deliveries') : `${count} newest deliveries`;
  return `${found.toLocaleString('en')} of ${isWhole ? `all ${count}` : `the newest ${count}`}`;
}

function BackButton({
  history,
  listed,
  isQuiet,
  holds,
}: {
  readonly history: DeliveryHistory;
  readonly listed: Listed<HistoryRow>;
  readonly isQuiet: boolean;
  /** What is searched for; absent where one page more is wanted. */
  readonly holds?: (row: HistoryRow) => boolean;
}): JSX.Element {
  const words = holds === undefined ? 'Older' : 'Search older';
  return (
    <button
      type="button"
      class={isQuiet ? 'quiet small' : ''}
      aria-disabled={history.busy}
      onClick={() => (holds === undefined ? history.older() : history.search(holds))}
    >
      {history.busy ? `Looked at ${listed.rows.length.toLocaleString('en')}…` : words}
    </button>
  );
}

function NoRow({
  listed: { rows, isWhole },
  isFiltered,
  back,
}: {
  readonly listed: Listed<HistoryRow>;
  readonly isFiltered: boolean;
  readonly back: JSX.Element | null;
}): JSX.Element {
  if (!isFiltered) {
    return (
      <Nothing title="No event has come yet">
        Send one with <code>agent webhook test</code> and the name of a route of <code>agent webhook list</code>, or
        point a platform at its URL.
      </Nothing>
    );
  }
  if (rows.length === 0) {
    return <Nothing title="None matches">No delivery of this route and status is in the history.</Nothing>;
  }
  const count = rows.length.toLocaleString('en');
  return isWhole ? (
    <Nothing title="None matches">{`All ${count} of the history were searched.`}</Nothing>
  ) : (
    <Nothing title={`None of the newest ${count} matches`}>
      There are older ones.
      <br />
      {back}
    </Nothing>
  );
}

function keyOf(row: HistoryRow): string {
  return row.alike?.first_key ?? row.key ?? row.delivery_id;
}

function EventItem({
  row,
  chosen,
  onChoose,
}: {
  readonly row: HistoryRow;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list around it takes the keys.
    <div
      id={`delivery-${keyOf(row)}`}
      class={`event${chosen ? ' at' : ''}`}
      role="option"
      tabIndex={-1}
      aria-selected={chosen}
      onClick={onChoose}
    >
      <span class="first">
        <span class="route">{row.route}</span>
        <span class="kind">{row.event}</span>
        {row.alike === undefined ? null : (
          <span class="depth num" title={`Equal requests of one address, since ${row.alike.first_at}`}>
            ×{row.alike.count.toLocaleString('en')}
          </span>
        )}
        {row.attempts > 1 ? <span class="depth num">{row.attempts} attempts</span> : null}
        <Chip {...wordsOfRow(row)} />
        <span class="age num">
          <Age at={row.received_at} />
        </span>
      </span>
      <span class="second">
        <code>{row.delivery_id}</code>
        <span class="why">{row.reason}</span>
      </span>
    </div>
  );
}

function holds(row: HistoryRow, text: string): boolean {
  if (text === '') return true;
  const wanted = text.toLowerCase();
  return [row.delivery_id, row.event, row.reason ?? '', row.route, row.status, wordsOfRow(row).text].some((held) =>
    held.toLowerCase().includes(wanted),
  );
}

export const events: ViewRow = {
  name: 'events',
  title: 'Events',
  group: '',
  icon: 'events',
  letter: 'e',
  component: ({ place }) =>
    place.chosen === '' ? (
      <OldBody title="Events">
        <Events place={place} />
      </OldBody>
    ) : (
      <>
        <Head title="Events" count={place.chosen} />
        <Body>
          <EventPane key={place.chosen} id={place.chosen} />
        </Body>
      </>
    ),
};
