/**
 * Approvals: every question that waits for a person, in full; approve, deny, or fill in a form. An answered question keeps
 * its place for a moment with its outcome, and an element that has just moved takes no click.
 * @see TRU-1, TRU-3 and SEC-7 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AnsweredRow, ApprovalRow } from '../../../control/contract/approvals.ts';
import { useCell } from '../data/cell.ts';
import { daemonNow } from '../data/clock.ts';
import type { Place } from '../data/hash.ts';
import { useKeys } from '../data/keys.ts';
import { health } from '../data/live.ts';
import { useNoticeState } from '../data/notices.ts';
import { goFiltered } from '../data/place.ts';
import { rowsOf, useProfile } from '../data/profile.ts';
import { lineUp, nextLeaveMs, nextOpen, type Shown } from '../data/questions.ts';
import { call } from '../data/rpc.ts';
import { toolWords } from '../data/server-words.ts';
import { useSteady } from '../data/steady.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Segmented } from '../parts/choice.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, type CountProps, Empty, Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';
import { answerWords, headingId, isAnsweredHere, Question } from './approvals-card.tsx';

const changing = /^approval$/;

export function Approvals({ place }: { readonly place: Place }): JSX.Element {
  const shown = place.query.show === 'answered' ? 'answered' : 'waiting';
  const { asked, again } = useFollowed(changing, 'approvals', async () => {
    const [open, answered] = await Promise.all([call('approvals.list'), call('approvals.answered')]);
    return { open, answered };
  });
  const profile = useProfile();
  const there =
    asked.kind === 'there'
      ? { open: rowsOf(asked.value.open, profile), answered: rowsOf(asked.value.answered, profile) }
      : undefined;
  return (
    <>
      <Head
        title="Approvals"
        count={there === undefined ? undefined : `${there.open.length} waiting`}
        profile={profile}
      >
        <Segmented
          label="Which questions"
          value={shown}
          options={[
            ['waiting', 'Waiting'],
            ['answered', 'Answered'],
          ]}
          onChoose={(show) => goFiltered(show === 'waiting' ? {} : { show })}
        />
        <NotifyButton />
      </Head>
      <Body>
        <Answer asked={asked} again={again} what="The questions">
          {() =>
            shown === 'answered' ? (
              <AnsweredOnes rows={there?.answered ?? []} />
            ) : (
              <Waiting
                key={profile ?? ''}
                open={there?.open ?? []}
                answered={there?.answered ?? []}
                isLinkOpen={asked.kind === 'there' && asked.value.open.some(({ id }) => id === place.chosen)}
                place={place}
                again={again}
              />
            )
          }
        </Answer>
      </Body>
    </>
  );
}

function NotifyButton(): JSX.Element | null {
  const [state, ask] = useNoticeState();
  if (state !== 'off') return null;
  return (
    <Button icon="bell" aria-label="Notify me in this browser" onClick={ask}>
      <span class="not-s">Notify me in this browser</span>
    </Button>
  );
}

interface WaitingProps {
  readonly open: readonly ApprovalRow[];
  readonly answered: readonly AnsweredRow[];
  /** Whether the question that a link leads to waits, in any profile. */
  readonly isLinkOpen: boolean;
  readonly place: Place;
  readonly again: () => void;
}

function Waiting({ open, answered, isLinkOpen, place, again }: WaitingProps): JSX.Element {
  const section = useRef<HTMLElement>(null);
  // A question answered on this page has shown that; one answered elsewhere stays, with who and when.
  const line = useLine(open, (id) => answered.some((row) => row.id === id && !isAnsweredHere(row)));
  const steady = useSteady(section);
  useKeys('Approvals', [
    { key: 'j', label: 'Next question', run: () => focusQuestion(1) },
    { key: 'k', label: 'Previous question', run: () => focusQuestion(-1) },
  ]);

  /** Moves the focus to the next question before the focused buttons are removed. */
  function goOn(id: string): void {
    if (document.getElementById(`question-${id}`)?.contains(document.activeElement) === true) {
      const next = nextOpen(line, id);
      document.getElementById(next === undefined ? headingId : `question-${next}`)?.focus();
    }
    steady.disarm();
    again();
  }

  const linked = answered.find(({ id }) => id === place.chosen);
  const isOver = place.chosen !== '' && !isLinkOpen && !line.some(({ row }) => row.id === place.chosen);
  return (
    <section ref={section} aria-label="Approvals">
      <h2 id={headingId} tabIndex={-1} class="unseen">
        Approvals that wait for you
      </h2>
      {isOver ? (
        <p class="muted">
          The question of this link {linked === undefined ? 'waits no longer.' : `is over. ${answerWords(linked)}`}
        </p>
      ) : null}
      {line.length === 0 ? (
        <Empty
          title="Nothing waits for you."
          buttons={<Button onClick={() => goFiltered({ show: 'answered' })}>Show the answered ones</Button>}
        >
          Calls of untrusted servers, the forms that servers send and the questions of runs are asked here, and in{' '}
          <code>agent approvals</code>. Nothing is sent before your approval.
        </Empty>
      ) : (
        <ul class="questions stack">
          {line.map(({ row, endedAtMs }) => (
            <li key={row.id} data-id={row.id}>
              <Question
                row={row}
                endedAtMs={endedAtMs}
                answer={answered.find(({ id }) => id === row.id)}
                chosen={row.id === place.chosen}
                isArmed={() => steady.isArmed(row.id)}
                looksArmed={steady.looksArmed(row.id)}
                onShown={() => steady.disarm(row.id)}
                onAnswered={() => goOn(row.id)}
              />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Moves the focus among the open questions, where A and D answer. */
function focusQuestion(step: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>('.question:not(.over)')];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  all[at === -1 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))]?.focus();
}

function AnsweredOnes({ rows }: { readonly rows: readonly AnsweredRow[] }): JSX.Element {
  if (rows.length === 0) return <Empty title="Nothing was answered since the gateway started." />;
  return (
    <Panel title="Answered" beside={<span class="muted small">the last {rows.length}</span>}>
      <Table
        label="Answered questions"
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Question',
            width: '32%',
            cell: ({ tool, server, kind }) => (
              <code title={tool}>{tool === undefined ? `${kind} of ${server}` : toolWords(tool, server)}</code>
            ),
          },
          { title: 'Answer', cell: (row) => <span title={answerWords(row)}>{answerWords(row)}</span> },
          { title: 'Asked', wide: true, width: '124px', cell: ({ asked_at }) => <Clock at={asked_at} /> },
        ]}
      />
    </Panel>
  );
}

/** Returns the open questions and, for a moment, those that have ended. */
function useLine(open: readonly ApprovalRow[], stays: (id: string) => boolean): readonly Shown<ApprovalRow>[] {
  const stood = useRef<readonly Shown<ApprovalRow>[]>([]);
  const [, redraw] = useState(0);
  // By the daemon's clock, as the deadlines with which an end is compared.
  stood.current = lineUp(stood.current, open, daemonNow(), stays);
  const leaveMs = nextLeaveMs(stood.current);
  useEffect(() => {
    if (leaveMs === undefined) return;
    const timer = setTimeout(() => redraw((times) => times + 1), Math.max(0, leaveMs - daemonNow()));
    return () => clearTimeout(timer);
  }, [leaveMs]);
  return stood.current;
}

/** The questions that wait, of the chosen profile. */
export function useApprovalCount(): CountProps {
  const all = useCell(health)?.approvals ?? 0;
  const profile = useProfile();
  const { asked } = useFollowed(changing, `approvals of ${profile ?? ''}`, async () =>
    profile === undefined ? 0 : rowsOf(await call('approvals.list'), profile).length,
  );
  const own = asked.kind === 'there' ? asked.value : 0;
  const count = profile === undefined ? all : own;
  return { count, tone: 'wait', words: 'waiting for you' };
}
