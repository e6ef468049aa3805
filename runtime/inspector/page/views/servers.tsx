/**
 * Servers: every MCP server, failing ones first, and the opened one beside the list; adding, importing and editing happen
 * in a sheet.
 * @see INS-4, LIF-1 and LNK-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract.ts';
import { type Command, useCommands } from '../data/commands.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { useKeys } from '../data/keys.ts';
import { place as current, go, goFiltered } from '../data/place.ts';
import { rowsOf, useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { inListOrder, type ServerTab, serverLabel, serverLine, serverMark, serverTabs } from '../data/server-words.ts';
import { useFresh } from '../data/use-fresh.ts';
import { useWords } from '../data/use-words.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { Button } from '../parts/button.tsx';
import { StatusMark } from '../parts/chip.tsx';
import { SearchField } from '../parts/choice.tsx';
import { Head } from '../parts/head.tsx';
import { Answer, Empty, Tag } from '../parts/panel.tsx';
import { Split } from '../parts/split.tsx';
import { AddSheet } from './servers-add.tsx';
import { ServerDetail } from './servers-detail.tsx';

const changing = /^(serverConnection|servers|browserLogin|deviceLogin)$/;

export function Servers({ place }: { readonly place: Place }): JSX.Element {
  const { chosen, query } = place;
  const { asked, again } = useAsked('servers', () => call('mcp.list'));
  useFresh(changing, again);
  const [filter, setFilter] = useWords(place);
  const { id, tab } = partsOf(chosen);
  const profile = useProfile();
  const every = asked.kind === 'there' ? asked.value : [];
  const all = useMemo(() => rowsOf(every, profile), [every, profile]);
  const rows = useMemo(
    () => inListOrder(all).filter(({ name }) => name.toLowerCase().includes(filter.trim().toLowerCase())),
    [all, filter],
  );
  const at = rows.findIndex((row) => idOf(row) === id);
  const move = (step: number): void => {
    const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))];
    if (next !== undefined) go('servers', idOf(next));
  };
  const add = (kind: string): void => go('servers', chosen, { add: kind });
  useKeys('Servers', [
    { key: 'j', label: 'Next server', run: () => move(1) },
    { key: 'k', label: 'Previous server', run: () => move(-1) },
  ]);
  const mayAct = useMayAct();
  const commands: readonly Command[] = [
    { label: 'Add server', icon: 'add', run: () => add('command') },
    { label: 'Import…', icon: 'download', asks: true, run: () => add('import') },
  ];
  useCommands('actions', mayAct ? commands : []);
  const row = every.find((one) => idOf(one) === id);
  return (
    <>
      <Head title="Servers" count={asked.kind === 'there' ? all.length : undefined} profile={profile}>
        <Acts>
          <Button icon="download" onClick={() => add('import')}>
            Import…
          </Button>
          <Button icon="add" class="primary" onClick={() => add('command')}>
            Add server
          </Button>
        </Acts>
      </Head>
      <Answer asked={asked} again={again} what="The servers">
        {() =>
          all.length === 0 && row === undefined ? (
            <NoServers add={add} />
          ) : (
            <Split
              label="MCP servers"
              opened={id !== ''}
              back="All servers"
              onBack={() => go('servers')}
              list={
                <>
                  <div class="listhead">
                    <SearchField label="Filter servers" value={filter} onInput={setFilter} />
                  </div>
                  <div class="rows">
                    {rows.map((one) => (
                      <ListRow key={idOf(one)} row={one} isAt={idOf(one) === id} />
                    ))}
                    {rows.length === 0 ? <Empty title="No server of that name." /> : null}
                  </div>
                </>
              }
            >
              {row === undefined ? (
                <Empty title={id === '' ? 'Choose a server' : 'No such server'}>
                  {id === '' ? 'Its log, its tools and its calls are shown here.' : `${id} is not configured any more.`}
                </Empty>
              ) : (
                <ServerDetail key={id} row={row} tab={tab} again={again} />
              )}
            </Split>
          )
        }
      </Answer>
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

function ListRow({ row, isAt }: { readonly row: ServerRow; readonly isAt: boolean }): JSX.Element {
  return (
    <a class={`li${isAt ? ' at' : ''}`} href={hashOf('servers', idOf(row))} aria-current={isAt}>
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
      <span class="c">{row.transport === '' ? null : <Tag>{row.transport}</Tag>}</span>
    </a>
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
      buttons={
        <Acts>
          <Button class="primary" onClick={() => add('command')}>
            Add server
          </Button>
          {first === undefined ? null : (
            <Button onClick={() => add('import')}>
              Import from {programs.size === 1 ? first.program : `${programs.size} programs`} ({found.length})
            </Button>
          )}
        </Acts>
      }
    >
      An MCP server gives the agent tools: a local command, or an address.
    </Empty>
  );
}

function idOf({ profile, name }: ServerRow): string {
  return `${profile}/${name}`;
}

function partsOf(chosen: string): { readonly id: string; readonly tab: ServerTab | undefined } {
  const parts = chosen.split('/');
  const tab = parts.length > 2 ? serverTabs.find((one) => one === parts.at(-1)) : undefined;
  return { id: (tab === undefined ? parts : parts.slice(0, -1)).join('/'), tab };
}
