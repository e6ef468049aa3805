/**
 * Nodes: the gateways that share the journal, with the state, work and rate of each, and those that disappeared while the
 * view was open.
 * @see SCA-3 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { GatewayStatus, NodeRow } from '../../../control/contract/gateway.ts';
import { daemonNow, useNow } from '../data/clock.ts';
import { counted, formatClock, formatSpan, formatTime, sentenceCase } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import {
  commitWords,
  type NodeState,
  type RecoveredRow,
  rateOfNode,
  rateWords,
  recoveredOf,
  standbyWords,
  stateOfGone,
  stateOfNode,
  workOfNode,
} from '../data/node-words.ts';
import { useDatabase, useNodes } from '../data/use-nodes.ts';
import { Clock } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { markOf, Status } from '../parts/chip.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, Banner, Empty, Facts, Panel } from '../parts/panel.tsx';
import { Lines } from '../parts/plot.tsx';
import { type Column, Table } from '../parts/table.tsx';

/** A gateway that is not listed any more. */
interface Gone {
  readonly row: NodeRow;
  readonly atMs: number;
}

export function Nodes(): JSX.Element {
  const { asked, again } = useNodes();
  const listed = asked.kind === 'there' ? asked.value : undefined;
  const [gone, forget] = useGone(listed);
  // A gateway that does not share its journal has no session.
  const shared = listed?.filter(({ session }) => session !== '').length ?? 0;
  return (
    <>
      <Head title="Nodes" count={shared === 0 ? undefined : `${shared} on one Postgres journal`} />
      <Body>
        <Answer asked={asked} again={again} what="The gateways">
          {(rows) =>
            shared === 0 ? (
              <Empty title="This gateway has its journal for itself.">
                Several gateways can share one in a Postgres database.
              </Empty>
            ) : (
              <>
                {gone.map((one) => (
                  <GoneBanner key={one.row.session} gone={one} onForget={() => forget(one)} />
                ))}
                <NodeTable rows={rows} gone={gone} />
                <div class="grid3 even">
                  {rows.map((row) => (
                    <Rate key={row.session} row={row} />
                  ))}
                </div>
                <div class="grid2">
                  <SharedJournal commits={rows.find(({ self }) => self)?.status?.commit_ms} />
                  <RecoveredRows rows={rows} />
                </div>
              </>
            )
          }
        </Answer>
      </Body>
    </>
  );
}

/** Returns the gateways that disappeared; one that has restarted under its name is not among them. */
function useGone(rows: readonly NodeRow[] | undefined): [readonly Gone[], (one: Gone) => void] {
  const before = useRef<readonly NodeRow[]>([]);
  const [gone, setGone] = useState<readonly Gone[]>([]);
  useEffect(() => {
    if (rows === undefined) return;
    const isThere = ({ node }: NodeRow): boolean => rows.some((one) => one.node === node);
    const left = before.current.filter((row) => !isThere(row)).map((row) => ({ row, atMs: daemonNow() }));
    before.current = rows;
    setGone((old) => [...old.filter(({ row }) => !isThere(row)), ...left]);
  }, [rows]);
  return [gone, (one) => setGone((old) => old.filter((other) => other !== one))];
}

function GoneBanner({ gone: { row, atMs }, onForget }: { readonly gone: Gone; readonly onForget: () => void }) {
  const now = useNow();
  const { standing, words } = stateOfGone(row);
  return (
    <Banner mark={markOf(standing)} button={<Button onClick={onForget}>Dismiss</Button>}>
      <b class="strong">
        {row.node} is gone since {formatClock(atMs, now)}: {words.toLowerCase()}.
      </b>{' '}
      <span class="muted">The other gateways take its work.</span>
    </Banner>
  );
}

interface TableRow {
  readonly row: NodeRow;
  readonly state: NodeState;
  readonly isGone: boolean;
}

const columns: readonly Column<TableRow>[] = [
  {
    title: 'Node',
    width: '24%',
    cell: ({ row: { node, self, status }, isGone }) =>
      isGone || self || status === undefined ? (
        <b class="strong">{node}</b>
      ) : (
        <a href={hashOf('actors', '', { node })}>{node}</a>
      ),
  },
  { title: 'State', cell: ({ row, state, isGone }) => <StateCell row={row} state={state} isGone={isGone} /> },
  { title: 'Version', width: '9ch', wide: true, cell: ({ row: { status } }) => status?.version ?? '' },
  {
    title: 'Up',
    width: '11ch',
    wide: true,
    cell: ({ row: { status }, isGone }) =>
      status === undefined || isGone ? '' : formatSpan(status.uptime_seconds * 1_000),
  },
  { title: 'Work in hand', width: '18%', wide: true, cell: ({ row, isGone }) => (isGone ? '' : workOfNode(row)) },
  {
    title: 'Requests/min',
    width: '16ch',
    right: true,
    cell: ({ row, isGone }) => {
      const rate = isGone ? undefined : rateOfNode(row);
      return rate === undefined ? '' : rateWords(rate);
    },
  },
];

function NodeTable({ rows, gone }: { readonly rows: readonly NodeRow[]; readonly gone: readonly Gone[] }): JSX.Element {
  const shown = [
    ...rows.map((row): TableRow => ({ row, state: stateOfNode(row), isGone: false })),
    ...gone.map(({ row }): TableRow => ({ row, state: stateOfGone(row), isGone: true })),
  ];
  return (
    <div class="panel">
      <Table label="Gateways" columns={columns} rows={shown} keyOf={({ row }) => row.session} />
    </div>
  );
}

function StateCell({ row: { leader, self }, state: { standing, words }, isGone }: TableRow): JSX.Element {
  const more = [...(self ? ['this page'] : []), ...(leader && !isGone ? ['leader'] : [])];
  return (
    <Status mark={markOf(standing)} calm={standing === 'resting'}>
      {[words, ...more].join(' · ')}
    </Status>
  );
}

function SharedJournal({ commits }: { readonly commits: GatewayStatus['commit_ms'] }): JSX.Element {
  const { asked, again } = useDatabase();
  return (
    <Panel title="Shared journal" right={asked.kind === 'there' ? <Health risks={asked.value.risks} /> : null}>
      <Answer asked={asked} again={again} what="The database">
        {({ place, server, tables, connections, synchronous_commit: commit, standbys, risks }) => (
          <div class="pad stack">
            {risks.map(({ what, cure }) => (
              <Banner key={what} mark="waiting">
                {sentenceCase(what)}. <span class="muted">{sentenceCase(cure)}.</span>
              </Banner>
            ))}
            <Facts
              facts={[
                ['Database', [`PostgreSQL ${server}, `, <code key="place">{place}</code>]],
                ['Commit time', commits === undefined ? 'No commits in the last hour' : commitWords(commits)],
                ['Connections', `${connections.used} of ${connections.most}`],
                ['Tables', `Version ${tables}`],
                ['Durability', [<code key="commit">synchronous_commit {commit}</code>, `, ${standbyWords(standbys)}`]],
              ]}
            />
          </div>
        )}
      </Answer>
    </Panel>
  );
}

const recoveredColumns: readonly Column<RecoveredRow>[] = [
  {
    title: 'Work',
    cell: ({ kind, route, target, event, profile }) => (
      <a href={hashOf('events', event, profile === 'default' ? {} : { profile })}>
        {sentenceCase(kind)} of {route}
        {target === undefined ? '' : ` to ${target}`}
      </a>
    ),
  },
  { title: 'Gateways', width: '40%', cell: ({ from, by }) => `${from} → ${by}` },
  { title: 'Time', width: '11ch', right: true, cell: ({ at }) => <Clock at={at} /> },
];

function RecoveredRows({ rows }: { readonly rows: readonly NodeRow[] }): JSX.Element {
  const taken = recoveredOf(rows).slice(0, 8);
  return (
    <Panel title="Recovered work" bare>
      {taken.length === 0 ? (
        <p class="pad muted">No work of a gateway that ended.</p>
      ) : (
        <Table label="Recovered work" columns={recoveredColumns} rows={taken} keyOf={({ key }) => key} />
      )}
    </Panel>
  );
}

function Health({ risks }: { readonly risks: readonly unknown[] }): JSX.Element {
  return risks.length === 0 ? (
    <Status mark="delivered" calm>
      Healthy
    </Status>
  ) : (
    <Status mark="waiting">{counted(risks.length, 'risk')}</Status>
  );
}

function Rate({ row }: { readonly row: NodeRow }): JSX.Element {
  const now = useNow();
  const rate = rateOfNode(row);
  const minutes = row.status?.requests_by_minute ?? [];
  const total = minutes.reduce((sum, count) => sum + count, 0);
  const lived = Math.ceil((row.status?.uptime_seconds ?? 0) / 60);
  return (
    <Panel title={row.node} bare>
      <div class="pad figure">
        {rate === undefined ? (
          <p class="muted">No data.</p>
        ) : (
          <>
            <p class="big num">
              {rateWords(rate)} <small>requests a minute · {total.toLocaleString('en')} in the last hour</small>
            </p>
            <Lines
              height={64}
              ticks={minutes.map((_, at) => formatTime(now - (minutes.length - 1 - at) * 60_000, 60_000))}
              lines={[
                { name: 'requests', values: minutes.map((one, at) => (at < minutes.length - lived ? null : one)) },
              ]}
              format={(value) => value.toLocaleString('en')}
              sentence={`Requests to the routes of ${row.node}: ${total} in the last hour`}
            />
          </>
        )}
      </div>
    </Panel>
  );
}
