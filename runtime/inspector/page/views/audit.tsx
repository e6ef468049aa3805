/**
 * Audit: who changed what by the command line or the page, newest first, and why something was refused. Read only.
 * @see SEC-1 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { type JsonObject, scalarText } from '../../../../machines/base/json.ts';
import type { AuditRow } from '../../../control/contract/gateway.ts';
import type { Place } from '../data/hash.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAgain } from '../data/use-nodes.ts';
import { useWords } from '../data/use-words.ts';
import { Clock, withCode } from '../parts/basics.tsx';
import { SearchField } from '../parts/choice.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, Empty, Panel } from '../parts/panel.tsx';
import { type Column, Table } from '../parts/table.tsx';

const maxRows = 200;
/** People make changes, at most a few a minute. */
const againMs = 5_000;

const columns: readonly Column<AuditRow>[] = [
  { title: 'Time', cell: ({ at }) => <Clock at={at} />, width: '12ch' },
  { title: 'Who', cell: ({ who, from }) => `${who}, ${from}`, width: '16ch', wide: true },
  { title: 'Change', cell: (row) => <Change row={row} /> },
];

export function Audit({ place }: { readonly place: Place }): JSX.Element {
  const [words, setWords] = useWords(place);
  const asking = useAsked(`audit ${words}`, () => call('audit.list', { limit: maxRows, search: words }));
  const { asked, again } = asking;
  useAgain(asking, againMs);
  // The rows stay until those with the words that are being typed are there.
  const last = useRef(asked);
  if (asked.kind !== 'waiting') last.current = asked;
  const { current: shown } = last;
  return (
    <>
      <Head title="Audit" count={shown.kind === 'there' ? countOf(shown.value.length) : undefined}>
        <SearchField label="Search who, what or on what" value={words} onInput={setWords} />
      </Head>
      <Body label="Audit log">
        <Answer asked={shown} again={again} what="The audit log">
          {(rows) =>
            rows.length === 0 ? (
              <Empty title={words === '' ? 'Nothing was changed yet.' : 'Nothing with these words.'}>
                What you change by the page or the command line is listed here.
              </Empty>
            ) : (
              <Panel title="Changes" bare>
                <Table label="Changes" columns={columns} rows={rows} keyOf={(row) => JSON.stringify(row)} />
              </Panel>
            )
          }
        </Answer>
      </Body>
    </>
  );
}

function Change({ row: { who, from, what, on, refused } }: { readonly row: AuditRow }): JSX.Element {
  const words = onText(on);
  return (
    <>
      {what}
      {words === '' ? null : (
        <span class="muted" title={words}>
          {' '}
          {words}
        </span>
      )}
      <div>
        <span class="only-s muted">{`${who}, ${from}`}</span>
      </div>
      {refused === undefined ? null : <div>{withCode(`Refused: ${refused}`)}</div>}
    </>
  );
}

function countOf(rows: number): string {
  return rows === maxRows ? `the last ${maxRows}` : rows.toLocaleString('en');
}

function onText(on: JsonObject): string {
  return Object.entries(on)
    .map(
      ([key, value]) => `${key.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.join(', ') : scalarText(value)}`,
    )
    .join(' · ');
}
