/** Needs attention: each item with the one button that resolves it. @see INS-4 in docs/specification.md */

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { fewOfEach } from '../../../../machines/base/few-of-each.ts';
import { useNow } from '../data/clock.ts';
import { formatFull, sentenceCase } from '../data/format.ts';
import { hashTo } from '../data/hash.ts';
import type { Overview } from '../data/overview.ts';
import { timeWords } from '../data/overview-words.ts';
import { useMayAct } from '../parts/acts.tsx';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { type MarkName, StatusMark, type Tone } from '../parts/chip.tsx';
import { Count, Panel } from '../parts/panel.tsx';

type Need = Overview['needs']['rows'][number];

const firstNeeds = 7;

/** The mark and the colour of a kind. */
const kinds: Readonly<Record<Need['kind'], readonly [MarkName, Tone]>> = {
  approval: ['waiting', 'wait'],
  failures: ['failed', 'bad'],
  unconfirmed: ['unconfirmed', 'wait'],
  route: ['failed', 'bad'],
  server: ['failed', 'bad'],
  target: ['failed', 'bad'],
  login: ['waiting', 'wait'],
  config: ['failed', 'bad'],
  held: ['waiting', 'wait'],
};

interface NeedsProps {
  readonly needs: Overview['needs'];
  /** Below the items. */
  readonly children?: ComponentChildren;
}

export function Needs({ needs, children }: NeedsProps): JSX.Element {
  const { rows, total } = needs;
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? rows : fewOfEach(rows, firstNeeds);
  return (
    <Panel
      title="Needs attention"
      beside={
        total === 0 ? undefined : (
          <Count count={total} tone="wait" words={total === 1 ? 'item needs you' : 'items need you'} />
        )
      }
      right={
        rows.length > firstNeeds ? (
          <Button class="quiet" onClick={() => setShowsAll(!showsAll)}>
            {showsAll
              ? 'Show fewer'
              : rows.length < total
                ? `Show ${rows.length} of ${total.toLocaleString('en')}`
                : `Show all ${total}`}
          </Button>
        ) : undefined
      }
    >
      {total === 0 ? (
        <p class="todo resting calm">
          <StatusMark name="delivered" />
          <span class="t">Nothing needs you.</span>
        </p>
      ) : (
        <ul>
          {shown.map((need, at) => (
            <NeedRow key={need.id} need={need} isFirst={at === 0} />
          ))}
          {showsAll && rows.length < total ? (
            <li class="pad muted">
              {`${(total - rows.length).toLocaleString('en')} more ${total - rows.length === 1 ? 'is' : 'are'} in their views.`}
            </li>
          ) : null}
        </ul>
      )}
      {children}
    </Panel>
  );
}

function NeedRow({ need, isFirst }: { readonly need: Need; readonly isFirst: boolean }): JSX.Element {
  const [mark, tone] = kinds[need.kind];
  const now = useNow();
  const mayAct = useMayAct();
  const reason = reasonOf(need);
  const at = need.until ?? need.since;
  const when =
    need.until !== undefined
      ? `answer by ${timeWords(need.until, now)}`
      : need.since !== undefined
        ? `since ${timeWords(need.since, now)}`
        : '';
  return (
    <li class={`todo ${tone}`}>
      <StatusMark name={mark} />
      <div class="t">
        <b>{withCode(need.title)}</b>
        <span title={reason}>{withCode(reason)}</span>
      </div>
      <span class="when num" title={at === undefined ? '' : formatFull(at)}>
        {when}
      </span>
      <a class={isFirst ? 'btn primary' : 'btn'} href={hashTo(need.action.place)}>
        {mayAct ? need.action.label : 'Show'}
        <span class="unseen">: {need.title}</span>
      </a>
    </li>
  );
}

function reasonOf({ kind, reason }: Need): string {
  return /^(?:target|server|login)$/.test(kind) ? sentenceCase(reason) : reason;
}
