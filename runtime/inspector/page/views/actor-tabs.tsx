/** The transitions of an actor, its context, and the events that it received. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { eventWords } from '../../../../machines/base/status.ts';
import type { ActorDetails, EventRow, StepRow } from '../../../control/contract/wire.ts';
import { formatState, formatStep } from '../data/format.ts';
import { Clock } from '../parts/basics.tsx';
import { Tabs } from '../parts/choice.tsx';
import { JsonCode } from '../parts/code.tsx';
import { Empty } from '../parts/panel.tsx';

const maxSteps = 60;
const tabs = [
  ['transitions', 'Transitions'],
  ['context', 'Context'],
  ['events', 'Events received'],
] as const;

interface ActorTabsProps {
  readonly steps: readonly StepRow[];
  readonly details: ActorDetails | undefined;
}

export function ActorTabs({ steps, details }: ActorTabsProps): JSX.Element {
  const [tab, setTab] = useState<(typeof tabs)[number][0]>('transitions');
  return (
    <div>
      <Tabs label="Actor" value={tab} options={tabs} onChoose={setTab}>
        <div class="panel tabbed">
          {tab === 'transitions' ? <Transitions steps={steps} /> : null}
          {tab === 'context' && details !== undefined ? (
            <JsonCode value={details.context} label="Context, without secrets" />
          ) : null}
          {tab === 'events' ? <Received events={details?.events ?? []} /> : null}
        </div>
      </Tabs>
    </div>
  );
}

function Transitions({ steps }: { readonly steps: readonly StepRow[] }): JSX.Element {
  const latest = steps.slice(-maxSteps).reverse();
  if (latest.length === 0) return <Empty title="No transition has been seen since the daemon keeps them." />;
  return (
    <table class="fixed wrap-s steps" aria-label="Transitions, newest first">
      <tbody>
        {latest.map((step, at) => (
          <tr key={`${step.seq} ${step.at}`}>
            <td class="num muted when">
              <Clock at={step.at} />
            </td>
            <td class="right num muted not-s span">{formatStep(step.at - (latest[at + 1]?.at ?? step.at))}</td>
            <td>
              <span class="muted">
                {formatState(step.from)}
                <span aria-hidden="true"> → </span>
                <span class="unseen"> to </span>
              </span>
              <b class="strong">{formatState(step.to)}</b>
            </td>
            <td class="muted wrap">
              <code>{eventWords(step.event)}</code> {step.why}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Received({ events }: { readonly events: readonly EventRow[] }): JSX.Element {
  if (events.length === 0) return <Empty title="No events were seen while this page was open." />;
  return (
    <table class="fixed wrap-s steps" aria-label="Events received, newest first">
      <tbody>
        {events.toReversed().map((event) => (
          <tr key={`${event.at} ${event.type}`}>
            <td class="num muted when">
              <Clock at={event.at} />
            </td>
            <td>
              <code>{event.type}</code> {event.from === '' ? null : <span class="muted">from {event.from}</span>}
            </td>
            <td class="muted wrap not-s">
              <code>{JSON.stringify(event.event)}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
