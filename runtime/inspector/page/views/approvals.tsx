/**
 * Approvals: every question that waits for a person, with what is asked in full; yes, no, or the values of a form. What was
 * answered says so for a moment where it stands, and nothing that has just moved takes a click.
 * @see TRU-1, TRU-3 and SEC-7 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import { wordsOfServer } from '../../../../machines/base/shown-json.ts';
import type { ApprovalRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { useNow } from '../data/clock.ts';
import { spellCountdown } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { vitals } from '../data/live.ts';
import { lineUp, nextLeaveMs, nextOpen, type Shown } from '../data/questions.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { useSteady } from '../data/steady.ts';
import { useFresh } from '../data/use-fresh.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Answered, Clock, JsonText, Nothing, Refused } from '../parts/basics.tsx';
import { OldBody } from '../parts/old-body.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';

const changing = /^approval$/;
const headingId = 'approvals-heading';

function Approvals({ place }: { readonly place: Place }): JSX.Element {
  const { asked, again } = useAsked('approvals', () => call('approvals.list'));
  useFresh(changing, again);
  const section = useRef<HTMLElement>(null);
  const line = useLine(asked.kind === 'there' ? asked.value : undefined);
  const steady = useSteady(section);

  /** The keys go on to the next question before the buttons that had them are gone. */
  function goOn(id: string): void {
    if (document.getElementById(`question-${id}`)?.contains(document.activeElement) === true) {
      const next = nextOpen(line, id);
      document.getElementById(next === undefined ? headingId : `question-${next}`)?.focus();
    }
    steady.disarm();
    again();
  }

  return (
    <section ref={section} class="page narrow" aria-label="Approvals">
      <h2 id={headingId} tabIndex={-1}>
        Approvals
      </h2>
      <Answered asked={asked}>
        {() =>
          line.length === 0 ? (
            <Nothing title="Nothing waits for you">
              Calls of untrusted servers, the forms that servers send and the questions of runs are asked here, and in{' '}
              <code>agent approvals</code>. Nothing is sent before your yes.
            </Nothing>
          ) : (
            <ul class="questions">
              {line.map(({ row, endedAtMs }) => (
                <li key={row.id} data-id={row.id}>
                  <Question
                    row={row}
                    endedAtMs={endedAtMs}
                    chosen={row.id === place.chosen}
                    isArmed={() => steady.isArmed(row.id)}
                    looksArmed={steady.looksArmed(row.id)}
                    onAnswered={() => goOn(row.id)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </section>
  );
}

/** The open questions and, for a moment, those that have ended. */
function useLine(open: readonly ApprovalRow[] | undefined): readonly Shown<ApprovalRow>[] {
  const stood = useRef<readonly Shown<ApprovalRow>[]>([]);
  const [, redraw] = useState(0);
  if (open !== undefined) stood.current = lineUp(stood.current, open, Date.now());
  const leaveMs = nextLeaveMs(stood.current);
  useEffect(() => {
    if (leaveMs === undefined) return;
    const timer = setTimeout(() => redraw((times) => times + 1), Math.max(0, leaveMs - Date.now()));
    return () => clearTimeout(timer);
  }, [leaveMs]);
  return stood.current;
}

function Question({
  row,
  endedAtMs,
  chosen,
  isArmed,
  looksArmed,
  onAnswered,
}: {
  readonly row: ApprovalRow;
  /** It waits for nobody any more. */
  readonly endedAtMs: number | undefined;
  /** A link led to it: it is framed, and has the keys. */
  readonly chosen: boolean;
  readonly isArmed: () => boolean;
  readonly looksArmed: boolean;
  readonly onAnswered: () => void;
}): JSX.Element {
  const article = useRef<HTMLElement>(null);
  const { asked } = useAsked(`approval ${row.id}`, () => call('approvals.show', { id: row.id }));
  const [busy, setBusy] = useState(false);
  const [answered, setAnswered] = useState('');
  const [why, setWhy] = useState('');
  const now = useNow();
  const left = Date.parse(row.expires_at) - now;
  useEffect(() => {
    if (chosen) article.current?.focus();
  }, [chosen]);
  useLayoutEffect(() => {
    const own = article.current;
    // The keys would leave with it.
    return () => {
      if (own?.contains(document.activeElement)) document.getElementById(headingId)?.focus();
    };
  }, []);
  const isForm = row.kind === 'form';
  // The daemon itself asks for what a run wants to know; no server has that name.
  const isOfRun = row.tool === 'clarify' && isForm;
  const over = answered !== '' ? answered : endedAtMs === undefined ? '' : overWords(row, endedAtMs);
  const isHeld = busy || !looksArmed;
  const words = wordsOfServer(row.server, row.message, row.kind);
  const said = words === '' ? null : <p class="message">{words}</p>;

  async function answer(grant: boolean, values?: JsonObject): Promise<void> {
    if (busy || over !== '' || !isArmed()) return;
    setBusy(true);
    setWhy('');
    try {
      await call('approvals.answer', { id: row.id, grant, ...(values === undefined ? {} : { values }) });
      const words = isForm ? (grant ? 'Sent.' : 'Declined.') : grant ? 'Approved.' : 'Denied.';
      setAnswered(words);
      announce(words);
      onAnswered();
    } catch (error) {
      setWhy(wordsOf(error).why);
    } finally {
      setBusy(false);
    }
  }

  const buttons = (yes: JSX.Element): JSX.Element =>
    over === '' || busy ? (
      <>
        {yes}
        <button type="button" aria-disabled={isHeld} onClick={() => void answer(false)}>
          {isForm ? 'Decline' : 'Deny'}
        </button>
      </>
    ) : (
      <span class="over-words">{over}</span>
    );
  return (
    <article
      ref={article}
      id={`question-${row.id}`}
      tabIndex={-1}
      class={`question${chosen ? ' at' : ''}${over === '' ? '' : ' over'}`}
      aria-label={isOfRun ? 'Question of a run' : isForm ? `Form of ${row.server}` : `Call of ${row.tool ?? ''}`}
    >
      <header>
        <h3>
          {isOfRun ? 'An agent asks you' : isForm ? `${row.server} asks you for values` : <code>{row.tool}</code>}
        </h3>
        <span class={`left num${left < 60_000 ? ' soon' : ''}`}>
          {over !== '' ? '' : left > 0 ? `${spellCountdown(left)} left` : 'runs out'}
        </span>
      </header>
      <p class="sub">
        {isOfRun ? 'agent run' : <a href={hashOf('servers', `${row.profile}/${row.server}`)}>{row.server}</a>}
        {row.profile === 'default' ? '' : ` · ${row.profile}`} · asked at <Clock at={row.asked_at} />
        {row.run === undefined ? null : (
          <>
            {' · '}
            <a href={hashOf('events', row.run)}>the event that waits for it</a>
          </>
        )}
      </p>
      <Answered asked={asked}>
        {(full) =>
          isForm ? (
            <>
              {said}
              <SchemaForm
                id={`approval-${row.id}`}
                schema={full.detail}
                isQuestion
                onValues={(values) => void answer(true, values)}
              >
                {buttons(
                  <button type="submit" class="main" aria-disabled={isHeld}>
                    Send
                  </button>,
                )}
              </SchemaForm>
            </>
          ) : (
            <>
              <JsonText value={full.detail ?? {}} label="Arguments" />
              {said}
              <div class="buttons">
                {buttons(
                  <button type="button" class="main" aria-disabled={isHeld} onClick={() => void answer(true)}>
                    Approve
                  </button>,
                )}
              </div>
            </>
          )
        }
      </Answered>
      {why === '' ? null : <Refused why={why} />}
    </article>
  );
}

/** What became of one that this page has not answered. */
function overWords({ expires_at }: ApprovalRow, endedAtMs: number): string {
  return endedAtMs >= Date.parse(expires_at) ? 'Nobody answered in time.' : 'It was answered elsewhere, or given up.';
}

export const approvals: ViewRow = {
  name: 'approvals',
  title: 'Approvals',
  group: '',
  icon: 'approvals',
  letter: 'a',
  component: ({ place }) => (
    <OldBody title="Approvals">
      <Approvals place={place} />
    </OldBody>
  ),
  useCount() {
    return { count: useCell(vitals)?.approvals ?? 0, tone: 'wait', words: 'waiting for you' };
  },
};
