/** The timeline of an event, with one row for each span, and its checks in one line below. */

import { Fragment, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { indentedJson } from '../../../../machines/base/indented-json.ts';
import type { Check, Tone as EventTone, OpenedEvent, Span, SpanPart } from '../../../control/contract/event-wire.ts';
import { daemonNow } from '../data/clock.ts';
import { counted, formatTook } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { link } from '../data/live.ts';
import { type Axis, axisOf, lay, longestWait, tookWords } from '../data/timeline.ts';
import { Button } from '../parts/button.tsx';
import { type MarkName, StatusMark, type Tone } from '../parts/chip.tsx';
import { Code } from '../parts/code.tsx';
import { FoldLine, Panel } from '../parts/panel.tsx';

/** The mark and the colour of each tone that the daemon sends. */
export const marksOfTone: Readonly<Record<EventTone, readonly [MarkName, Tone]>> = {
  working: ['working', 'working'],
  needsUser: ['waiting', 'wait'],
  resting: ['delivered', 'resting'],
  unconfirmed: ['unconfirmed', 'wait'],
  failed: ['failed', 'bad'],
  ended: ['ignored', 'ended'],
};

/** Tool calls that are drawn at first. */
const maxCalls = 12;
const tickMs = 250;

const looks: Readonly<Record<SpanPart['how'], string>> = {
  work: 'ok',
  person: 'waitbar',
  pause: 'idle',
  window: 'window',
  failed: 'bad',
};

const legend = [
  ['ok', 'working'],
  ['waitbar', 'waiting for a person'],
  ['bad', 'failed attempt'],
  ['dash', 'pause'],
] as const;

export function EventTimeline({ event }: { readonly event: OpenedEvent }): JSX.Element {
  const now = useTicking(event.ended === undefined);
  const [hidesWait, setHides] = useState(false);
  const [all, setAll] = useState(false);
  const { spans } = event;
  const calls = spans.filter(({ kind }) => kind === 'call');
  const left = new Set(all ? [] : calls.slice(maxCalls).map(({ id }) => id));
  const lastShown = calls[maxCalls - 1]?.id;
  const hasLongWait = longestWait(spans, now) !== undefined;
  const axis = axisOf(spans, now, hidesWait && hasLongWait);
  const total = formatTook((event.ended ?? now) - event.received);
  return (
    <Panel
      title="Timeline"
      beside={
        <span class="legend not-s">
          {legend.map(([look, words]) => (
            <span key={look}>
              <i class={look} />
              {words}
            </span>
          ))}
        </span>
      }
      right={
        <>
          {hasLongWait ? (
            <Button aria-pressed={hidesWait} onClick={() => setHides(!hidesWait)}>
              {hidesWait ? 'Show waiting' : 'Hide waiting'}
            </Button>
          ) : null}
          <a class="small" href={hashOf('actors', actorOf(spans))}>
            Open in Actors
          </a>
        </>
      }
    >
      <div class="gantt">
        <div class="g ruler" aria-hidden="true">
          <span class="name" />
          <div class="track">
            {axis.ticks.map(({ at, words }) => (
              <span key={at} style={{ left: `${at}%` }}>
                {words}
              </span>
            ))}
            {axis.cut === undefined ? null : (
              <span style={{ left: `${lay(axis.cut, axis).left + lay(axis.cut, axis).width / 2}%` }}>
                {formatTook(axis.cut.end - axis.cut.start)}
              </span>
            )}
          </div>
          <span class="took" />
        </div>
        <ul class="rows" aria-label={`Timeline, ${total}`}>
          {spans.map((span) =>
            left.has(span.id) ? null : (
              <Fragment key={span.id}>
                <Row span={span} axis={axis} now={now} />
                {span.id === lastShown && left.size > 0 ? (
                  <li>
                    <button type="button" class="foldline" onClick={() => setAll(true)}>
                      Show {left.size} more
                    </button>
                  </li>
                ) : null}
              </Fragment>
            ),
          )}
        </ul>
      </div>
      {event.checks.length === 0 ? null : <Checks checks={event.checks} tookMs={checkMsOf(spans)} />}
    </Panel>
  );
}

function Row({ span, axis, now }: { readonly span: Span; readonly axis: Axis; readonly now: number }): JSX.Element {
  const [open, setOpen] = useState(false);
  const { name, note, parent, tone, parts, ticks = [], texts = [] } = span;
  const [mark, color] = marksOfTone[tone];
  const took = tookWords(span, now);
  const inner = (
    <>
      <span class="name">
        {parent === undefined || tone !== 'resting' ? <StatusMark name={mark} tone={color} /> : null}
        <span>{name}</span>
        {note === undefined ? null : <span class="muted small">{note}</span>}
      </span>
      <span class="track">
        {parts.map(({ start, end, how }, at) => {
          const { left, width } = lay({ start, end: end ?? now }, axis);
          const look = how === 'work' && span.end === undefined && tone === 'working' ? 'work' : looks[how];
          return (
            <i
              key={at}
              class={`barx ${look}`}
              style={{ left: `${left}%`, width: `${width}%` }}
              title={titleOf(how, start, end ?? now)}
            />
          );
        })}
        {ticks.map((at) => (
          <i
            key={at}
            class="tick"
            style={{ left: `${lay({ start: at, end: at }, axis).left}%` }}
            title="an event joined"
          />
        ))}
        {axis.cut === undefined ? null : (
          <i class="cutmark" style={{ left: `${lay(axis.cut, axis).left + lay(axis.cut, axis).width / 2}%` }} />
        )}
      </span>
      <span class="took" title={took.read}>
        <span aria-hidden="true">{took.shown}</span>
        <span class="unseen">{took.read}</span>
      </span>
    </>
  );
  return (
    <li>
      {texts.length === 0 ? (
        <div class={`g ${parent === undefined ? 'head' : 'in'}`}>{inner}</div>
      ) : (
        <button
          type="button"
          class={`g ${parent === undefined ? 'head' : 'in'}`}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {inner}
        </button>
      )}
      {open ? (
        <div class="cols2 pad">
          {texts.map(({ title, text }) => (
            <section key={title} class="panel" aria-label={title}>
              <header>
                <h3>{title}</h3>
              </header>
              <div class="paper low">
                <Code
                  text={indentedJson(text)}
                  label={title}
                  json={text.startsWith('{') || text.startsWith('[')}
                  paper
                />
              </div>
            </section>
          ))}
        </div>
      ) : null}
    </li>
  );
}

/** Folds the checks that passed into one line and shows the one that decided the event; those after it are absent. */
function Checks({ checks, tookMs }: { readonly checks: readonly Check[]; readonly tookMs: number }): JSX.Element {
  const passed = checks.filter(({ result }) => result === 'passed');
  const folded = checks.filter(({ result }) => result === 'passed' || result === 'skipped');
  const skipped = folded.length - passed.length;
  const deciding = checks.filter((check) => !folded.includes(check));
  const title = `${counted(passed.length, 'check')} passed`;
  const beside = `${tookMs > 0 ? `in ${formatTook(tookMs)} · ` : ''}${passed.map(({ name }) => name).join(', ')}${skipped > 0 ? `; ${skipped} skipped` : ''}`;
  return (
    <>
      <FoldLine title={title} beside={beside}>
        <ul class="checks">
          {folded.map((check) => (
            <CheckRow key={check.name} check={check} />
          ))}
        </ul>
      </FoldLine>
      {deciding.length === 0 ? null : (
        <ul class="checks">
          {deciding.map((check) => (
            <CheckRow key={check.name} check={check} />
          ))}
        </ul>
      )}
    </>
  );
}

const checkMarks = {
  passed: ['delivered', ''],
  skipped: ['disabled', 'skipped: '],
  failed: ['failed', 'failed: '],
  notMatched: ['ignored', 'not matched: '],
  repeated: ['duplicate', ''],
} as const;

function CheckRow({ check: { name, result, detail, ms } }: { readonly check: Check }): JSX.Element {
  const [mark, word] = checkMarks[result];
  return (
    <li>
      <StatusMark name={mark} />
      <b>{name}</b>
      <span class="muted">
        {word}
        {detail}
      </span>
      <span class="muted num">{ms === undefined ? '' : formatTook(ms)}</span>
    </li>
  );
}

/** Returns the daemon's time, updated four times a second while something is under way and the daemon answers. */
function useTicking(isOpen: boolean): number {
  const [now, setNow] = useState(daemonNow());
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden && link.get() !== 'lost') setNow(daemonNow());
    }, tickMs);
    return () => clearInterval(timer);
  }, [isOpen]);
  return now;
}

const partWords: Readonly<Record<SpanPart['how'], string>> = {
  work: 'worked',
  person: 'waited for a person',
  pause: 'waited to retry',
  window: 'gathered events',
  failed: 'failed',
};

function titleOf(how: SpanPart['how'], start: number, end: number): string {
  return `${partWords[how]}, ${formatTook(end - start)}`;
}

function checkMsOf([request]: readonly Span[]): number {
  return request?.end === undefined ? 0 : request.end - request.start;
}

/** Returns the id of the last open span that has an actor; empty if there is none. */
function actorOf(spans: readonly Span[]): string {
  return spans.filter(({ id, end }) => end === undefined && /^(runs|deliveries|requests)\//.test(id)).at(-1)?.id ?? '';
}
