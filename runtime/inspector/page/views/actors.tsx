/**
 * Actors: the tree of the running actors with their states, filters, and the chosen one beside it.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../data/cell.ts';
import { daemonNow, useNow } from '../data/clock.ts';
import { counted } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { go, goFiltered } from '../data/place.ts';
import { countActors, countStandings, isFiltering, type TreeFilter, treeLines, valuesOf } from '../data/tree.ts';
import { BareSelect, type BareSelectProps } from '../parts/bare-select.tsx';
import { Button } from '../parts/button.tsx';
import { Mark } from '../parts/chip.tsx';
import { SearchField } from '../parts/choice.tsx';
import { Head } from '../parts/head.tsx';
import { Empty } from '../parts/panel.tsx';
import { Split } from '../parts/split.tsx';
import { ActorPane } from './actor.tsx';
import { ActorTree, useFolded } from './actor-tree.tsx';
import { ActorsElsewhere, NodeChoice } from './actors-elsewhere.tsx';
import { DaemonPane } from './daemon-pane.tsx';

const spans = [
  [0, 'any time'],
  [10_000, '10 seconds'],
  [60_000, '1 minute'],
  [600_000, '10 minutes'],
  [3_600_000, '1 hour'],
  [86_400_000, '1 day'],
] as const;
const standings = [
  ['failed', 'Failed'],
  ['needsUser', 'Needs you'],
  ['retrying', 'Retrying'],
  ['working', 'Working'],
] as const;

/** Actors of this gateway are streamed; those of another one are read. */
export function Actors({ place }: { readonly place: Place }): JSX.Element {
  return (place.query.node ?? '') === '' ? <ActorsHere place={place} /> : <ActorsElsewhere place={place} />;
}

function ActorsHere({ place }: { readonly place: Place }): JSX.Element {
  const { rows, more, version } = useCell(living);
  const { folded, fold } = useFolded();
  const { chosen, query } = place;
  const filter = filterOf(query);
  // A filter by age depends on the time, everything else only on the actors.
  const now = useNow();
  const tick = filter.longerThanMs > 0 ? now : 0;
  const key = JSON.stringify(filter);
  const lines = useMemo(() => treeLines(rows, filter, { folded, nowMs: daemonNow() }), [version, key, folded, tick]);
  const counts = useMemo(() => countStandings(rows.values()), [version]);
  const total = useMemo(() => countActors(rows.values()), [version]);
  const open = (id: string): void => go('actors', id, query);

  return (
    <>
      <Head title="Actors" count={`${total.toLocaleString('en')} live`}>
        <NodeChoice node="" />
        {standings.map(([standing, word]) => (
          <Button
            key={standing}
            class={`round${standing === 'failed' && (counts.failed ?? 0) > 0 ? '' : ' not-s'}`}
            aria-pressed={filter.standing === standing}
            onClick={() => goFiltered({ ...query, is: filter.standing === standing ? '' : standing })}
          >
            <Mark standing={standing} />
            {word} <span class="muted num">{counts[standing] ?? 0}</span>
          </Button>
        ))}
      </Head>
      <Split
        middle
        label="Tree of living actors"
        opened={chosen !== ''}
        back="All actors"
        onBack={() => open('')}
        list={
          <>
            <Filters
              filter={filter}
              query={query}
              shown={countActors(lines.flatMap(({ row, dimmed }) => (dimmed ? [] : [row])))}
              total={total}
              version={version}
            />
            {lines.length === 0 && rows.size > 0 ? (
              <NoLine count={total} />
            ) : (
              <ActorTree label="Living actors" {...{ lines, chosen, more, open, fold }} />
            )}
          </>
        }
      >
        {chosen === '' ? <DaemonPane /> : <ActorPane key={chosen} id={chosen} />}
      </Split>
    </>
  );
}

function NoLine({ count }: { readonly count: number }): JSX.Element {
  return (
    <Empty title="None matches" buttons={<Clear />}>
      {`None of the ${counted(count, 'living actor')} is like that. `}
      What has ended is listed in <a href={hashOf('events')}>Events</a>.
    </Empty>
  );
}

function Clear(): JSX.Element {
  return <Button onClick={() => goFiltered({})}>Clear filters</Button>;
}

function filterOf(query: Place['query']): TreeFilter {
  return {
    text: query.q ?? '',
    standing: standings.find(([one]) => one === query.is)?.[0] ?? '',
    longerThanMs: Number(query.longer ?? 0) || 0,
    route: query.route ?? '',
    server: query.server ?? '',
  };
}

interface FiltersProps {
  readonly filter: TreeFilter;
  readonly query: Place['query'];
  readonly shown: number;
  readonly total: number;
  readonly version: number;
}

function Filters({ filter, query, shown, total, version }: FiltersProps): JSX.Element {
  const { rows } = living.get();
  const { routes, servers } = useMemo(
    () => ({ routes: valuesOf(rows.values(), 'route'), servers: valuesOf(rows.values(), 'server') }),
    [version],
  );
  const change = (part: Readonly<Record<string, string>>): void => goFiltered({ ...query, ...part });
  const words = isFiltering(filter)
    ? `${shown.toLocaleString('en')} of ${counted(total, 'actor')}`
    : counted(total, 'actor');
  // Announced for each filter and once they are there: under traffic the number changes many times a second.
  const announced = useMemo(() => words, [...Object.values(filter), total === 0]);
  const isNarrowed = filter.longerThanMs > 0 || filter.route !== '' || filter.server !== '';
  const [isMore, setMore] = useState(isNarrowed);
  return (
    <search class="listhead">
      <SearchField label="Filter by name, machine, state or reason" value={filter.text} onInput={(q) => change({ q })}>
        <kbd>/</kbd>
      </SearchField>
      {isMore ? (
        <div class="narrowed">
          <Choice
            label="longer than"
            value={String(filter.longerThanMs)}
            options={spans.map(([span, word]) => [String(span), word])}
            onChoose={(longer) => change({ longer: longer === '0' ? '' : longer })}
          />
          <Choice
            label="route"
            value={filter.route}
            options={optionsOf(routes, filter.route)}
            onChoose={(route) => change({ route })}
          />
          <Choice
            label="server"
            value={filter.server}
            options={optionsOf(servers, filter.server)}
            onChoose={(server) => change({ server })}
          />
        </div>
      ) : null}
      <div class="btns small">
        <span class="muted grow">{words}</span>
        <span class="unseen" role="status">
          {announced}
        </span>
        {isFiltering(filter) ? <Clear /> : null}
        <Button icon="filter" class="quiet" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          {isMore ? 'Fewer filters' : 'More filters'}
        </Button>
      </div>
    </search>
  );
}

function optionsOf(values: readonly string[], chosen: string): (readonly [string, string])[] {
  const all = chosen === '' || values.includes(chosen) ? values : [chosen, ...values];
  return [['', 'all'], ...all.map((one) => [one, one] as const)];
}

function Choice(props: BareSelectProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the choice is a select
    <label class="field">
      <span>{props.label}</span>
      <BareSelect {...props} />
    </label>
  );
}
