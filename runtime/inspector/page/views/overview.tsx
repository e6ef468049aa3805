/**
 * Overview: what needs a person, events and their time to delivery, work in progress, the health of routes, servers and
 * targets. While the home has no route, the first steps.
 * @see INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import type { Place } from '../data/hash.ts';
import { type Overview, type Range, useOverview } from '../data/overview.ts';
import { rangeIn, ranges } from '../data/overview-words.ts';
import { goFiltered } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { Segmented } from '../parts/choice.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, Loading, Panel } from '../parts/panel.tsx';
import { FirstSteps, StepsLeft } from './first-steps.tsx';
import { DurationChart, RateChart } from './overview-charts.tsx';
import { Needs } from './overview-needs.tsx';
import { InProgress, Routes, Servers, Targets } from './overview-tables.tsx';

export function OverviewView({ place }: { readonly place: Place }): JSX.Element {
  const range = rangeIn(place.query.range);
  const profile = useProfile();
  const { asked, again, failed } = useOverview(range, profile);
  const isRouteless = asked.kind === 'there' && asked.value.routeless;
  if (isRouteless || place.chosen === 'first-steps') {
    return (
      <>
        <Head title="Overview" />
        <FirstSteps isRouteless={isRouteless} />
      </>
    );
  }
  return (
    <>
      <Head title="Overview" profile={profile}>
        <Segmented
          label="Time range"
          value={range}
          options={ranges}
          onChoose={(chosen) => goFiltered({ ...place.query, range: chosen })}
        />
      </Head>
      <Body>
        {asked.kind === 'waiting' ? (
          <Awaited />
        ) : (
          <Answer {...{ asked, again, failed }} what="The overview">
            {(found) => <Panels overview={found} range={range} />}
          </Answer>
        )}
      </Body>
    </>
  );
}

function Panels({ overview, range }: { readonly overview: Overview; readonly range: Range }): JSX.Element {
  return (
    <>
      <Needs needs={overview.needs}>
        <StepsLeft />
      </Needs>
      <div class="grid3">
        <RateChart events={overview.events} range={range} />
        <DurationChart events={overview.events} range={range} />
        <InProgress open={overview.open} />
      </div>
      <div class="grid2">
        <Routes routes={overview.routes} range={range} />
        <div class="stack">
          <Servers servers={overview.servers} />
          <Targets targets={overview.targets} />
        </div>
      </div>
    </>
  );
}

/** The panels with their titles, at their later height. */
function Awaited(): JSX.Element {
  const empty = (title: string, height: string): JSX.Element => (
    <Panel title={title}>
      <div style={{ minHeight: height }}>
        <Loading />
      </div>
    </Panel>
  );
  return (
    <>
      {empty('Needs attention', '48px')}
      <div class="grid3">
        {empty('Events per minute', '184px')}
        {empty('Time from request to delivery', '184px')}
        {empty('In progress', '184px')}
      </div>
      <div class="grid2">
        {empty('Routes', '248px')}
        <div class="stack">
          {empty('Servers', '176px')}
          {empty('Targets', '104px')}
        </div>
      </div>
    </>
  );
}
