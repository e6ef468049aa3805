/** A group of failures: what happened, what to do, when, how many; its buttons; and, when open, its rows. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FailureChoice, FailureGroupRow } from '../../../control/contract/deliveries.ts';
import { deliveriesWords, helpsWords, routesWords } from '../data/failures.ts';
import { Acts } from '../parts/acts.tsx';
import { Clock, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { Icon } from '../parts/icons.tsx';
import { Count } from '../parts/panel.tsx';
import { FailureActions } from './failures-actions.tsx';
import { FailureList } from './failures-list.tsx';

interface FailureGroupPanelProps {
  readonly group: FailureGroupRow;
  readonly choice: Omit<FailureChoice, 'profile'>;
  /** Whether it is open at first. */
  readonly first: boolean;
  readonly version: number;
  readonly onChanged: () => void;
}

export function FailureGroupPanel({ group, choice, first, version, onChanged }: FailureGroupPanelProps): JSX.Element {
  const [open, setOpen] = useState(first);
  const { state, since } = choice;
  const { key, title, helps, count, first: from, last: to } = group;
  // What to do is advice for those that wait for it.
  const advice = state === 'open' ? group.advice : '';
  const isUnsure = helps === 'unsure';
  return (
    <section class="panel" aria-label={title}>
      <header class={open ? 'grp' : 'grp bare'}>
        <Button
          class="quiet icon-only"
          aria-expanded={open}
          aria-label={`${open ? 'Hide' : 'Show'} the ${deliveriesWords(count)}`}
          onClick={() => setOpen(!open)}
        >
          <span class={`caret${open ? ' open' : ''}`} />
        </Button>
        <StatusMark name={isUnsure ? 'unconfirmed' : 'failed'} />
        <div class="grow">
          <h2>{withCode(title)}</h2>
          <p class="muted small">
            {group.routes.join() === title ? '' : routesWords(group)}
            {advice === '' ? '' : ' · '}
            {withCode(advice)}
            {advice === '' ? '' : helpsWords(group)}
          </p>
        </div>
        <Bars buckets={group.buckets} />
        <span class="right small muted num not-s times">
          {from === to ? (
            <Clock at={to} />
          ) : (
            <>
              first <Clock at={from} />
              <br />
              last <Clock at={to} />
            </>
          )}
        </span>
        <Count count={count} words={count === 1 ? 'delivery' : 'deliveries'} />
        {state === 'open' ? (
          <Acts>
            <FailureActions
              subject={{ kind: 'group', key, since, title, count, isUnsure }}
              onDone={onChanged}
              draw={({ retry, drop, resolve }) => (
                <div class="btns acts">
                  {isUnsure ? <Button onClick={resolve}>Resolve…</Button> : null}
                  <Button onClick={retry}>
                    {isUnsure ? null : <Icon name="replay" />}
                    {isUnsure ? 'Retry…' : count === 1 ? 'Retry' : 'Retry all'}
                  </Button>
                  {isUnsure ? null : (
                    <Button class="risky" onClick={drop}>
                      Drop…
                    </Button>
                  )}
                </div>
              )}
            />
          </Acts>
        ) : null}
      </header>
      {open ? (
        <FailureList choice={choice} group={group} count={count} version={version} onChanged={onChanged} />
      ) : null}
    </section>
  );
}

/** When they failed, on the same time axis for all groups. */
function Bars({ buckets }: { readonly buckets: readonly number[] }): JSX.Element {
  const max = Math.max(1, ...buckets);
  return (
    <svg class="failbars not-s" viewBox="0 0 72 20" aria-hidden="true">
      {buckets.map((count, at) => {
        const height = count === 0 ? 1 : 3 + (17 * count) / max;
        return <rect key={at} x={at * 6} y={20 - height} width="5" height={height} />;
      })}
    </svg>
  );
}
