/**
 * Now: the tree of the living actors with state, age and queue depth; filters; the chosen one beside it.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ActorRow } from '../../wire.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { counted } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { type Living, living, vitals } from '../data/live.ts';
import { go, goFiltered } from '../data/place.ts';
import { standingWords, wordsOfActor } from '../data/standing.ts';
import { countStandings, isFiltering, type TreeFilter, type TreeLine, treeLines, valuesOf } from '../data/tree.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Age, Nothing } from '../parts/basics.tsx';
import { Mark } from '../parts/chip.tsx';
import { OldBody } from '../parts/old-body.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { ActorPane } from './actor.tsx';

const rowHeight = 28;
const spans = [
  [0, 'any time'],
  [10_000, '10 seconds'],
  [60_000, '1 minute'],
  [600_000, '10 minutes'],
  [3_600_000, '1 hour'],
  [86_400_000, '1 day'],
] as const;
const standings = ['failed', 'retrying', 'needsUser', 'working'] as const;

function Now({ place }: { readonly place: Place }): JSX.Element {
  const { rows, more, version } = useCell(living);
  const [folded, setFolded] = useState<ReadonlyMap<string, boolean>>(new Map());
  const { chosen, query } = place;
  const filter = filterOf(query);
  // A filter by age changes with the time, the rest only with the actors.
  const now = useNow();
  const tick = filter.longerThanMs > 0 ? now : 0;
  const key = JSON.stringify(filter);
  const lines = useMemo(() => treeLines(rows, filter, { folded, nowMs: Date.now() }), [version, key, folded, tick]);
  const at = lines.findIndex(({ row }) => row.id === chosen);
  const fold = (line: TreeLine, close: boolean): void => setFolded((old) => new Map(old).set(line.row.id, close));

  function onKey(event: KeyboardEvent): void {
    const line = lines[at];
    if (line === undefined) return;
    if (event.key === 'ArrowRight' && line.children > 0) fold(line, false);
    else if (event.key === 'ArrowLeft' && line.open) fold(line, true);
    else if (event.key === 'ArrowLeft' && line.row.parent !== null) go('actors', line.row.parent, query);
    else return;
    event.preventDefault();
  }

  return (
    <div class={`split${chosen === '' ? '' : ' chosen'}`}>
      <section class="list" aria-label="Tree of the living">
        <Filters filter={filter} living={{ rows, more, version }} shown={lines.length} />
        {lines.length === 0 && rows.size > 0 ? (
          <NoLine count={rows.size} />
        ) : (
          <VirtualList
            count={lines.length}
            rowHeight={rowHeight}
            at={at}
            role="tree"
            label="Living actors"
            idOf={(index) => `actor-${lines[index]?.row.id ?? index}`}
            onMove={(index) => go('actors', lines[index]?.row.id ?? '', query)}
            onKey={onKey}
            draw={(index) => {
              const line = lines[index];
              return line === undefined ? null : (
                <TreeItem
                  line={line}
                  chosen={index === at}
                  more={more[line.row.id] ?? 0}
                  onChoose={() => go('actors', line.row.id, query)}
                  onFold={() => fold(line, line.open)}
                />
              );
            }}
          />
        )}
      </section>
      {chosen === '' ? <Overview /> : <ChosenPane id={chosen} query={query} />}
    </div>
  );
}

function NoLine({ count }: { readonly count: number }): JSX.Element {
  return (
    <Nothing title="None matches">
      {`None of the ${counted(count, 'living actor')} is like that. `}
      What has ended is told in <a href={hashOf('events')}>Events</a>.
    </Nothing>
  );
}

function ChosenPane({ id, query }: { readonly id: string; readonly query: Place['query'] }): JSX.Element {
  return (
    <div class="pane">
      <button type="button" class="quiet small back" onClick={() => go('actors', '', query)}>
        ← All actors
      </button>
      <ActorPane key={id} id={id} />
    </div>
  );
}

function filterOf(query: Place['query']): TreeFilter {
  const standing = [...standings].find((one) => one === query.is);
  return {
    text: query.q ?? '',
    standing: standing ?? '',
    longerThanMs: Number(query.longer ?? 0) || 0,
    route: query.route ?? '',
    server: query.server ?? '',
  };
}

function Filters({
  filter,
  living: { rows, version },
  shown,
}: {
  readonly filter: TreeFilter;
  readonly living: Living;
  readonly shown: number;
}): JSX.Element {
  const { counts, routes, servers } = useMemo(
    () => ({
      counts: countStandings(rows.values()),
      routes: valuesOf(rows.values(), 'route'),
      servers: valuesOf(rows.values(), 'server'),
    }),
    [version],
  );
  const change = (part: Readonly<Record<string, string>>): void =>
    goFiltered({
      q: filter.text,
      is: filter.standing,
      longer: filter.longerThanMs === 0 ? '' : String(filter.longerThanMs),
      route: filter.route,
      server: filter.server,
      ...part,
    });
  return (
    <search class="filters">
      <div class="row">
        <input
          type="search"
          placeholder="Filter by name, machine, state, reason"
          aria-label="Filter by name, machine, state or reason"
          value={filter.text}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
      </div>
      <div class="row">
        {standings.map((standing) => (
          <button
            key={standing}
            type="button"
            class={`toggle ${standing}`}
            aria-pressed={filter.standing === standing}
            onClick={() => change({ is: filter.standing === standing ? '' : standing })}
          >
            <Mark standing={standing} />
            {standingWords[standing]} <span class="num">{counts[standing] ?? 0}</span>
          </button>
        ))}
      </div>
      <div class="row choices">
        <label>
          <span>longer than</span>
          <select
            value={String(filter.longerThanMs)}
            onChange={(event) => change({ longer: event.currentTarget.value === '0' ? '' : event.currentTarget.value })}
          >
            {spans.map(([span, word]) => (
              <option key={span} value={String(span)}>
                {word}
              </option>
            ))}
          </select>
        </label>
        <Choice name="route" value={filter.route} values={routes} onChoose={(route) => change({ route })} />
        <Choice name="server" value={filter.server} values={servers} onChoose={(server) => change({ server })} />
      </div>
      <div class="row">
        <span class="muted total" role="status">
          {isFiltering(filter)
            ? `${counted(shown, 'line')} of ${counted(rows.size, 'actor')}`
            : counted(rows.size, 'actor')}
        </span>
        {isFiltering(filter) ? (
          <button type="button" class="quiet small" onClick={() => goFiltered({})}>
            Clear
          </button>
        ) : null}
      </div>
    </search>
  );
}

function Choice({
  name,
  value,
  values,
  onChoose,
}: {
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly onChoose: (value: string) => void;
}): JSX.Element | null {
  if (values.length === 0 && value === '') return null;
  const all = value === '' || values.includes(value) ? values : [value, ...values];
  return (
    <label>
      <span>{name}</span>
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        <option value="">all</option>
        {all.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TreeItemProps {
  readonly line: TreeLine;
  readonly chosen: boolean;
  /** Children that are not among the rows. */
  readonly more: number;
  readonly onChoose: () => void;
  readonly onFold: () => void;
}

function TreeItem({ line, chosen, more, onChoose, onFold }: TreeItemProps): JSX.Element {
  const { row, depth, name, children, open, dimmed, position, siblings } = line;
  const { standing, text } = wordsOfActor(row);
  const waiting = depthOf(row);
  const about = aboutOf(row, name);
  // A ward is a shelf: of interest is what lies on it.
  const isWard = row.machine.endsWith('Ward');
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree around it takes the keys.
    <div
      id={`actor-${row.id}`}
      class={`item ${standing}${chosen ? ' at' : ''}${dimmed ? ' dimmed' : ''}${isWard ? ' ward' : ''}`}
      role="treeitem"
      tabIndex={-1}
      aria-level={depth + 1}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={chosen}
      {...(children > 0 ? { 'aria-expanded': open } : {})}
      onClick={onChoose}
    >
      <span class="indent" style={{ width: `${depth * 16}px` }} />
      {children > 0 ? (
        <span
          class={`fold${open ? ' open' : ''}`}
          aria-hidden="true"
          onClick={(event) => {
            event.stopPropagation();
            onFold();
          }}
        />
      ) : (
        <span class="leaf" />
      )}
      {isWard ? null : <Mark standing={standing} />}
      <span class="name" title={name}>
        {name}
      </span>
      {about === '' ? null : <span class="about muted small">{about}</span>}
      {waiting > 0 ? (
        <span class="depth num" title={counted(waiting, 'waits', 'wait')}>
          {waiting.toLocaleString('en')}
          <span class="unseen"> {row.meta?.size === undefined ? 'waiting' : 'children'}</span>
        </span>
      ) : null}
      {more > 0 ? <span class="muted small">and {more.toLocaleString('en')} more</span> : null}
      <span class="why" title={row.why}>
        {row.why}
      </span>
      <span class="state">{isWard ? '' : text}</span>
      <span class="age num">{isWard ? '' : <Age at={row.since} />}</span>
    </div>
  );
}

/** Of one whose name is a number or a key: what it works on. */
function aboutOf({ meta = {} }: ActorRow, name: string): string {
  const { tool, server, route, event, target, delivery } = meta;
  const [first, second] = tool !== undefined ? [tool, undefined] : [target ?? route ?? server, delivery ?? event];
  return first === undefined || name.includes(first) ? '' : [first, second].filter(Boolean).join(' · ');
}

/** What waits in it: a ward's children, a burst's events, a connection's calls. */
function depthOf({ meta }: ActorRow): number {
  return meta?.size ?? meta?.waiting ?? 0;
}

/** What the daemon does as a whole, while no actor is chosen. */
function Overview(): JSX.Element {
  const seen = useCell(vitals);
  if (seen === undefined) return <div class="pane" />;
  const tables = [
    ['Living actors', Object.fromEntries(Object.entries(seen.actors).filter(([name]) => !name.endsWith('Ward')))],
    ['Requests since the start', seen.requests],
    ['Servers', seen.servers],
  ] as const;
  return (
    <section class="pane overview" aria-label="The daemon">
      <h2>The daemon</h2>
      <div class="tiles">
        <Tile
          name="runs"
          value={`${seen.runs.running} of ${seen.runs.concurrency}`}
          more={`${seen.runs.queued} queued`}
        />
        <Tile name="memory" value={`${Math.round(seen.memoryBytes / 1_048_576)} MB`} more="resident" />
        <Tile name="longest pause" value={`${Math.round(seen.lagMs)} ms`} more="in the last seconds" />
        <Tile
          name="approvals"
          value={String(seen.approvals)}
          more={seen.approvals === 1 ? 'waits for you' : 'wait for you'}
        />
      </div>
      <div class="tables">
        {tables.map(([title, counts]) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            {Object.keys(counts).length === 0 ? (
              <p class="muted">None.</p>
            ) : (
              <dl class="counts">
                {Object.entries(counts)
                  .filter(([, count]) => count > 0)
                  .sort(([, one], [, other]) => other - one)
                  .map(([name, count]) => (
                    <div key={name}>
                      <dt>{name}</dt>
                      <dd class="num">{count.toLocaleString('en')}</dd>
                    </div>
                  ))}
              </dl>
            )}
          </section>
        ))}
      </div>
      <p class="muted">
        Choose an actor to see its chart move. Home: <code>{seen.home}</code>
        {seen.url === null ? '' : ', webhooks at '}
        {seen.url === null ? null : <code>{seen.url}</code>}
      </p>
    </section>
  );
}

function Tile({
  name,
  value,
  more,
}: {
  readonly name: string;
  readonly value: string;
  readonly more: string;
}): JSX.Element {
  return (
    <div class="tile">
      <span class="name">{name}</span>
      <span class="value num">{value}</span>
      <span class="muted">{more}</span>
    </div>
  );
}

export const actors: ViewRow = {
  name: 'actors',
  title: 'Actors',
  group: 'System',
  icon: 'actors',
  letter: '',
  component: ({ place }) => (
    <OldBody title="Actors">
      <Now place={place} />
    </OldBody>
  ),
};
