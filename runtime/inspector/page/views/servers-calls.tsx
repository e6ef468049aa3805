/** The last calls of a server with outcome and duration, since the daemon started. @see INS-4 in docs/specification.md */

import type { JSX } from 'preact';
import type { ServerCall, ServerRow } from '../../../control/contract.ts';
import { formatTook } from '../data/format.ts';
import { call, useAsked } from '../data/rpc.ts';
import { ownToolName } from '../data/server-words.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Clock } from '../parts/basics.tsx';
import { Status } from '../parts/chip.tsx';
import { Answer, Empty, Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

const changing = /^toolCall$/;

export function ServerCalls({ row: { name, profile } }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useAsked(`calls ${profile}/${name}`, () => call('mcp.calls', { server: name, profile }));
  useFresh(changing, again);
  return (
    <Panel title="Calls" beside={<span class="muted small">the last ones since the gateway started</span>}>
      <Answer asked={asked} again={again} what="The calls">
        {(calls) =>
          calls.length === 0 ? (
            <Empty title="No calls since the gateway started." />
          ) : (
            <Table
              label={`Calls of ${name}`}
              rows={calls}
              keyOf={({ id, started_at }) => `${id} ${started_at}`}
              columns={[
                { title: 'Tool', cell: ({ tool }) => <code title={tool}>{ownToolName(tool, name)}</code> },
                { title: 'Caller', width: '88px', wide: true, cell: ({ caller }) => caller },
                { title: 'Outcome', cell: outcomeOf },
                { title: 'Duration', width: '88px', right: true, cell: (one) => formatTook(one.milliseconds) },
                {
                  title: 'Time',
                  width: '104px',
                  right: true,
                  wide: true,
                  cell: (one) => <Clock at={one.started_at} />,
                },
              ]}
            />
          )
        }
      </Answer>
    </Panel>
  );
}

function outcomeOf({ outcome, why, tries }: ServerCall): JSX.Element {
  const more = tries > 1 ? `, ${tries} tries` : '';
  if (outcome === 'result') {
    return (
      <Status mark="delivered" calm>
        Result{more}
      </Status>
    );
  }
  const words = outcome === 'error' ? 'The tool failed' : (why ?? outcome.replaceAll('_', ' '));
  return (
    <span title={words}>
      <Status mark="failed">
        {words}
        {more}
      </Status>
    </span>
  );
}
