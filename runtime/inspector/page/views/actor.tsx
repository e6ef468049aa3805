/**
 * One actor: its chart, its timers, the reason for its state, its transitions, its redacted context.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { shownJson } from '../../../../machines/base/shown-json.ts';
import type { ActorDetails, ActorRow, LivingRow, TimerRow } from '../../../control/contract/wire.ts';
import { useCell } from '../data/cell.ts';
import { arrowId } from '../data/chart-graph.ts';
import { useNow } from '../data/clock.ts';
import { copyText } from '../data/copy-text.ts';
import { formatCountdown, formatState, formatWord } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { mergeSteps } from '../data/merge-steps.ts';
import { usePlayed } from '../data/player.ts';
import { look, useAsked, useLast } from '../data/rpc.ts';
import { wordsOfActor } from '../data/standing.ts';
import { isPool } from '../data/tree.ts';
import { useMayAct } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { StateChart } from '../parts/chart.tsx';
import { Chip } from '../parts/chip.tsx';
import { Headline, MetaFact, MetaTime, Why } from '../parts/headline.tsx';
import { Icon } from '../parts/icons.tsx';
import { Answer, Empty } from '../parts/panel.tsx';
import { ActorTabs } from './actor-tabs.tsx';

/** The least time between two reads of an actor that changes all the time. */
const lookMs = 400;

export function ActorPane({ id }: { readonly id: string }): JSX.Element {
  const { rows } = useCell(living);
  const now = rows.get(id);
  const last = useLast(now);
  const { asked, again } = useAsked(`actor ${id}`, () => look<ActorDetails>(`./actor/${encodeURIComponent(id)}`));
  const played = usePlayed(id);
  const known = useLast(asked.kind === 'there' ? asked.value : undefined);

  useSlowly(again, `${now?.state} ${now?.since} ${now?.meta?.waiting ?? ''} ${played.count}`);

  const row: LivingRow | undefined = last ?? known;
  if (row === undefined) {
    if (asked.kind !== 'there') {
      return (
        <Answer asked={asked} again={again} what="The actor">
          {() => null}
        </Answer>
      );
    }
    return (
      <Empty title="No actor lives there any more">
        <code>{id}</code> has ended. Its outcome is in <a href={hashOf('events')}>Events</a>.
      </Empty>
    );
  }
  // Not every living actor is among the rows.
  const isGone = now === undefined && asked.kind === 'there' && asked.value === undefined;
  const steps = mergeSteps(known?.steps ?? [], played.steps);
  const trail = new Set(steps.map(({ from, to }) => arrowId(from, to)));
  const { standing } = wordsOfActor(row);
  return (
    <section class="stack" aria-label={`Actor ${id}`}>
      <Headline
        title={id.split('/').join(' / ')}
        chip={<Chip standing={standing} text={stateWords(row)} />}
        meta={
          <>
            <span>
              Machine <a href={hashOf('actors', '', { q: row.machine })}>{row.machine}</a>
              {isGone ? ', has ended' : ''}
            </span>
            <MetaTime name="Since" at={row.since} />
            <MetaFacts row={row} />
          </>
        }
      >
        <Links row={row} isGone={isGone} />
        {known === undefined ? null : (
          <Button icon="copy" onClick={() => void copyText(shownJson(known.context))}>
            Copy context
          </Button>
        )}
      </Headline>
      {known === undefined || known.description === '' ? null : (
        <p class="muted">
          {known.description} {known.rule}
        </p>
      )}
      <Why standing={standing} why={row.why} />
      <Timers timers={known?.timers ?? []} />
      {isPool(row) ? null : <StateChart machine={row.machine} state={row.state} played={played} trail={trail} />}
      <ActorTabs steps={steps} details={known} />
    </section>
  );
}

/** Formats a state; for a run that waits for a person, that it does. */
export function stateWords(row: LivingRow): string {
  return row.question === undefined ? formatState(row.state) : wordsOfActor(row).text;
}

/** Links to the views with the details of its work. */
function Links({ row, isGone }: { readonly row: LivingRow; readonly isGone: boolean }): JSX.Element {
  const { question, meta: { server, profile = 'default', key, delivery } = {} } = row;
  const event = key ?? delivery;
  const mayAct = useMayAct();
  return (
    <>
      {question === undefined || isGone ? null : (
        <a class="btn primary" href={hashOf('approvals', question)}>
          {mayAct ? 'Answer it' : 'Show the question'}
        </a>
      )}
      {server === undefined ? null : (
        <a class="btn" href={hashOf('servers', `${profile}/${server}`)}>
          <Icon name="servers" />
          Open server
        </a>
      )}
      {event === undefined ? null : (
        <a class="btn" href={hashOf('events', event)}>
          <Icon name="events" />
          Open event
        </a>
      )}
    </>
  );
}

/** Calls back when the key changes, at most every `lookMs`. */
function useSlowly(run: () => void, key: string): void {
  const last = useRef(Date.now());
  useEffect(() => {
    const wait = Math.max(0, last.current + lookMs - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      run();
    }, wait);
    return () => clearTimeout(timer);
  }, [key, run]);
}

function MetaFacts({ row: { meta = {} } }: { readonly row: ActorRow }): JSX.Element {
  const names = {
    route: 'Route',
    event: 'Event',
    tool: 'Tool',
    target: 'Target',
    job: 'Schedule',
    size: 'Children',
    tools: 'Tools',
    waiting: 'Waiting',
    attempt: 'Attempt',
    by: 'Asked by',
  } as const;
  return (
    <>
      <MetaFact name="Profile">{meta.profile === 'default' ? undefined : meta.profile}</MetaFact>
      {Object.entries(names).map(([fact, name]) => (
        <MetaFact key={fact} name={name}>
          {meta[fact as keyof typeof names]}
        </MetaFact>
      ))}
    </>
  );
}

/** How long a timer that has fired is still shown. */
const pastMs = 1_500;
const maxTimerMs = 2_147_483_647;

/** Countdowns of the pending timers. */
function Timers({ timers }: { readonly timers: readonly TimerRow[] }): JSX.Element | null {
  const now = useNow();
  // A delay of the longest possible timer means never.
  const waiting = timers.filter(({ started, due }) => due > now - pastMs && due - started < maxTimerMs);
  if (waiting.length === 0) return null;
  return (
    <ul class="timers" aria-label="Timers">
      {waiting.map((timer) => {
        const whole = Math.max(1, timer.due - timer.started);
        const past = Math.min(1, Math.max(0, (now - timer.started) / whole));
        return (
          <li key={`${timer.event} ${timer.due}`}>
            <span>{formatWord(timer.label)}</span>
            <span class="bar" aria-hidden="true">
              <span style={{ transform: `scaleX(${past})` }} />
            </span>
            <span class="left">in {formatCountdown(timer.due - now)}</span>
          </li>
        );
      })}
    </ul>
  );
}
