/**
 * Servers: every MCP server with state, since when and why; its tools with a form to call each; its log; reconnect, login,
 * and the dialog that adds one.
 * @see INS-2 and LNK-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { counted } from '../data/format.ts';
import { hashOf, type Place } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { go } from '../data/place.ts';
import { call, useAsked, wordsOf } from '../data/rpc.ts';
import { standingOfState } from '../data/standing.ts';
import { useFresh } from '../data/use-fresh.ts';
import type { ViewRow } from '../frame/view-row.ts';
import { Age, Answered, Fact, Nothing, Scrolled, withCode } from '../parts/basics.tsx';
import { Chip } from '../parts/chip.tsx';
import { OldBody } from '../parts/old-body.tsx';
import { AddServer } from './add-server.tsx';
import { LoginDialog } from './login.tsx';
import { Tools } from './tools.tsx';

const changing = /^(serverConnection|servers|browserLogin|deviceLogin)$/;

function Servers({ place }: { readonly place: Place }): JSX.Element {
  const { chosen, query } = place;
  const { asked, again } = useAsked('servers', () => call('mcp.list'));
  useFresh(changing, again);
  const isAdding = query.add !== undefined;
  return (
    <div class={`split${chosen === '' ? '' : ' chosen'}`}>
      <section class="list" aria-label="MCP servers">
        <div class="bar">
          <h2>MCP servers</h2>
          <button type="button" onClick={() => go('servers', chosen, { ...query, add: '1' })}>
            Add a server…
          </button>
        </div>
        <Answered asked={asked}>
          {(rows) =>
            rows.length === 0 ? (
              <Nothing title="No server is configured">
                Add one with <code>agent mcp add</code>, or paste an <code>agent://</code> link here.
              </Nothing>
            ) : (
              <ul class="cards">
                {rows.map((row) => (
                  <li key={idOf(row)}>
                    <a
                      class={`card ${standingOfState(row.state)}${idOf(row) === chosen ? ' at' : ''}`}
                      href={hashOf('servers', idOf(row))}
                      aria-current={idOf(row) === chosen}
                    >
                      <span class="first">
                        <strong class="name">{row.name}</strong>
                        {row.profile === 'default' ? null : <span class="muted">{row.profile}</span>}
                        <Chip standing={standingOfState(row.state)} text={row.state} />
                      </span>
                      <span class="second muted">
                        {row.transport === '' ? '' : `${row.transport} · `}
                        {counted(row.tools, 'tool')} · <Age at={row.since} />
                      </span>
                      {row.error === undefined ? null : <span class="why">{withCode(row.error)}</span>}
                    </a>
                  </li>
                ))}
              </ul>
            )
          }
        </Answered>
      </section>
      <div class="pane">
        {chosen === '' ? (
          <Nothing title="Choose a server">Its tools can be tried here, each with a form made from its schema.</Nothing>
        ) : (
          <Answered asked={asked}>
            {(rows) => {
              const row = rows.find((one) => idOf(one) === chosen);
              return row === undefined ? (
                <Nothing title="No such server">
                  <code>{chosen}</code> is not configured (any more).
                </Nothing>
              ) : (
                <>
                  <button type="button" class="quiet small back" onClick={() => go('servers')}>
                    ← All servers
                  </button>
                  <ServerPane key={chosen} row={row} />
                </>
              );
            }}
          </Answered>
        )}
      </div>
      {isAdding ? (
        <AddServer key={query.link ?? ''} link={query.link ?? ''} onClose={() => go('servers', chosen)} />
      ) : null}
    </div>
  );
}

function idOf({ profile, name }: ServerRow): string {
  return `${profile}/${name}`;
}

function ServerPane({ row }: { readonly row: ServerRow }): JSX.Element {
  const connection = useConnection(row);
  const [tab, setTab] = useState<'tools' | 'log'>('tools');
  const [loggingIn, setLoggingIn] = useState(false);
  const oauth = useAsked('oauth servers', () => call('mcp.oauthServers'));
  const canLogIn =
    oauth.asked.kind === 'there' &&
    oauth.asked.value.some(({ profile, server }) => profile === row.profile && server === row.name);

  async function reconnect(): Promise<void> {
    try {
      await call('mcp.reconnect', { server: row.name, profile: row.profile });
      announce(`${row.name} is connected anew.`);
    } catch (error) {
      announce(wordsOf(error).why, true);
    }
  }

  return (
    <section class={`server ${standingOfState(row.state)}`} aria-label={`Server ${row.name}`}>
      <header class="head">
        <div>
          <h2>{row.name}</h2>
          <p class="sub">
            <a href={hashOf('actors', connection)}>its statechart</a>
          </p>
        </div>
        <Chip standing={standingOfState(row.state)} text={row.state} />
      </header>
      {row.error === undefined ? null : <p class="why">{withCode(row.error)}</p>}
      <dl class="facts">
        <Fact name="since">
          <Age at={row.since} />
        </Fact>
        <Fact name="transport">{row.transport}</Fact>
        <Fact name="era">{row.era ?? '—'}</Fact>
        <Fact name="profile">{row.profile}</Fact>
        <Fact name="tools">{row.tools}</Fact>
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => void reconnect()}>
          Reconnect
        </button>
        {canLogIn ? (
          <button type="button" class={row.state === 'needsLogin' ? 'main' : ''} onClick={() => setLoggingIn(true)}>
            Log in…
          </button>
        ) : null}
      </div>
      <div class="tabs" role="tablist" aria-label="What to see of the server">
        {(['tools', 'log'] as const).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab === name}
            aria-controls="tab-panel"
            tabIndex={tab === name ? 0 : -1}
            onClick={() => setTab(name)}
            onKeyDown={(event) => {
              if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
              const other = name === 'tools' ? 'log' : 'tools';
              setTab(other);
              document.getElementById(`tab-${other}`)?.focus();
            }}
          >
            {name === 'tools' ? 'Tools' : 'Log'}
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'tools' ? <Tools row={row} /> : <Log row={row} />}
      </div>
      {loggingIn ? <LoginDialog row={row} onClose={() => setLoggingIn(false)} /> : null}
    </section>
  );
}

/** The address of the server's connection among the living. */
function useConnection({ name, profile }: ServerRow): string {
  for (const { id, machine, meta } of useCell(living).rows.values()) {
    if (machine === 'serverConnection' && meta?.server === name && (meta.profile ?? 'default') === profile) return id;
  }
  return '';
}

const logLines = 300;

function Log({ row }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useAsked(`log ${idOf(row)}`, () =>
    call('mcp.logs', { server: row.name, profile: row.profile, lines: logLines }),
  );
  return (
    <Answered asked={asked}>
      {(lines) =>
        lines.length === 0 ? (
          <Nothing title="The server has said nothing" />
        ) : (
          <div class="log">
            <button type="button" class="quiet small" onClick={again}>
              Read again
            </button>
            <Scrolled label="Log of the server, newest last">
              <pre>{lines.join('\n')}</pre>
            </Scrolled>
          </div>
        )
      }
    </Answered>
  );
}

export const servers: ViewRow = {
  name: 'servers',
  title: 'Servers',
  group: 'Connections',
  icon: 'servers',
  letter: 's',
  component: ({ place }) => (
    <OldBody title="Servers">
      <Servers place={place} />
    </OldBody>
  ),
};
