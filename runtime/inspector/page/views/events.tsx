/**
 * Events: every delivery a row, newest first, with what became of it and why; filters; the whole story of the chosen one.
 * @see DUR-2 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { historyStatuses } from '../../../../machines/base/status.ts';
import { counted } from '../data/format.ts';
import { go, goFiltered, type Place } from '../data/place.ts';
import type { DeliveryRow } from '../data/rows.ts';
import { call, useAsked } from '../data/rpc.ts';
import { wordsOfRow } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Age, Nothing, Refused } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { StoryPane } from './story.tsx';

const rowHeight = 44;
const pageRows = 200;
const mostRows = 1_000;
const changing = /^(webhookRequest|coalescingGroup|agentRun|delivery|cronJob|approval)$/;

export function Events({ place }: { readonly place: Place }): JSX.Element {
  const { chosen, query } = place;
  const [limit, setLimit] = useState(pageRows);
  const { route = '', status = '', q = '' } = query;
  const { asked, again } = useAsked(`events ${route} ${status} ${limit}`, () =>
    call<readonly DeliveryRow[]>('webhook.deliveries', {
      limit,
      ...(route === '' ? {} : { route }),
      ...(status === '' ? {} : { status }),
    }),
  );
  const routes = useAsked('routes', () => call<readonly { readonly name: string }[]>('webhook.list'));
  useFresh(changing, again);
  const all = asked.kind === 'there' ? asked.value : undefined;
  const rows = useMemo(() => (all ?? []).filter((row) => holds(row, q)), [all, q]);
  const at = rows.findIndex((row) => keyOf(row) === chosen || row.delivery_id === chosen);
  const names =
    routes.asked.kind === 'there'
      ? [...new Set(routes.asked.value.map(({ name }) => name).filter((name) => name !== ''))]
      : [];
  const change = (part: Readonly<Record<string, string>>): void => goFiltered({ ...query, ...part });

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
                {historyStatuses.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
          </div>
          <div class="row">
            <span class="muted total" role="status">
              {all === undefined ? '' : counted(rows.length, 'delivery', 'deliveries')}
            </span>
            {all !== undefined && all.length >= limit && limit < mostRows ? (
              <button type="button" class="quiet small" onClick={() => setLimit(Math.min(mostRows, limit * 5))}>
                Older
              </button>
            ) : null}
          </div>
        </search>
        {asked.kind === 'refused' ? <Refused why={asked.why} /> : null}
        {all !== undefined && rows.length === 0 ? (
          <Nothing title={all.length === 0 && route === '' && status === '' ? 'No event has come yet' : 'None matches'}>
            Send one with <code>agent webhook test</code>, or point a platform at a route of{' '}
            <code>agent webhook list</code>.
          </Nothing>
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
          <StoryPane key={chosen} id={chosen} />
        </div>
      )}
    </div>
  );
}

function keyOf(row: DeliveryRow): string {
  return row.key ?? row.delivery_id;
}

function EventItem({
  row,
  chosen,
  onChoose,
}: {
  readonly row: DeliveryRow;
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

function holds(row: DeliveryRow, text: string): boolean {
  if (text === '') return true;
  const wanted = text.toLowerCase();
  return [row.delivery_id, row.event, row.reason ?? '', row.route, row.status, wordsOfRow(row).text].some((held) =>
    held.toLowerCase().includes(wanted),
  );
}
