/** The failed deliveries of a group, newest first, with their selection and the actions on selected ones. */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { inQuotes } from '../../../../machines/base/shown-json.ts';
import type { FailureChoice, FailureGroupRow, FailureRow } from '../../../control/contract/deliveries.ts';
import { formatReason } from '../data/event-words.ts';
import { deliveriesWords, selected } from '../data/failures.ts';
import { hashOf } from '../data/hash.ts';
import { useKeys } from '../data/keys.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked, useLast } from '../data/rpc.ts';
import { useMayAct } from '../parts/acts.tsx';
import { Clock, Refused } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Kbd, Loading } from '../parts/panel.tsx';
import { FailureActions, type FailureVerbs } from './failures-actions.tsx';

/** Rows that are drawn at first, and added with each further step. */
const firstRows = 8;
const moreRows = 100;
/** The gateway returns no more. */
const maxRows = 1_000;

interface FailureListProps {
  readonly choice: Omit<FailureChoice, 'profile'>;
  /** Absent for the deliveries of all groups. */
  readonly group?: FailureGroupRow;
  readonly count: number;
  /** Reads again when it changes. */
  readonly version: number;
  readonly onChanged: () => void;
}

export function FailureList({ choice, group, count, version, onChanged }: FailureListProps): JSX.Element {
  const { state, since = '' } = choice;
  const [limit, setLimit] = useState(firstRows);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string>(undefined);
  const canSelect = useMayAct() && state === 'open';
  useKeys('Failures', [
    { key: 'j', label: 'Next delivery', run: () => focusRow(1) },
    { key: 'k', label: 'Previous delivery', run: () => focusRow(-1) },
  ]);
  const profile = useProfile();
  const { asked, again } = useAsked(`failures ${state} ${since} ${group?.key ?? ''} ${limit} ${profile ?? ''}`, () =>
    call('failures.list', {
      ...choice,
      limit,
      ...(group === undefined ? {} : { key: group.key }),
      ...(profile === undefined ? {} : { profile }),
    }),
  );
  useEffect(() => {
    if (version > 0) again();
  }, [version]);
  // They stay while more are read, and so do the focus, the scroll position and an open question.
  const rows = useLast(asked.kind === 'there' ? asked.value.rows : undefined);
  const refusal = asked.kind === 'refused' ? <Refused why={asked.why} /> : null;
  if (rows === undefined) return refusal ?? <Loading />;
  const marked = rows.filter(({ id }) => chosen.has(id));
  const ids = marked.map(({ id }) => id);
  const toggle = (id: string, isRange: boolean): void => {
    const from = isRange ? last.current : undefined;
    setChosen(selected(rows, chosen, { id, ...(from === undefined ? {} : { from }) }));
    last.current = id;
  };
  const isUnsure = marked.length > 0 && marked.every(({ status }) => status === 'unknown');
  const [place = '', ...others] = new Set(marked.map((row) => row.place));
  return (
    <>
      {refusal}
      {canSelect ? (
        <FailureActions
          subject={{ kind: 'rows', ids, place: others.length === 0 ? inQuotes(place) : 'several targets', isUnsure }}
          onDone={() => {
            setChosen(new Set());
            onChanged();
          }}
          draw={(verbs) => (
            <SelectionBar
              rows={rows}
              count={ids.length}
              isUnsure={isUnsure}
              verbs={verbs}
              onToggle={toggle}
              onAll={() => setChosen(new Set(ids.length === rows.length ? [] : rows.map(({ id }) => id)))}
              onClear={() => setChosen(new Set())}
            />
          )}
        />
      ) : null}
      <table class="fixed wrap-s fails">
        <caption class="unseen">Failed deliveries, newest first</caption>
        <thead>
          <tr>
            {canSelect ? (
              <th scope="col" class="tick">
                <span class="unseen">Selected</span>
              </th>
            ) : null}
            <th scope="col" class="w38 not-s">
              Route and event
            </th>
            <th scope="col">{group === undefined ? 'Target and text' : 'Text'}</th>
            <th scope="col" class="not-s">
              {state === 'open' ? 'Reason' : 'Dropped because'}
            </th>
            <th scope="col" class="right not-s short">
              Attempts
            </th>
            <th scope="col" class="right time">
              Last attempt
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id} class={chosen.has(row.id) ? 'sel' : ''} data-row={row.id}>
              {canSelect ? (
                <td class="tick">
                  <input
                    type="checkbox"
                    checked={chosen.has(row.id)}
                    aria-label={`Select ${row.text}`}
                    onClick={(event) => toggle(row.id, event.shiftKey)}
                  />
                </td>
              ) : null}
              <td class="not-s">
                <a href={hashOf('events', row.event_key)}>
                  <b class="strong">{row.route}</b> <span class="muted">{row.event}</span>
                </a>
              </td>
              <td title={row.text}>
                {group === undefined ? <span class="muted">{row.place} </span> : null}
                {row.text}
                <div>
                  <a class="only-s" href={hashOf('events', row.event_key)}>
                    {row.route} · {row.event}
                  </a>
                </div>
              </td>
              <td class="muted not-s" title={reasonOf(row, state)}>
                {reasonOf(row, state)}
              </td>
              <td class="right num muted not-s">{row.attempts}</td>
              <td class="right num muted">
                <Clock at={row.last_attempt_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length < Math.min(count, maxRows) ? (
        <button type="button" class="foldline" onClick={() => setLimit(Math.min(maxRows, limit + moreRows))}>
          Show {Math.min(moreRows, count - rows.length, maxRows - rows.length).toLocaleString('en')} more
        </button>
      ) : rows.length < count ? (
        <p class="pad muted">
          The newest {maxRows.toLocaleString('en')} are listed; the buttons of a group act on all of it.
        </p>
      ) : null}
    </>
  );
}

function reasonOf({ reason = '', note = '', place }: FailureRow, state: FailureChoice['state']): string {
  return state === 'open' ? formatReason(reason, place) : note;
}

interface SelectionBarProps {
  readonly rows: readonly FailureRow[];
  readonly count: number;
  readonly isUnsure: boolean;
  readonly verbs: FailureVerbs;
  readonly onToggle: (id: string, isRange: boolean) => void;
  readonly onAll: () => void;
  readonly onClear: () => void;
}

function SelectionBar({ rows, count, isUnsure, verbs, onToggle, onAll, onClear }: SelectionBarProps): JSX.Element {
  const number = count.toLocaleString('en');
  const focused = (): string | undefined => document.activeElement?.closest<HTMLElement>('tr[data-row]')?.dataset.row;
  // Not for a row of another group that is open.
  const applies = (): boolean => focused() === undefined || rows.some(({ id }) => id === focused());
  const here = (): string | undefined => focused() ?? rows[0]?.id;
  const toggleHere = (isRange: boolean): void => {
    const id = here();
    if (id !== undefined) onToggle(id, isRange);
  };
  useKeys('Failures', [
    { key: 'x', label: 'Select', applies, run: () => toggleHere(false) },
    { key: 'x', shift: true, label: 'Select a range', applies, run: () => toggleHere(true) },
    ...(count === 0
      ? []
      : [
          { key: 'r', label: 'Retry the selected', applies, run: verbs.retry },
          { key: 'Backspace', label: 'Drop the selected', applies, run: isUnsure ? verbs.resolve : verbs.drop },
        ]),
  ]);
  return (
    <div class="selbar">
      <input
        type="checkbox"
        aria-label="Select all"
        checked={count > 0 && count === rows.length}
        ref={(box) => {
          if (box !== null) box.indeterminate = count > 0 && count < rows.length;
        }}
        onClick={onAll}
      />
      <b class="strong num" role="status">
        {count === 0 ? 'None selected' : `${number} selected`}
      </b>
      {count === 0 ? null : (
        <span class="btns">
          {isUnsure ? <Button onClick={verbs.resolve}>Resolve {number}…</Button> : null}
          <Button icon="replay" onClick={verbs.retry} title={`Retry ${deliveriesWords(count)}`}>
            Retry {number}
            {isUnsure ? '…' : ''}
          </Button>
          {isUnsure ? null : (
            <Button class="risky" onClick={verbs.drop}>
              Drop {number}…
            </Button>
          )}
          <Button class="quiet" onClick={onClear}>
            Clear
          </Button>
        </span>
      )}
      <span class="muted small not-s push">
        <Kbd>X</Kbd> select <Kbd>Shift</Kbd> <Kbd>X</Kbd> select a range
      </span>
    </div>
  );
}

/** Moves the focus among the rows of all open groups. */
function focusRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll('tr[data-row]')];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.querySelector<HTMLElement>('input, a')?.focus();
}
