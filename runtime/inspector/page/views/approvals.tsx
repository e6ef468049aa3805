/**
 * Approvals: every question that waits for a person, with what is asked in full; yes, no, or the values of a form.
 * @see TRU-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { JsonObject } from '../../../../machines/base/json.ts';
import { announce } from '../data/announce.ts';
import { useNow } from '../data/clock.ts';
import { spellCountdown } from '../data/format.ts';
import { hashOf, type Place } from '../data/place.ts';
import type { ApprovalRow } from '../data/rows.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Answered, Clock, JsonText, Nothing, Refused } from '../parts/basics.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';

const changing = /^approval$/;

export function Approvals({ place }: { readonly place: Place }): JSX.Element {
  const { asked, again } = useAsked('approvals', () => call<readonly ApprovalRow[]>('approvals.list'));
  useFresh(changing, again);
  return (
    <section class="page narrow" aria-label="Approvals">
      <h2>Approvals</h2>
      <Answered asked={asked}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing title="Nothing waits for you">
              Calls of untrusted servers, the forms that servers send and the questions of runs are asked here, and in{' '}
              <code>agent approvals</code>. Nothing is sent before your yes.
            </Nothing>
          ) : (
            <ul class="questions">
              {rows.map((row) => (
                <li key={row.id}>
                  <Question row={row} chosen={row.id === place.chosen} onAnswered={again} />
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </section>
  );
}

function Question({
  row,
  chosen,
  onAnswered,
}: {
  readonly row: ApprovalRow;
  /** A link led to it: it is framed, and has the keys. */
  readonly chosen: boolean;
  readonly onAnswered: () => void;
}): JSX.Element {
  const article = useRef<HTMLElement>(null);
  const { asked } = useAsked(`approval ${row.id}`, () => call<ApprovalRow>('approvals.show', { id: row.id }));
  const [busy, setBusy] = useState(false);
  const [why, setWhy] = useState('');
  const now = useNow();
  const left = Date.parse(row.expires_at) - now;
  useEffect(() => {
    if (chosen) article.current?.focus();
  }, [chosen]);
  const isForm = row.kind === 'form';
  // The daemon itself asks for what a run wants to know; no server has that name.
  const isOfRun = row.tool === 'clarify' && isForm;

  async function answer(grant: boolean, values?: JsonObject): Promise<void> {
    setBusy(true);
    try {
      await call('approvals.answer', { id: row.id, grant, ...(values === undefined ? {} : { values }) });
      announce(isForm ? (grant ? 'Sent.' : 'Declined.') : grant ? 'Approved.' : 'Denied.');
      onAnswered();
    } catch (error) {
      setWhy(wordsOf(error).why);
    } finally {
      setBusy(false);
    }
  }

  const deny = (
    <button type="button" disabled={busy} onClick={() => void answer(false)}>
      {isForm ? 'Decline' : 'Deny'}
    </button>
  );
  return (
    <article
      ref={article}
      tabIndex={-1}
      class={`question${chosen ? ' at' : ''}`}
      aria-label={isOfRun ? 'Question of a run' : isForm ? `Form of ${row.server}` : `Call of ${row.tool ?? ''}`}
    >
      <header>
        <h3>
          {isOfRun ? 'An agent asks you' : isForm ? `${row.server} asks you for values` : <code>{row.tool}</code>}
        </h3>
        <span class={`left num${left < 60_000 ? ' soon' : ''}`}>
          {left > 0 ? `${spellCountdown(left)} left` : 'runs out'}
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
      {row.message === '' ? null : <p class="message">{row.message}</p>}
      <Answered asked={asked}>
        {(full) =>
          isForm ? (
            <SchemaForm
              id={`approval-${row.id}`}
              schema={full.detail}
              disabled={busy}
              onValues={(values) => void answer(true, values)}
            >
              <button type="submit" class="main" disabled={busy}>
                Send
              </button>
              {deny}
            </SchemaForm>
          ) : (
            <>
              <JsonText value={full.detail ?? {}} label="Arguments" />
              <div class="buttons">
                <button type="button" class="main" disabled={busy} onClick={() => void answer(true)}>
                  Approve
                </button>
                {deny}
              </div>
            </>
          )
        }
      </Answered>
      {why === '' ? null : <Refused why={why} />}
    </article>
  );
}
