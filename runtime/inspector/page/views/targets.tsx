/**
 * Targets: the platforms with how their connections stand, and the texts that did not arrive, each with a button to send it
 * again.
 * @see DLV-4 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { lastPart } from '../data/format.ts';
import { living } from '../data/live.ts';
import { hashOf } from '../data/place.ts';
import type { OutgoingRow } from '../data/rows.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { standingOf, standingOfStatus } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Age, Answered, Nothing } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';

const changing = /^(delivery|platformConnection)$/;
const undelivered = /^(failed|dead|deadLettered|dead-lettered|unknown|refused)$/;
const mostRows = 200;

export function Targets(): JSX.Element {
  return (
    <section class="page" aria-label="Targets">
      <h2>Platforms</h2>
      <Platforms />
      <h2>Texts that did not arrive</h2>
      <DeadLetters />
    </section>
  );
}

/** The connections are actors: the tree knows them live. */
function Platforms(): JSX.Element {
  const { rows, version } = useCell(living);
  const platforms = useMemo(
    () => [...rows.values()].filter(({ machine }) => machine === 'platformConnection'),
    [version],
  );
  if (platforms.length === 0) {
    return (
      <Nothing title="No platform is configured">
        Texts go to the log or to code-host comments. Platforms are set up under <code>platforms</code> in config.yaml.
      </Nothing>
    );
  }
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">platform</th>
          <th scope="col">state</th>
          <th scope="col">since</th>
          <th scope="col">why</th>
        </tr>
      </thead>
      <tbody>
        {platforms.map((row) => (
          <tr key={row.id}>
            <td>
              <a href={hashOf('now', row.id)}>{row.meta?.target ?? lastPart(row.id, row.parent)}</a>
            </td>
            <td>
              <Chip standing={standingOf(row)} text={row.state} />
            </td>
            <td class="num">
              <Age at={row.since} />
            </td>
            <td class="why">{row.why}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DeadLetters(): JSX.Element {
  const { asked, again } = useAsked('dead letters', outgoing);
  useFresh(changing, again);
  return (
    <Answered asked={asked}>
      {(rows) =>
        rows.length === 0 ? (
          <Nothing title="None">Everything that was to be delivered has arrived or is on its way.</Nothing>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">route</th>
                <th scope="col">target</th>
                <th scope="col">status</th>
                <th scope="col">why</th>
                <th scope="col">age</th>
                <th scope="col">
                  <span class="unseen">What to do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <Letter key={idOf(row)} row={row} onSent={again} />
              ))}
            </tbody>
          </table>
        )
      }
    </Answered>
  );
}

/** The list of outgoing texts. */
async function outgoing(): Promise<readonly OutgoingRow[]> {
  const rows = await call<readonly OutgoingRow[]>('deliveries.list', { limit: mostRows });
  return rows.filter(({ status }) => undelivered.test(status));
}

function Letter({ row, onSent }: { readonly row: OutgoingRow; readonly onSent: () => void }): JSX.Element {
  const [busy, setBusy] = useState(false);

  async function retry(): Promise<void> {
    setBusy(true);
    try {
      await call('deliveries.retry', { id: idOf(row) });
      announce('The text is on its way again.');
      onSent();
    } catch (error) {
      announce(`Not sent again: ${wordsOf(error).why}`, true);
    } finally {
      setBusy(false);
    }
  }

  const at = row.queued_at ?? row.received_at;
  return (
    <tr>
      <td>
        <a href={hashOf('events', row.delivery_id)}>{row.route}</a>
      </td>
      <td>{row.target}</td>
      <td>
        <Chip standing={standingOfStatus(row.status)} text={row.status} />
      </td>
      <td class="why">{row.reason}</td>
      <td class="num">{at === undefined ? '' : <Age at={at} />}</td>
      <td>
        <button type="button" class="small" disabled={busy} onClick={() => void retry()}>
          Retry
        </button>
      </td>
    </tr>
  );
}

function idOf(row: OutgoingRow): string {
  return row.id ?? row.key ?? row.delivery_id;
}
