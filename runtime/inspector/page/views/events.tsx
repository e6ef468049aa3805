/**
 * Events: a search of the complete history, counts by outcome, a histogram, and a table whose rows stay in place while a
 * person reads them. An opened event is beside the list.
 * @see INS-4 and DUR-2 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { type ChipName, partsOfQuery, searchIn, withFilter } from '../../../../machines/base/event-query.ts';
import type { EventFound } from '../../../control/contract/events.ts';
import type { RouteRow } from '../../../control/contract/routes.ts';
import { useCell } from '../data/cell.ts';
import { daemonNow, today, useNow } from '../data/clock.ts';
import { connection, useIsGone } from '../data/connection.ts';
import { maxHeld } from '../data/event-list.ts';
import { chips, keyOfRow } from '../data/event-words.ts';
import { counted, formatClock, formatTime } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import { useKeys } from '../data/keys.ts';
import { link, nodes } from '../data/live.ts';
import { go, goFiltered, place } from '../data/place.ts';
import { rowsOf, useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { type EventsFound, useEvents } from '../data/use-events.ts';
import { useMedia } from '../data/use-media.ts';
import { Acts } from '../parts/acts.tsx';
import { BareSelect } from '../parts/bare-select.tsx';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { Segmented } from '../parts/choice.tsx';
import { Head } from '../parts/head.tsx';
import { Empty, Kbd } from '../parts/panel.tsx';
import { FreshChip, useNews, VirtualList } from '../parts/virtual-list.tsx';
import { EventPane } from './event.tsx';
import { ActOnAll } from './events-all.tsx';
import { CustomRange, TestEvent } from './events-dialogs.tsx';
import { NoEvents } from './events-empty.tsx';
import { ExportButton } from './events-export.tsx';
import { Histogram } from './events-histogram.tsx';
import { EventLine, HeadRow } from './events-row.tsx';
import { SearchBox } from './events-search.tsx';

const defaultRange = '1h';
const ranges = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
  ['all', 'All'],
  ['custom', 'Custom'],
] as const;
const wordsOfRange: Readonly<Record<string, string>> = {
  '15m': 'in the last 15 minutes',
  '1h': 'in this hour',
  '24h': 'in the last 24 hours',
  '7d': 'in the last 7 days',
  all: 'in the history',
};

export function Events({ place: { chosen, query } }: { readonly place: Place }): JSX.Element {
  const { range = defaultRange } = query;
  const q = searchOf(query);
  const isOpened = chosen !== '';
  const [isLive, setLive] = useState(true);
  const isGone = useIsGone();
  const isFull = useCell(connection) === 'full';
  const [dialog, setDialog] = useState<'test' | 'range' | undefined>(undefined);
  const profile = useProfile();
  const events = useEvents(searchIn(q, profile), range, isLive);
  const { found, busy } = events;
  const routes = useAsked('route names', () => call('webhook.list', { brief: true }));
  const known = rowsOf(routes.asked.kind === 'there' ? routes.asked.value : [], profile);
  const targets = useAsked('targets', () => call('deliveries.targets'));
  const targetNames = targets.asked.kind === 'there' ? targets.asked.value.map(({ target }) => target) : [];
  const changed = (part: Readonly<Record<string, string>>): Place['query'] => {
    const { route: _, status: __, ...rest } = query;
    const next = { ...rest, q, range, ...part };
    return { ...next, range: next.range === defaultRange ? '' : next.range };
  };
  /** A choice is an entry of the browser's history; what is typed replaces the present one. */
  const change: Change = (part) => go('events', chosen, changed(part));
  const fault = events.refused?.code === 'search-unreadable' ? events.refused.why : '';
  const withNode = (useCell(nodes) ?? 1) > 1;
  const openTest = (): void => setDialog('test');
  const close = (): void => setDialog(undefined);

  return (
    <>
      <Head title="Events" profile={profile}>
        <Button class="live" aria-pressed={isLive && !isGone} onClick={() => setLive(!isLive)}>
          <span class={`lamp${isLive && !isGone ? '' : ' off'}`} />
          {isFull ? 'Paused: too many pages' : isGone ? 'Paused: offline' : isLive ? 'Live' : 'Paused'}
        </Button>
        <ExportButton q={searchIn(q, profile)} range={range} />
        <Acts>
          <Button icon="bolt" class="not-s" onClick={openTest}>
            Send test event…
          </Button>
        </Acts>
      </Head>
      <div class={isOpened ? 'events split chosen' : 'events'}>
        <section class="list" aria-label="Events">
          <div class={withNode ? 'events-list with-node' : 'events-list'}>
            <div class="filters">
              <SearchBox
                value={q}
                values={valuesOf(known, targetNames, found?.list.rows ?? [])}
                fault={fault}
                onSearch={(next) => goFiltered(changed({ q: next.trim() }))}
              />
              {isOpened ? null : (
                <>
                  <RouteSelect q={q} routes={known} onChange={change} />
                  <Segmented
                    label="Time range"
                    value={ranges.find(([name]) => name === range)?.[0] ?? 'custom'}
                    options={ranges}
                    onChoose={(name) => (name === 'custom' ? setDialog('range') : change({ range: name }))}
                  />
                </>
              )}
            </div>
            {isOpened || found === undefined ? null : (
              <Outcomes q={q} found={found} onChange={change}>
                <Acts>
                  <ActOnAll q={searchIn(q, profile)} range={range} routes={known.map(({ name }) => name)} />
                </Acts>
              </Outcomes>
            )}
            <div class={`progress${busy && found !== undefined ? ' on' : ''}`} aria-hidden="true" />
            <EventRows
              {...{ events, q, range, chosen, query, fault, withNode }}
              onChange={change}
              onTest={openTest}
              onLive={() => setLive(!isLive)}
            />
          </div>
        </section>
        {isOpened ? (
          <div class="pane">
            <Button icon="back" class="quiet back" onClick={() => go('events', '', query)}>
              All events
            </Button>
            <div class="stack">
              <EventPane key={chosen} id={chosen} />
            </div>
          </div>
        ) : null}
      </div>
      {dialog === 'test' ? <TestEvent routes={testable(known)} onClose={close} /> : null}
      {dialog === 'range' ? (
        <CustomRange
          from={found?.counts.from ?? new Date(daemonNow() - 3_600_000).toISOString()}
          to={new Date(
            Math.min(daemonNow(), Date.parse(found?.counts.to ?? new Date(daemonNow()).toISOString())),
          ).toISOString()}
          onChoose={(next) => {
            close();
            change({ range: next });
          }}
          onClose={close}
        />
      ) : null}
    </>
  );
}

/** Changes the search or the range. */
type Change = (part: Readonly<{ q?: string; range?: string }>) => void;

interface OutcomesProps {
  readonly q: string;
  readonly found: EventsFound;
  readonly onChange: Change;
  /** Below the filters. */
  readonly children: ComponentChildren;
}

/** The counts by outcome, each a filter, and the histogram. */
function Outcomes({ q, found, onChange, children }: OutcomesProps): JSX.Element | null {
  const { counts } = found;
  const statuses = partsOfQuery(q).flatMap(({ filter, value }) => (filter === 'status' ? [value.toLowerCase()] : []));
  if (isEmpty(found) && statuses.length === 0) return null;
  const toggle = (name: ChipName): void => {
    const next = statuses.includes(name) ? statuses.filter((one) => one !== name) : [...statuses, name];
    onChange({ q: withFilter(q, 'status', next) });
  };
  return (
    <>
      <div class="filters outcomes">
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form. */}
        <div class="filters" role="group" aria-label="Outcome">
          {chips.map(([name, words, mark]) => (
            <Button key={name} class="pill" aria-pressed={statuses.includes(name)} onClick={() => toggle(name)}>
              <StatusMark name={mark} />
              {words} <span class="num muted">{counts.chips[name].toLocaleString('en')}</span>
            </Button>
          ))}
        </div>
        {children}
      </div>
      {counts.total === 0 ? null : (
        <Histogram
          counts={counts}
          onRange={(range) => onChange({ range })}
          onClear={() => onChange({ range: defaultRange })}
        />
      )}
    </>
  );
}

interface RowsProps {
  readonly events: ReturnType<typeof useEvents>;
  readonly q: string;
  readonly range: string;
  readonly chosen: string;
  readonly query: Place['query'];
  readonly fault: string;
  readonly withNode: boolean;
  readonly onChange: Change;
  readonly onTest: () => void;
  readonly onLive: () => void;
}

/** The rows, or why there are none. */
function EventRows(props: RowsProps): JSX.Element {
  const { events, q, range, chosen, query, fault, withNode, onChange } = props;
  const { found, refused } = events;
  const [marked, setMarked] = useState('');
  const isOpened = chosen !== '';
  const rowHeight = useMedia('(max-width: 760px)') || isOpened ? 52 : 32;
  const news = useNews(events.key, found?.list.rows ?? [], keyOfRow);
  const { rows } = news;
  const at = isOpened ? indexOf(rows, chosen) : rows.findIndex((row) => keyOfRow(row) === marked);
  // With the filters of that moment: a row is not drawn again for other ones.
  const open = (row: EventFound): void => go('events', keyOfRow(row), place.get().query);
  const move = (index: number): void => {
    const row = rows[index];
    // The opened event stays while no other can be loaded.
    if (row === undefined || (isOpened && link.get() === 'lost')) return;
    news.onReading(true);
    setMarked(keyOfRow(row));
    // So that Enter opens the row, also after J and K.
    document.querySelector<HTMLElement>('.events-list .virtual')?.focus({ preventScroll: true });
    if (isOpened) open(row);
  };
  const take = (): void => {
    setMarked('');
    news.take();
    document.querySelector('.events-list .virtual')?.scrollTo(0, 0);
  };
  useKeys('Events', [
    { key: 'j', label: 'Next event', run: () => move(Math.min(rows.length - 1, at + 1)) },
    { key: 'k', label: 'Previous event', run: () => move(Math.max(0, at - 1)) },
    { key: 'l', label: 'Live or paused', run: props.onLive },
    {
      key: 'f',
      label: 'Filter by outcome',
      run: () => document.querySelector<HTMLElement>('.outcomes button')?.focus(),
    },
    { key: '/', label: 'Search events', run: () => document.getElementById('search-events')?.focus() },
    ...(isOpened
      ? [{ key: 'Escape', label: 'Close the event', run: () => go('events', '', query) }]
      : marked === ''
        ? []
        : [{ key: 'Escape', label: 'Leave the row', run: () => setMarked('') }]),
  ]);
  const day = useCell(today);

  return (
    <>
      {isOpened || rows.length === 0 ? null : <HeadRow withNode={withNode} />}
      <div class={`fresh-place${rowHeight === 32 ? ' over-head' : ''}`}>
        <FreshChip waiting={news.waiting} isLeast={news.isLeast} noun="event" onTake={take} />
      </div>
      {found === undefined && refused === undefined ? (
        <Skeleton />
      ) : refused !== undefined && fault === '' ? (
        <Empty title="The events could not be loaded." buttons={<Button onClick={events.again}>Try again</Button>}>
          {withCode(refused.why)}
        </Empty>
      ) : fault !== '' && rows.length === 0 ? (
        <Empty title="This search cannot be read.">{withCode(fault)}</Empty>
      ) : found !== undefined && rows.length === 0 && found.counts.counted_from === undefined ? (
        <NoEvents
          {...{ q, range }}
          onRange={(next) => onChange({ range: next })}
          onClear={() => onChange({ q: '' })}
          inRange={wordsOfRange[range] ?? 'in this range'}
          between={betweenOf(found)}
          onTest={props.onTest}
        />
      ) : (
        <VirtualList
          count={rows.length}
          rowHeight={rowHeight}
          at={at}
          role="grid"
          label="Events, newest first"
          idOf={(index) => `event-${rows[index] === undefined ? index : keyOfRow(rows[index])}`}
          onMove={move}
          onKey={(event) => {
            const row = rows[at];
            if (event.key === 'Enter' && row !== undefined) open(row);
          }}
          onReading={(isRead) => news.onReading(isRead || marked !== '')}
          onHome={take}
          onEnd={events.older}
          draw={(index) => {
            const row = rows[index];
            return row === undefined ? null : (
              <EventLine
                row={row}
                id={`event-${keyOfRow(row)}`}
                index={index + 1}
                isMarked={index === at}
                withNode={withNode}
                day={day}
                onOpen={open}
              />
            );
          }}
        />
      )}
      {found === undefined ? null : <Ends found={found} search={events.key} held={rows.length} isOpened={isOpened} />}
    </>
  );
}

interface EndsProps {
  readonly found: EventsFound;
  /** Identifies the search that found them. */
  readonly search: string;
  readonly held: number;
  readonly isOpened: boolean;
}

/** The number of listed events, their range, and the progress of a search that is under way. */
function Ends({ found: { counts, list }, search, held, isOpened }: EndsProps): JSX.Element {
  const { counted_from: countedFrom, oldest_at: oldest } = counts;
  const now = useNow();
  const isFull = held >= maxHeld && list.cursor !== undefined;
  const isComplete = countedFrom === undefined;
  // Announced for each search, once it is complete: under traffic the number changes many times a second.
  const announced = useMemo(() => (isComplete ? counted(counts.total, 'event') : ''), [search, isComplete]);
  return (
    <div class="ends">
      <span class="unseen" role="status">
        {announced}
      </span>
      <span class="num">
        {countedFrom === undefined
          ? `${counted(counts.total, 'event')}, ${formatTime(counts.from, counts.bucket_ms)} to ${endOf(counts.to)}`
          : `${counted(counts.total, 'event')} so far; searched back to ${formatClock(countedFrom, now)}…`}
        {isFull ? `; the newest ${maxHeld.toLocaleString('en')} are listed, narrow the search for older ones` : ''}
      </span>
      {isOpened || oldest === undefined ? null : (
        <span class="num not-s">The history begins {formatClock(oldest, now)}</span>
      )}
      {isOpened ? null : (
        <span class="push not-s">
          <Kbd>J</Kbd> <Kbd>K</Kbd> move <Kbd>Enter</Kbd> open <Kbd>/</Kbd> search <Kbd>?</Kbd> all keys
        </span>
      )}
    </div>
  );
}

interface RouteSelectProps {
  readonly q: string;
  readonly routes: readonly RouteRow[];
  readonly onChange: Change;
}

function RouteSelect({ q, routes, onChange }: RouteSelectProps): JSX.Element {
  const chosen = partsOfQuery(q).flatMap(({ filter, value }) => (filter === 'route' ? [value] : []));
  const names = [...new Set([...routes.map(({ name }) => name).filter((name) => name !== ''), ...chosen])].sort();
  return (
    <BareSelect
      label="Route"
      class="btn not-s"
      value={chosen[0] ?? ''}
      options={[['', 'All routes'], ...names.map((name) => [name, name] as const)]}
      onChoose={(name) => onChange({ q: withFilter(q, 'route', name === '' ? [] : [name]) })}
    />
  );
}

/** Shown only before the first result; later results replace rows in place. */
function Skeleton(): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading…">
      {Array.from({ length: 12 }, (_, index) => (
        <i key={index} />
      ))}
    </div>
  );
}

/** Returns the search of a place; filters of earlier links are converted into it. */
function searchOf({ q = '', route = '', status = '' }: Place['query']): string {
  const withRoute = route === '' ? q : withFilter(q, 'route', [route]);
  return status === '' ? withRoute : withFilter(withRoute, 'status', [status]);
}

function isEmpty({ counts: { chips: counted } }: EventsFound): boolean {
  return chips.every(([name]) => counted[name] === 0);
}

/** Returns the row of an opened event; of those with a delivery id, the one that the daemon opens, or -1. */
function indexOf(rows: readonly EventFound[], id: string): number {
  const fits: readonly ((row: EventFound) => boolean)[] = [
    (row) => keyOfRow(row) === id || row.key === id,
    // Its repetitions, and refused requests of the same id, are newer.
    (row) => row.delivery_id === id && !/^(duplicate|refused)$/.test(row.status),
    (row) => row.delivery_id === id,
  ];
  return fits.map((fit) => rows.findIndex(fit)).find((index) => index >= 0) ?? -1;
}

function valuesOf(
  routes: readonly RouteRow[],
  targets: readonly string[],
  rows: readonly EventFound[],
): Readonly<Record<string, readonly string[]>> {
  const all = (values: readonly (string | undefined)[]): readonly string[] =>
    [...new Set(values.filter((one) => one !== undefined && one !== ''))].sort() as string[];
  return {
    route: all(routes.map(({ name }) => name)),
    profile: all(routes.map(({ profile }) => profile)),
    event: all(routes.flatMap(({ events }) => events)),
    node: all(rows.map(({ node }) => node)),
    target: all([...routes.flatMap(({ deliver }) => deliver.split(/,\s*/)), ...targets]),
  };
}

function testable(routes: readonly RouteRow[]): readonly { readonly name: string; readonly profile: string }[] {
  return routes.flatMap(({ name, profile, enabled }) =>
    name === '' || profile === undefined || enabled === false ? [] : [{ name, profile }],
  );
}

function betweenOf({ counts: { from, to, bucket_ms: widthMs } }: EventsFound): string {
  return `between ${formatTime(from, widthMs)} and ${endOf(to)}`;
}

function endOf(to: string): string {
  return Date.parse(to) >= daemonNow() ? 'now' : formatClock(to, daemonNow());
}
