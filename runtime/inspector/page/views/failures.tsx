/**
 * Failures: failed deliveries, grouped by cause, target or route, with what to do, whether a retry can help, and actions on
 * several at once. Dropping needs a confirmation.
 * @see INS-4 and DLV-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { searchIn } from '../../../../machines/base/event-query.ts';
import { daemonNow } from '../data/clock.ts';
import { deliveriesWords } from '../data/failures.ts';
import { counted } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { goFiltered } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked, useKept } from '../data/rpc.ts';
import { useFollowed, useFresh } from '../data/use-fresh.ts';
import { BareSelect } from '../parts/bare-select.tsx';
import { Button } from '../parts/button.tsx';
import { Segmented } from '../parts/choice.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, type CountProps, Empty } from '../parts/panel.tsx';
import { FailureGroupPanel } from './failures-group.tsx';
import { FailureList } from './failures-list.tsx';

const retrying = hashOf('events', '', { q: 'status:retrying', range: 'all' });
const changing = /^delivery$/;
const groupings = [
  ['cause', 'By cause'],
  ['target', 'By target'],
  ['route', 'By route'],
  ['none', 'Not grouped'],
] as const;
type Grouping = (typeof groupings)[number][0];

const states = [
  ['open', 'Open'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 h'],
  ['7d', 'Last 7 d'],
  ['dropped', 'Dropped'],
] as const;
const hours: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 168 };

export function Failures({ place }: { readonly place: Place }): JSX.Element {
  const by = groupings.find(([name]) => name === place.query.by)?.[0] ?? 'cause';
  const shown = states.find(([name]) => name === place.query.state)?.[0] ?? 'open';
  const state = shown === 'dropped' ? shown : 'open';
  // Counts the changes made here, so that lists read again.
  const [version, setVersion] = useState(0);
  const profile = useProfile();
  const only = profile === undefined ? {} : { profile };
  const asking = useAsked(`failures ${by} ${shown} ${place.chosen} ${profile ?? ''}`, async () => {
    const since = sinceOf(hours[shown]);
    const all = {
      ...(await call('failures.groups', { state, ...since, ...only, ...(by === 'none' ? {} : { by }) })),
      since,
    };
    // A group that a link leads to is shown alone while it exists.
    const alone = by === 'none' ? undefined : all.groups.find(({ key }) => key === place.chosen);
    return alone === undefined ? all : { ...all, count: alone.count, groups: [alone] };
  });
  const { asked, again, failed } = useKept(asking);
  const changed = (): Promise<void> => {
    setVersion((before) => before + 1);
    return again();
  };
  useFresh(changing, changed);
  const change = (part: Readonly<Record<string, string>>): void => goFiltered({ ...place.query, ...part });
  const found = asked.kind === 'there' ? asked.value : undefined;
  return (
    <>
      <Head
        title="Failures"
        count={found === undefined ? '' : countWords(found.count, found.groups.length, by)}
        profile={profile}
      >
        <span class="not-s">
          <Segmented label="Group by" value={by} options={groupings} onChoose={(value) => change({ by: value })} />
        </span>
        <span class="filter-s">
          <BareSelect
            class="only-s"
            label="Group by"
            value={by}
            options={groupings}
            onChoose={(value) => change({ by: value })}
          />
          <BareSelect label="State" value={shown} options={states} onChoose={(value) => change({ state: value })} />
        </span>
      </Head>
      <Body>
        <Answer {...{ asked, again, failed }} what="The failures">
          {({ count, groups, since }) => {
            if (count === 0 && shown in hours)
              return (
                <Empty
                  title="No delivery failed in that time."
                  buttons={<Button onClick={() => change({ state: 'open' })}>Show all open ones</Button>}
                />
              );
            if (count === 0) return state === 'open' ? <NoneOpen /> : <Empty title="No dropped deliveries." />;
            if (by === 'none') {
              return (
                <section class="panel" aria-label="Failed deliveries">
                  <FailureList choice={{ state, ...since }} count={count} version={version} onChanged={changed} />
                </section>
              );
            }
            return (
              <>
                {groups.map((group, at) => (
                  <FailureGroupPanel
                    key={group.key}
                    group={group}
                    choice={{ state, ...since }}
                    first={at === 0}
                    version={version}
                    onChanged={changed}
                  />
                ))}
                {groups[0]?.key === place.chosen ? (
                  <p>
                    <a href={hashOf('failures')}>Show all failures</a>
                  </p>
                ) : null}
              </>
            );
          }}
        </Answer>
        {state === 'open' ? (
          <p class="muted small">
            The gateway itself tries others again: <a href={retrying}>show them in Events</a>.
          </p>
        ) : null}
      </Body>
    </>
  );
}

/** To the minute, so that the lists of one minute are the same. */
function sinceOf(hours: number | undefined): { readonly since?: string } {
  if (hours === undefined) return {};
  const minute = Math.floor(daemonNow() / 60_000) - hours * 60;
  return { since: new Date(minute * 60_000).toISOString() };
}

/** Events can fail without a delivery that waits: their runs failed, or their senders were answered. */
function NoneOpen(): JSX.Element | null {
  const profile = useProfile();
  const search = { q: 'status:failed', range: '24h' };
  const { asked } = useAsked(`failed events ${profile ?? ''}`, () =>
    call('events.search', { ...search, q: searchIn(search.q, profile), limit: 0 }),
  );
  if (asked.kind === 'waiting') return null;
  const failed = asked.kind === 'there' ? asked.value.chips.failed : 0;
  if (failed === 0) return <Empty title="No failed deliveries." />;
  return (
    <Empty title="No failed deliveries wait for you.">
      <a href={hashOf('events', '', search)}>{counted(failed, 'event')} failed</a> in the last 24 hours.
    </Empty>
  );
}

function countWords(count: number, groups: number, by: Grouping): string {
  return by === 'none' || count === 0
    ? deliveriesWords(count)
    : `${deliveriesWords(count)} in ${counted(groups, 'group')}`;
}

export function useFailuresCount(): CountProps | undefined {
  const profile = useProfile();
  const { asked } = useFollowed(changing, `failures count ${profile ?? ''}`, () =>
    call('failures.groups', profile === undefined ? {} : { profile }),
  );
  const count = asked.kind === 'there' ? asked.value.count : 0;
  return count === 0 ? undefined : { count, tone: 'bad', words: count === 1 ? 'open failure' : 'open failures' };
}
