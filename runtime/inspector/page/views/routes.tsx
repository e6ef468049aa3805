/**
 * Routes: every webhook route with its mark; the opened one with its address, what it receives and does, its events of a
 * day, a test, and its refused requests.
 * @see INS-4 and SRC-5 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RouteMark, RouteRow } from '../../../control/contract/routes.ts';
import { formatTargets } from '../data/event-words.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { routesVersion } from '../data/live.ts';
import { goWithin } from '../data/place.ts';
import { call, useKept } from '../data/rpc.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { useMedia } from '../data/use-media.ts';
import { useAgain } from '../data/use-nodes.ts';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { Empty } from '../parts/panel.tsx';
import { ListAndPane, useListing } from './list-and-pane.tsx';
import { RoutePane, routeMarks } from './routes-detail.tsx';
import { SubscriptionDialog } from './routes-subscription.tsx';

/** Failing ones first, then by name, so that rows keep their places. */
const order: Readonly<Record<RouteMark, number>> = {
  failing: 0,
  held: 1,
  retrying: 1,
  healthy: 2,
  quiet: 2,
  disabled: 3,
};
const continueMs = 1_000;
const isRead = { kind: 'waiting' } as const;
const changing = /^(webhookRequest|agentRun|delivery)$/;

export function Routes({ place }: { readonly place: Place }): JSX.Element {
  const asking = useKept(useFollowed(changing, 'routes', () => call('webhook.list')));
  const { asked, again } = asking;
  useEffect(() => routesVersion.onChange(again), [again]);
  const isPart = asked.kind === 'there' && asked.value.some((row) => row.last_24h?.counted_from !== undefined);
  // The next answer continues the reading of a long history.
  useAgain(isPart ? asking : { again, asked: isRead }, continueMs);
  const listing = useListing(asking, place, { sorted, textOf: ({ name, deliver }) => `${name} ${deliver}` });
  const [isAdding, setAdding] = useState(false);
  const isWide = !useMedia('(max-width: 1100px)');
  const first = useRef('');
  if (first.current === '' || !listing.all.some((row) => idOf(row) === first.current)) {
    const usable = listing.all.find(({ profile }) => profile !== undefined);
    first.current = usable === undefined ? '' : idOf(usable);
  }
  return (
    <>
      <ListAndPane
        view="routes"
        place={place}
        // A record that cannot be read has no profile, and no pane.
        listing={{ ...listing, every: listing.every.filter(({ profile }) => profile !== undefined) }}
        // Beside the list the first route is open by default, and stays open when another one fails.
        at={place.chosen === '' && isWide ? first.current : place.chosen}
        buttons={
          <Button icon="add" onClick={() => setAdding(true)}>
            New subscription…
          </Button>
        }
        none={
          <Empty
            title="No routes yet."
            acts={
              <a class="btn primary" href={hashOf('overview', 'first-steps')}>
                Add a route
              </a>
            }
          >
            A route takes the webhooks of one source. Routes of config.yaml are listed here too.
          </Empty>
        }
        unchosen={<Empty title="No route can be opened">Its row shows the problem.</Empty>}
        link={(row) => <RouteLink row={row} />}
      >
        {({ name, profile = '', mark = 'quiet' }) => (
          <RoutePane name={name} profile={profile} mark={mark} onChanged={again} />
        )}
      </ListAndPane>
      {isAdding ? (
        <SubscriptionDialog
          onClose={() => setAdding(false)}
          onDone={(made) => {
            again();
            goWithin('routes', made);
          }}
        />
      ) : null}
    </>
  );
}

function RouteLink({ row }: { readonly row: RouteRow }): JSX.Element {
  const { name, profile, deliver, problem, mark = 'quiet', last_event_at: last, last_hour: hour = 0 } = row;
  const [shape, word] =
    problem === undefined || profile !== undefined ? routeMarks[mark] : (['failed', 'Unusable'] as const);
  const { total = 0, failed = 0 } = row.last_24h ?? {};
  const rate = mark === 'failing' && total > 0 ? `${Math.round((failed / total) * 100)} % failed` : `${hour} / h`;
  return (
    <>
      <StatusMark name={shape} />
      <span>
        <span class="a cut">
          {name}
          <span class="unseen">, {word}</span>
          {profile === undefined || profile === 'default' ? '' : ` · ${profile}`}
        </span>
        <span class="b cut">{profile === undefined ? problem : `→ ${formatTargets(deliver)}`}</span>
      </span>
      <span class="c num">
        {profile === undefined ? '' : rate}
        <br />
        {last === undefined ? '' : <Clock at={last} />}
      </span>
    </>
  );
}

function sorted(rows: readonly RouteRow[]): readonly RouteRow[] {
  const rank = ({ mark = 'quiet', profile }: RouteRow): number => (profile === undefined ? -1 : order[mark]);
  return [...rows].sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}

function idOf({ profile = '', name }: RouteRow): string {
  return `${profile}/${name}`;
}
