/**
 * One actor: its chart, its timers, why it stands where it stands, its last steps, its context without secrets.
 * @see INS-1 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ActorDetails, ActorRow, LivingRow, StepRow, TimerRow } from '../../wire.ts';
import { useCell } from '../data/cell.ts';
import { arrowId } from '../data/chart-graph.ts';
import { useNow } from '../data/clock.ts';
import { spellCountdown, spellEvent, spellStep } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { mergeSteps } from '../data/merge-steps.ts';
import { usePlayed } from '../data/player.ts';
import { look, useAsked } from '../data/rpc.ts';
import { wordsOfActor } from '../data/standing.ts';
import { Age, Clock, Fact, JsonText, Nothing, Scrolled, withCode } from '../parts/basics.tsx';
import { StateChart } from '../parts/chart.tsx';
import { Chip } from '../parts/chip.tsx';

/** The least time between two looks at an actor that changes all the time. */
const lookMs = 400;

export function ActorPane({ id }: { readonly id: string }): JSX.Element {
  const { rows } = useCell(living);
  const now = rows.get(id);
  const last = useRef<LivingRow | undefined>(undefined);
  if (now !== undefined || last.current?.id !== id) last.current = now;
  const { asked, again } = useAsked(`actor ${id}`, () => look<ActorDetails>(`./actor/${encodeURIComponent(id)}`));
  const played = usePlayed(id);
  const details = asked.kind === 'there' ? asked.value : undefined;
  const known = useRef<ActorDetails | undefined>(undefined);
  if (details !== undefined || known.current?.id !== id) known.current = details;

  useSlowly(again, `${now?.state} ${now?.since} ${now?.meta?.waiting ?? ''} ${played.count}`);

  const row: LivingRow | undefined = last.current ?? known.current;
  if (row === undefined) {
    return (
      <Nothing title={asked.kind === 'waiting' ? 'Looking…' : 'No actor lives there any more'}>
        <code>{id}</code> has ended. What became of it is told in <a href={hashOf('events')}>Events</a>.
      </Nothing>
    );
  }
  const words = wordsOfActor(row);
  const isGone = now === undefined && asked.kind !== 'waiting';
  const shown = known.current;
  const steps = mergeSteps(shown?.steps ?? [], played.steps);
  const trail = new Set(steps.map(({ from, to }) => arrowId(from, to)));
  return (
    <section class={`actor ${words.standing}`} aria-label={`Actor ${id}`}>
      <header class="head">
        <div>
          <h2>{id}</h2>
          <p class="sub">
            <a href={hashOf('actors', '', { q: row.machine })}>{row.machine}</a>
            {isGone ? <span> · has ended</span> : null}
          </p>
        </div>
        <Chip {...words} />
      </header>
      {shown === undefined || shown.description === '' ? null : (
        <p class="means">
          {shown.description} {shown.rule === '' ? null : <span class="rule">{shown.rule}</span>}
        </p>
      )}
      {row.why === undefined ? null : <p class="why">{withCode(row.why)}</p>}
      {row.question === undefined || isGone ? null : (
        <div class="buttons">
          <a class="button main" href={hashOf('approvals', row.question)}>
            Answer it
          </a>
        </div>
      )}
      <dl class="facts">
        <Fact name="since">
          <Age at={row.since} />
        </Fact>
        <Facts row={row} />
      </dl>
      <Timers timers={shown?.timers ?? []} />
      {row.machine.endsWith('Ward') ? null : (
        <StateChart machine={row.machine} state={row.state} played={played} trail={trail} />
      )}
      <Steps steps={steps} />
      {shown === undefined || shown.events.length === 0 ? null : (
        <details>
          <summary>Events received ({shown.events.length})</summary>
          <Scrolled label="Events received, newest first">
            <ol class="received">
              {[...shown.events].reverse().map((event) => (
                <li key={`${event.at} ${event.type}`}>
                  <Clock at={event.at} /> <code>{event.type}</code>{' '}
                  {event.from === '' ? null : <span class="muted">from {event.from}</span>}
                  <pre>{JSON.stringify(event.event)}</pre>
                </li>
              ))}
            </ol>
          </Scrolled>
        </details>
      )}
      {shown === undefined ? null : (
        <details>
          <summary>Context, without secrets</summary>
          <JsonText value={shown.context} label="Context" />
        </details>
      )}
    </section>
  );
}

/** Calls when the key changes, but not too often. */
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

function Facts({ row: { meta = {} } }: { readonly row: ActorRow }): JSX.Element {
  const words = { size: 'children', tools: 'tools', waiting: 'waiting', attempt: 'attempt', by: 'asked by' } as const;
  return (
    <>
      {meta.profile === undefined || meta.profile === 'default' ? null : <Fact name="profile">{meta.profile}</Fact>}
      {meta.route === undefined ? null : (
        <Fact name="route">
          <a href={hashOf('events', '', { route: meta.route })}>{meta.route}</a>
        </Fact>
      )}
      {meta.event === undefined ? null : <Fact name="event">{meta.event}</Fact>}
      {meta.delivery === undefined ? null : (
        <Fact name="delivery">
          <a href={hashOf('events', meta.key ?? meta.delivery)}>{meta.delivery}</a>
        </Fact>
      )}
      {meta.server === undefined ? null : (
        <Fact name="server">
          <a href={hashOf('servers', `${meta.profile ?? 'default'}/${meta.server}`)}>{meta.server}</a>
        </Fact>
      )}
      {meta.tool === undefined ? null : <Fact name="tool">{meta.tool}</Fact>}
      {meta.target === undefined ? null : <Fact name="target">{meta.target}</Fact>}
      {meta.job === undefined ? null : <Fact name="job">{meta.job}</Fact>}
      {Object.entries(words).map(([fact, name]) => {
        const value = meta[fact as keyof typeof words];
        return value === undefined ? null : (
          <Fact key={fact} name={name}>
            {value}
          </Fact>
        );
      })}
    </>
  );
}

/** How long a timer that has fired is still shown. */
const pastMs = 1_500;
const longestTimerMs = 2_147_483_647;

/** Counts down to what comes next by itself. */
function Timers({ timers }: { readonly timers: readonly TimerRow[] }): JSX.Element | null {
  const now = useNow();
  // What is never due waits for the longest time that a timer can.
  const waiting = timers.filter(({ started, due }) => due > now - pastMs && due - started < longestTimerMs);
  if (waiting.length === 0) return null;
  return (
    <ul class="timers" aria-label="Timers">
      {waiting.map((timer) => {
        const whole = Math.max(1, timer.due - timer.started);
        const past = Math.min(1, Math.max(0, (now - timer.started) / whole));
        return (
          <li key={`${timer.event} ${timer.due}`}>
            <span class="name">{timer.label}</span>
            <span class="bar" aria-hidden="true">
              <span style={{ transform: `scaleX(${past})` }} />
            </span>
            <span class="left">in {spellCountdown(timer.due - now)}</span>
          </li>
        );
      })}
    </ul>
  );
}

const mostSteps = 60;

function Steps({ steps }: { readonly steps: readonly StepRow[] }): JSX.Element {
  const latest = steps.slice(-mostSteps).reverse();
  return (
    <details class="steps" open>
      <summary>Last steps</summary>
      {latest.length === 0 ? (
        <p class="muted">None has been seen since the daemon keeps them.</p>
      ) : (
        <Scrolled label="Last steps, newest first">
          <ol>
            {latest.map((step, at) => (
              <li key={`${step.seq} ${step.at}`}>
                <Clock at={step.at} />
                <span class="muted num">{spellStep(step.at - (latest[at + 1]?.at ?? step.at))}</span>
                <span>
                  <code>{step.from}</code>
                  <span class="muted" aria-hidden="true">
                    {' → '}
                  </span>
                  <span class="unseen"> to </span>
                  <code class="to">{step.to}</code> <span class="muted">{spellEvent(step.event)}</span>
                  {step.why === undefined ? null : <span class="reason">{step.why}</span>}
                </span>
              </li>
            ))}
          </ol>
        </Scrolled>
      )}
    </details>
  );
}
