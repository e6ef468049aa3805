/** The state of the daemon as a whole, while no actor is chosen. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { formatWord } from '../data/format.ts';
import { health } from '../data/live.ts';
import { Facts, Panel } from '../parts/panel.tsx';

export function DaemonPane(): JSX.Element | null {
  const seen = useCell(health);
  if (seen === undefined) return null;
  const { runs, memoryBytes, lagMs, home, url } = seen;
  const tables = [
    ['Living actors', Object.fromEntries(Object.entries(seen.actors).filter(([name]) => !name.endsWith('Pool')))],
    ['Requests since the start', seen.requests],
    ['Servers', seen.servers],
  ] as const;
  return (
    <>
      <Panel title="The daemon" beside={<span class="muted small">Choose an actor to see its chart move.</span>}>
        <div class="pad">
          <Facts
            facts={[
              ['Runs', `${runs.running} of ${runs.concurrency}, ${runs.queued} queued in memory`],
              ['Memory', `${Math.round(memoryBytes / 1_048_576)} MB resident`],
              ['Longest pause', `${Math.round(lagMs)} ms in the last seconds`],
              ['Home', <code>{home}</code>],
              ['Webhooks at', url === null ? undefined : <code>{url}</code>],
            ]}
          />
        </div>
      </Panel>
      <div class="grid3 even">
        {tables.map(([title, counts]) => (
          <Panel key={title} title={title}>
            <Counts counts={counts} />
          </Panel>
        ))}
      </div>
    </>
  );
}

function Counts({ counts }: { readonly counts: Readonly<Record<string, number>> }): JSX.Element {
  const rows = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one);
  if (rows.length === 0) return <p class="pad muted">None.</p>;
  return (
    <table class="counts">
      <tbody>
        {rows.map(([name, count]) => (
          <tr key={name}>
            <th scope="row" class="plain">
              {formatWord(name)}
            </th>
            <td class="right num">{count.toLocaleString('en')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
