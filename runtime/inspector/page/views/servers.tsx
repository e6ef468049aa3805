/**
 * Servers: every MCP server, failing ones first, and the opened one beside the list; adding, importing and editing happen
 * in a sheet.
 * @see INS-4, LIF-1 and LNK-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import type { ServerRow } from '../../../control/contract/servers.ts';
import { type Command, useCommands } from '../data/commands.ts';
import { counted, formatTook } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import { place as current, go, goFiltered } from '../data/place.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { inListOrder, type ServerTab, serverLabel, serverLine, serverMark, serverTabs } from '../data/server-words.ts';
import { useFollowed } from '../data/use-fresh.ts';
import { useMayAct } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { Empty, Tag } from '../parts/panel.tsx';
import { ListAndPane, useListing } from './list-and-pane.tsx';
import { AddSheet } from './servers-add.tsx';
import { ServerDetail } from './servers-detail.tsx';

const changing = /^(serverConnection|servers|browserLogin|deviceLogin)$/;

export function Servers({ place }: { readonly place: Place }): JSX.Element {
  const { chosen, query } = place;
  const asking = useFollowed(changing, 'servers', () => call('mcp.list'));
  const { again } = asking;
  const listing = useListing(asking, place, { sorted: inListOrder, textOf: ({ name }) => name });
  const { id, tab } = partsOf(chosen, listing.every);
  const add = (kind: string): void => go('servers', chosen, { add: kind });
  const mayAct = useMayAct();
  const commands: readonly Command[] = [
    { label: 'Add server', icon: 'add', run: () => add('command') },
    { label: 'Import…', icon: 'download', asks: true, run: () => add('import') },
  ];
  useCommands('actions', mayAct ? commands : []);
  return (
    <>
      <ListAndPane
        view="servers"
        {...{ listing, place }}
        at={id}
        label="MCP servers"
        buttons={
          <>
            <Button icon="download" onClick={() => add('import')}>
              Import…
            </Button>
            <Button icon="add" class="primary" onClick={() => add('command')}>
              Add server
            </Button>
          </>
        }
        none={<NoServers add={add} />}
        unchosen={<Empty title="Choose a server">Its log, its tools and its calls are shown here.</Empty>}
        link={(row) => <ListRow row={row} />}
      >
        {(row) => <ServerDetail row={row} tab={tab} again={again} />}
      </ListAndPane>
      {query.add === undefined || !mayAct ? null : (
        <AddSheet
          key={query.link ?? ''}
          kind={query.link === undefined ? query.add : 'link'}
          link={query.link ?? ''}
          onClose={closeSheet}
        />
      )}
    </>
  );
}

/** In place of the sheet's entry in the browser's history, so that Back does not open it again. */
function closeSheet(): void {
  if (current.get().view === 'servers') goFiltered({});
}

function ListRow({ row }: { readonly row: ServerRow }): JSX.Element {
  return (
    <>
      <StatusMark name={serverMark(row.state)} />
      <span class="two">
        <span class="a cut">
          {row.name}
          {row.profile === 'default' ? null : <span> {row.profile}</span>}
        </span>
        <span class="b cut" title={serverLine(row)}>
          {serverLine(row)}
        </span>
        <span class="unseen">, {serverLabel(row.state)}</span>
      </span>
      <span class="c">
        {row.transport === '' ? null : <Tag>{row.transport}</Tag>}
        {row.median_ms === undefined ? null : (
          <span class="num" title={`Median of ${counted(row.calls ?? 0, 'call')} in the last hour`}>
            <br />
            {formatTook(row.median_ms)}
          </span>
        )}
      </span>
    </>
  );
}

function NoServers({ add }: { readonly add: (kind: string) => void }): JSX.Element {
  const profile = useProfile() ?? 'default';
  const { asked } = useAsked(`importable ${profile}`, () => call('mcp.importable', { profile }));
  const found = asked.kind === 'there' ? asked.value.filter(({ standing }) => standing === 'new') : [];
  const [first] = found;
  const programs = new Set(found.map(({ program }) => program));
  return (
    <Empty
      title="No servers yet."
      acts={
        <>
          <Button class="primary" onClick={() => add('command')}>
            Add server
          </Button>
          {first === undefined ? null : (
            <Button onClick={() => add('import')}>
              Import from {programs.size === 1 ? first.program : `${programs.size} programs`} ({found.length})
            </Button>
          )}
        </>
      }
    >
      An MCP server gives the agent tools: a local command, or an address.
    </Empty>
  );
}

/** The last part of a place is a tab, unless it is the name of a server. */
function partsOf(
  chosen: string,
  rows: readonly ServerRow[],
): { readonly id: string; readonly tab: ServerTab | undefined } {
  const parts = chosen.split('/');
  const isServer = parts.length === 1 || rows.some(({ profile, name }) => `${profile}/${name}` === chosen);
  const tab = isServer ? undefined : serverTabs.find((one) => one === parts.at(-1));
  return { id: (tab === undefined ? parts : parts.slice(0, -1)).join('/'), tab };
}
