/**
 * Targets: the platforms with how their connections stand, and the texts that have not arrived, each with buttons to send
 * it again or to give it up.
 * @see DLV-4 and INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { OutgoingRow, TargetRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useNow } from '../data/clock.ts';
import { spellCountdown } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { sendTwice, settledText, standingOfState, standingOfStatus } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Age, Answered, Nothing, withCode } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';
import { OldBody } from '../parts/old-body.tsx';

const changing = /^(delivery|platformConnection)$/;
/** What has not arrived and was not given up; each is asked for by name, however much arrived since. */
const notThere = ['queued', 'sending', 'waitingToRetry', 'failed', 'deadLettered', 'unknown'];
const mostRows = 200;

function Targets(): JSX.Element {
  return (
    <section class="page" aria-label="Targets">
      <h2>Platforms</h2>
      <Platforms />
      <h2>Texts that have not arrived</h2>
      <Outgoing />
    </section>
  );
}

function Platforms(): JSX.Element {
  const { asked, again } = useAsked('targets', () => call('deliveries.targets'));
  useFresh(changing, again);
  return (
    <Answered asked={asked}>
      {(rows) =>
        rows.length === 0 ? (
          <Nothing title="No platform is configured">
            Texts go to the log. Platforms are set up under <code>platforms</code> in config.yaml.
          </Nothing>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">platform</th>
                <th scope="col">state</th>
                <th scope="col">since</th>
                <th scope="col">account</th>
                <th scope="col">waiting</th>
                <th scope="col">why</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={`${row.profile} ${row.name}`}>
                  <td>
                    <strong>{row.name}</strong>
                    {row.profile === 'default' ? null : <span class="muted"> {row.profile}</span>}
                  </td>
                  <td>
                    <Chip standing={standingOfState(row.state)} text={row.state} />
                  </td>
                  <td class="num" data-name="since">
                    <Age at={row.since} />
                  </td>
                  <td {...named('account', row.account)}>{row.account}</td>
                  <td class="num" {...named('waiting', row.waiting)}>
                    {row.waiting}
                  </td>
                  <td class="why">
                    <Pause row={row} />
                    {withCode(row.error ?? row.note ?? '')}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Answered>
  );
}

/** A pause that the platform asks for, with its end. */
function Pause({ row }: { readonly row: TargetRow }): JSX.Element | null {
  const now = useNow();
  if (row.paused_until === undefined) return null;
  return (
    <span class="num">
      paused, resumes in {spellCountdown(Date.parse(row.paused_until) - now)}: {row.pause_reason}{' '}
    </span>
  );
}

function Outgoing(): JSX.Element {
  const { asked, again } = useAsked('outgoing', async () => {
    const found = await Promise.all(notThere.map((status) => call('deliveries.list', { status, limit: mostRows })));
    return found.flat().sort((one, other) => Date.parse(other.queued_at) - Date.parse(one.queued_at));
  });
  useFresh(changing, again);
  return (
    <Answered asked={asked}>
      {(rows) =>
        rows.length === 0 ? (
          <Nothing title="None">Everything that was to be delivered has arrived.</Nothing>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">event</th>
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
                <Letter key={row.id} row={row} onChanged={again} />
              ))}
            </tbody>
          </table>
        )
      }
    </Answered>
  );
}

function Letter({ row, onChanged }: { readonly row: OutgoingRow; readonly onChanged: () => void }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const now = useNow();
  const isUnsure = row.status === 'unknown';

  async function tell(method: 'deliveries.retry' | 'deliveries.drop', done: string, force: boolean): Promise<void> {
    setBusy(true);
    try {
      const answer = await call(method, { id: row.id, ...(force ? { force } : {}) });
      const until = 'paused_until' in answer ? answer.paused_until : undefined;
      const waits = method === 'deliveries.retry' && until !== undefined;
      announce(waits ? `The platform asks for a pause for ${spellCountdown(Date.parse(until) - now)}.` : done);
      onChanged();
    } catch (error) {
      announce(wordsOf(error).why, true);
    } finally {
      setBusy(false);
    }
  }

  function retry(): void {
    // What may have arrived is sent twice only where a person says so.
    if (isUnsure && !confirm(sendTwice)) return;
    void tell('deliveries.retry', 'The text is on its way again.', isUnsure);
  }

  const next = row.next_try_at === undefined ? undefined : Date.parse(row.next_try_at);
  return (
    <tr>
      <td>
        <a href={hashOf('events', row.delivery_id)}>{row.route}</a> <span class="muted">{row.event}</span>
      </td>
      <td data-name="to">{row.target}</td>
      <td>
        <Chip standing={standingOfStatus(row.status)} text={row.status} />
      </td>
      <td class="why">
        {row.reason}
        {next === undefined || settledText.test(row.status) ? null : (
          <span class="num">
            {row.reason === undefined ? '' : '; '}next try in {spellCountdown(next - now)}
          </span>
        )}
      </td>
      <td class="num" data-name="age">
        <Age at={row.queued_at} />
      </td>
      <td class="do">
        {row.status === 'waitingToRetry' || settledText.test(row.status) ? (
          <button type="button" class="small" disabled={busy} onClick={retry}>
            Retry
          </button>
        ) : null}
        {row.status === 'sending' ? null : (
          <button
            type="button"
            class="quiet small"
            disabled={busy}
            onClick={() => void tell('deliveries.drop', 'The text is given up.', false)}
          >
            Drop
          </button>
        )}
      </td>
    </tr>
  );
}

/** Where a row is a card its cells have their headings with them; an empty one has none. */
function named(name: string, value: unknown): { readonly 'data-name'?: string } {
  return value === undefined ? {} : { 'data-name': name };
}

export const targets: ViewRow = {
  name: 'targets',
  title: 'Targets',
  group: 'Connections',
  icon: 'targets',
  letter: 't',
  component: () => (
    <OldBody title="Targets">
      <Targets />
    </OldBody>
  ),
};
