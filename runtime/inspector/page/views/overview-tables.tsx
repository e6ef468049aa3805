/** The panels of the overview that list: work in progress, routes, servers, targets. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import { useNow } from '../data/clock.ts';
import { formatClock, formatFull, formatTook, sentenceCase } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import type { Overview, Range } from '../data/overview.ts';
import { markOf, rangeWords, routeState, shareWords, targetState } from '../data/overview-words.ts';
import { useProfile } from '../data/profile.ts';
import { serverState } from '../data/server-words.ts';
import { type MarkName, Status, StatusMark } from '../parts/chip.tsx';
import { Panel } from '../parts/panel.tsx';
import { Sparkline } from '../parts/plot.tsx';
import { type Column, Table } from '../parts/table.tsx';

type RouteRow = Overview['routes']['rows'][number];
type ServerRow = Overview['servers']['rows'][number];
type TargetRow = Overview['targets']['rows'][number];

export function InProgress({ open }: { readonly open: Overview['open'] }): JSX.Element {
  const rows: readonly (readonly [MarkName, string, string, number])[] = [
    ['working', 'Running', 'status:running', open.running],
    ['batching', 'Batching', 'status:batching', open.batching],
    ['waiting', 'Waiting for you', 'status:waiting', open.waiting],
    ['retrying', 'Retrying', 'status:retrying', open.retrying],
    ['queued', 'Queued', 'status:queued', open.queued],
    ['working', 'Delivering', 'status:delivering', open.delivering],
  ];
  // Of any age: a question and a retry may wait for longer than the range that the events are shown for at first.
  const placeOf = (q: string): string => hashOf('events', '', { q, range: 'all' });
  return (
    <Panel
      title="In progress"
      right={
        <a class="small" href={placeOf('status:open')}>
          Show events
        </a>
      }
    >
      {/* A caption out of sight would count as the first row, from which the columns have their widths. */}
      <table class="fixed" aria-label="Work in progress">
        <tbody>
          {rows.map(([mark, words, query, count]) => (
            <tr key={words}>
              <th scope="row" class="w60">
                <Status mark={mark} calm={count === 0}>
                  <a class="quiet-link" href={placeOf(query)}>
                    {words}
                  </a>
                </Status>
              </th>
              <td class="right num">
                {words === 'Queued' && open.more_queued ? 'over ' : ''}
                {count.toLocaleString('en')}
                {words === 'Running' ? ` of ${open.slots} ${open.slots === 1 ? 'slot' : 'slots'}` : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function Routes({ routes, range }: { readonly routes: Overview['routes']; readonly range: Range }): JSX.Element {
  const columns: readonly Column<RouteRow>[] = [
    { title: 'Route', cell: (row) => <Name row={row} view="routes" words={routeState(row)} /> },
    { title: 'Source', cell: ({ source }) => <span class="muted">{source}</span>, wide: 'most', width: '104px' },
    { title: 'Trend', cell: ({ trend }) => <Sparkline buckets={trend.map(barOf)} />, width: '92px' },
    { title: 'Events', cell: ({ events }) => events.toLocaleString('en'), right: true, wide: true, width: '64px' },
    { title: 'Failed', cell: (row) => <FailedShare row={row} />, right: true, width: '72px' },
    { title: 'Median', cell: ({ median_ms }) => <Median ms={median_ms} />, right: true, wide: 'most', width: '80px' },
    { title: 'Last event', cell: ({ last_at }) => <Last at={last_at} />, right: true, wide: true, width: '112px' },
  ];
  return (
    <Listed
      view="routes"
      found={routes}
      columns={columns}
      beside={<span class="muted small">{rangeWords(range)}</span>}
    />
  );
}

export function Servers({ servers }: { readonly servers: Overview['servers'] }): JSX.Element {
  const columns: readonly Column<ServerRow>[] = [
    { title: 'Server', cell: (row) => <Name row={row} view="servers" />, width: '32%' },
    { title: 'State', cell: (row) => <State row={row} words={serverState(row)} title={row.error} /> },
    { title: 'Calls', cell: ({ calls }) => <Counted count={calls} />, right: true, wide: true, width: '56px' },
    { title: 'Median', cell: ({ median_ms }) => <Median ms={median_ms} />, right: true, width: '84px' },
  ];
  return <Listed view="servers" found={servers} columns={columns} none="No servers yet." />;
}

export function Targets({ targets }: { readonly targets: Overview['targets'] }): JSX.Element {
  const columns: readonly Column<TargetRow>[] = [
    {
      title: 'Target',
      cell: (row) => <Name row={{ ...row, name: row.title }} view="targets" place={`${row.profile}/${row.name}`} />,
      width: '32%',
    },
    { title: 'State', cell: (row) => <State row={row} words={targetState(row)} title={row.error} /> },
    { title: 'Sent', cell: ({ sent }) => <Counted count={sent} />, right: true, wide: true, width: '56px' },
    {
      title: 'Failed',
      cell: ({ failed }) =>
        failed === 0 ? <Counted count={0} /> : <b class="toned bad">{failed.toLocaleString('en')}</b>,
      right: true,
      wide: true,
      width: '56px',
    },
    { title: 'Median', cell: ({ median_ms }) => <Median ms={median_ms} />, right: true, wide: 'most', width: '84px' },
  ];
  return <Listed view="targets" found={targets} columns={columns} none="Results go to the log." />;
}

type ListedView = 'routes' | 'servers' | 'targets';

/** The first rows of a view that lists, with a link to all of them. */
function Listed<Row extends Pick<RouteRow, 'profile' | 'name'>>({
  view,
  found: { rows, total },
  columns,
  beside,
  none,
}: {
  readonly view: ListedView;
  readonly found: { readonly rows: readonly Row[]; readonly total: number };
  readonly columns: readonly Column<Row>[];
  readonly beside?: JSX.Element;
  /** In place of the table, if there are no rows; absent where there are always some. */
  readonly none?: string;
}): JSX.Element {
  const title = sentenceCase(view);
  return (
    <Panel
      title={title}
      beside={beside}
      right={
        <a class="small" href={hashOf(view)}>
          {total < 2 ? `Show ${total === 0 ? view : view.slice(0, -1)}` : `All ${total.toLocaleString('en')} ${view}`}
        </a>
      }
    >
      {total === 0 && none !== undefined ? (
        <p class="pad muted">{none}</p>
      ) : (
        <Table label={title} columns={columns} rows={rows} keyOf={({ profile, name }) => `${profile}/${name}`} />
      )}
    </Panel>
  );
}

interface NameProps {
  readonly row: Pick<RouteRow, 'name' | 'profile' | 'health'>;
  readonly view: ListedView;
  readonly place?: string;
  readonly words?: string;
}

/** A name with its mark; the state is in words for screen readers if no column has it. */
function Name({ row, view, place = `${row.profile}/${row.name}`, words }: NameProps): JSX.Element {
  const chosen = useProfile();
  return (
    <span class="status calm">
      <StatusMark name={markOf(row)} />
      <a class="strong cut quiet-link" href={hashOf(view, place)}>
        {row.name}
      </a>
      {row.profile === 'default' || row.profile === chosen ? null : <span class="muted small cut">{row.profile}</span>}
      {words === undefined ? null : <span class="unseen">, {words}</span>}
    </span>
  );
}

interface StateProps {
  readonly row: Pick<RouteRow, 'health'>;
  readonly words: string;
  readonly title: string | undefined;
}

function State({ row, words, title }: StateProps): JSX.Element {
  const tone = { failing: 'bad', waiting: 'wait', retrying: 'wait' }[row.health as string];
  return (
    <span class={tone === undefined ? 'muted' : `toned ${tone}`} title={title}>
      {words}
    </span>
  );
}

function FailedShare({ row: { events, failed } }: { readonly row: RouteRow }): JSX.Element {
  const isMuch = events > 0 && failed * 2 >= events;
  return <span class={isMuch ? 'strong toned bad' : ''}>{shareWords(failed, events)}</span>;
}

function Counted({ count }: { readonly count: number }): JSX.Element {
  return <span class="muted">{count.toLocaleString('en')}</span>;
}

function Median({ ms }: { readonly ms: number | undefined }): JSX.Element {
  return <span class="muted">{ms === undefined ? '' : formatTook(ms)}</span>;
}

function Last({ at }: { readonly at: string | undefined }): JSX.Element {
  const now = useNow();
  return (
    <span class="muted" title={at === undefined ? '' : formatFull(at)}>
      {at === undefined ? '' : formatClock(at, now)}
    </span>
  );
}

function barOf([events, failed]: RouteRow['trend'][number]) {
  return { at: '', delivered: events - failed, ignored: 0, open: 0, failed };
}
