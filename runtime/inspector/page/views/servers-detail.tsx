/**
 * One server: its state and the reason, with the button that helps; then its log, tools, calls, settings and chart.
 * @see INS-4, LIF-1 and OAU-8 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ServerRow } from '../../../control/contract/servers.ts';
import { announce } from '../data/announce.ts';
import { useCell } from '../data/cell.ts';
import { type Command, useCommands } from '../data/commands.ts';
import { counted } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { living } from '../data/live.ts';
import { go, goWithin } from '../data/place.ts';
import { usePlayed } from '../data/player.ts';
import { call, useAsked, useLast } from '../data/rpc.ts';
import { isFailing, type ServerTab, serverLabel, serverMark, whyOf } from '../data/server-words.ts';
import { useFresh } from '../data/use-fresh.ts';
import { Acts, useMayAct } from '../parts/acts.tsx';
import { useAttempt } from '../parts/attempt.ts';
import { withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { StateChart } from '../parts/chart.tsx';
import { StatusChip } from '../parts/chip.tsx';
import { Tabs } from '../parts/choice.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Headline, MetaFact, MetaTime } from '../parts/headline.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Count, Empty, Verdict } from '../parts/panel.tsx';
import { LoginDialog } from './login.tsx';
import { EditSheet } from './servers-add.tsx';
import { ServerCalls, ServerLog, ServerSettings, SettingsPanel } from './servers-tabs.tsx';
import { Tools } from './tools.tsx';

const changing = /^serverConnection$/;

type Opened = 'login' | 'edit' | 'remove' | undefined;

interface ServerDetailProps {
  readonly row: ServerRow;
  readonly tab: ServerTab | undefined;
  readonly again: () => void;
}

export function ServerDetail({ row, tab: chosen, again }: ServerDetailProps): JSX.Element {
  const { name: server, profile, state } = row;
  // By the state in which it was opened: another tab would discard what is typed for a tool, and its result.
  const [first] = useState<ServerTab>(isFailing(row) ? 'log' : 'tools');
  const tab = chosen ?? first;
  const [opened, open] = useState<Opened>(undefined);
  const { busy, refused, attempt } = useAttempt();
  const shown = useAsked(`server ${profile}/${server}`, () => call('mcp.show', { server, profile }));
  // Kept for what is being typed, if the entry cannot be read for a moment.
  const detail = useLast(shown.asked.kind === 'there' ? shown.asked.value : undefined);
  const oauth = useAsked('oauth servers', () => call('mcp.oauthServers'));
  // A changed entry connects anew, and may log in from then on.
  useFresh(changing, () => {
    shown.again();
    oauth.again();
  });
  const canLogIn =
    oauth.asked.kind === 'there' && oauth.asked.value.some((one) => one.profile === profile && one.server === server);

  const act = (button: string, work: () => Promise<string>): Promise<unknown> =>
    attempt(button, async () => {
      announce(await work());
      again();
      shown.again();
    });
  const reconnect = (): Promise<unknown> =>
    act('Try again now', async () => {
      await call('mcp.reconnect', { server, profile });
      return `Connecting ${server}…`;
    });
  const logOut = (): Promise<unknown> =>
    act('Log out', async () => {
      const { was_logged_in: was } = await call('mcp.logout', { server, profile });
      return was ? `Logged out of ${server}.` : `There was no login to ${server}.`;
    });
  const isOff = state === 'disabled';
  const turn = (): Promise<unknown> =>
    act(isOff ? 'Enable' : 'Disable', async () => {
      const { not_in_force: why } = await call(isOff ? 'mcp.enable' : 'mcp.disable', { server, profile });
      if (why !== undefined) return `Written, but not in force: ${why}`;
      return isOff ? `Server ${server} enabled.` : `Server ${server} disabled.`;
    });
  const commands: readonly Command[] = [
    { label: 'Try again now', icon: 'replay', run: () => void reconnect() },
    { label: 'Edit…', icon: 'edit', asks: true, run: () => open('edit') },
    { label: isOff ? 'Enable' : 'Disable', icon: 'power', run: () => void turn() },
    { label: 'Remove…', icon: 'close', asks: true, run: () => open('remove') },
  ];
  const mayAct = useMayAct();
  useCommands('selection', mayAct ? commands : []);
  const toLogin = canLogIn && state === 'needsLogin';
  return (
    <>
      <Headline
        title={server}
        chip={<StatusChip mark={serverMark(state)}>{serverLabel(state)}</StatusChip>}
        meta={
          <>
            {row.transport === '' ? null : <span>{row.transport}</span>}
            {profile === 'default' ? null : <span>profile {profile}</span>}
            <MetaTime name="Since" at={row.since} />
            <MetaFact name="Protocol">{row.era ?? undefined}</MetaFact>
            <MetaFact name="Tried">{row.failures === undefined ? undefined : counted(row.failures, 'time')}</MetaFact>
            {row.next_at === undefined ? null : <MetaTime name="Next attempt" at={row.next_at} />}
          </>
        }
      >
        <Acts>
          {canLogIn && !toLogin ? (
            <>
              <Button onClick={() => open('login')}>Log in…</Button>
              <Button disabled={busy !== undefined} onClick={() => void logOut()}>
                Log out
              </Button>
            </>
          ) : null}
          {isFailing(row) || isOff ? null : (
            <Button icon="replay" disabled={busy !== undefined} onClick={() => void reconnect()}>
              Reconnect
            </Button>
          )}
          <Button icon="edit" onClick={() => open('edit')}>
            Edit…
          </Button>
          <Button icon="power" disabled={busy !== undefined} onClick={() => void turn()}>
            {isOff ? 'Enable' : 'Disable'}
          </Button>
          <Button class="risky" onClick={() => open('remove')}>
            Remove…
          </Button>
        </Acts>
      </Headline>
      <WhyNot refused={refused} button={refused?.words ?? ''} />
      {isFailing(row) ? (
        <Verdict
          mark={serverMark(state)}
          tone={state === 'failed' || state === 'parked' ? 'bad' : 'wait'}
          title={withCode(whyOf(row))}
          more={
            row.tools === 0 ? undefined : `${counted(row.tools, 'tool')} stay listed and answer “server unavailable”.`
          }
          buttons={
            <Acts>
              <Button icon="replay" class="primary" disabled={busy !== undefined} onClick={() => void reconnect()}>
                {busy === 'Try again now' ? 'Trying…' : 'Try again now'}
              </Button>
              <Button icon="edit" onClick={() => open('edit')}>
                {row.transport === 'stdio' ? 'Edit command…' : 'Edit address…'}
              </Button>
            </Acts>
          }
        />
      ) : toLogin ? (
        <Verdict
          mark="waiting"
          tone="wait"
          title="The server needs a login."
          more={mayAct ? 'Its login page opens in this browser; the tokens stay on the gateway’s machine.' : undefined}
          buttons={
            <Acts>
              <Button class="primary" onClick={() => open('login')}>
                Log in…
              </Button>
            </Acts>
          }
        />
      ) : row.error === undefined || isOff ? null : (
        <Verdict mark="retrying" tone="wait" title={withCode(whyOf(row))} />
      )}
      <Tabs
        label={`Server ${server}`}
        value={tab}
        onChoose={(next) => go('servers', `${profile}/${server}/${next}`)}
        options={[
          ['log', 'Log'],
          ['tools', <>Tools {row.tools === 0 ? null : <Count count={row.tools} />}</>],
          ['calls', 'Calls'],
          ['settings', 'Settings'],
          ['chart', 'Chart'],
        ]}
      >
        {tab === 'log' ? (
          <div class="stack">
            <ServerLog row={row} />
            <SettingsPanel asked={shown.asked} row={row} />
          </div>
        ) : tab === 'tools' ? (
          <Tools row={row} />
        ) : tab === 'calls' ? (
          <ServerCalls row={row} />
        ) : tab === 'settings' ? (
          <ServerSettings asked={shown.asked} again={shown.again} row={row} />
        ) : (
          <Chart row={row} />
        )}
      </Tabs>
      {opened === 'login' ? <LoginDialog row={row} onClose={() => open(undefined)} /> : null}
      {opened === 'edit' && detail !== undefined ? (
        <EditSheet
          detail={detail}
          onClose={() => {
            open(undefined);
            shown.again();
            again();
          }}
        />
      ) : null}
      {opened === 'remove' ? (
        <RemoveServer
          row={row}
          own={shown.asked.kind === 'there' ? shown.asked.value.own_variables : []}
          onClose={() => open(undefined)}
        />
      ) : null}
    </>
  );
}

function Chart({ row: { name, profile } }: { readonly row: ServerRow }): JSX.Element {
  const { rows } = useCell(living);
  const found = [...rows.values()].find(
    ({ machine, meta }) =>
      machine === 'serverConnection' && meta?.server === name && (meta.profile ?? 'default') === profile,
  );
  const id = found?.id ?? '';
  const played = usePlayed(id);
  if (found === undefined) return <Empty title="The connection does not run." />;
  return (
    <div class="stack">
      <p>
        <a href={hashOf('actors', id)}>Open in Actors</a>
      </p>
      <StateChart machine={found.machine} state={found.state} played={played} trail={new Set()} />
    </div>
  );
}

interface RemoveServerProps {
  readonly row: ServerRow;
  /** Variables of `.env` that only this entry uses. */
  readonly own: readonly string[];
  readonly onClose: () => void;
}

/** The confirmation before a server is removed: what is deleted and what remains. */
function RemoveServer({ row, own, onClose }: RemoveServerProps): JSX.Element {
  const { name: server, profile } = row;
  const { busy, refused, attempt } = useAttempt();
  const yes = `Remove server ${server}`;

  const remove = (): Promise<unknown> =>
    attempt('Removing…', async () => {
      const { not_in_force: why } = await call('mcp.remove', { server, profile });
      if (why === undefined) announce(`Server ${server} removed.`);
      else announce(`Server ${server} is removed from config.yaml, but not in force: ${why}`, true);
      onClose();
      goWithin('servers');
    });

  return (
    <Confirm title={`Remove the server ${server}?`} yes={yes} busy={busy} onYes={() => void remove()} onClose={onClose}>
      <p>
        Its entry leaves config.yaml, its connection ends, and{' '}
        {row.tools === 0 ? 'its tools' : counted(row.tools, 'tool')} can no longer be called. Calls in progress are
        answered with the reason.
      </p>
      <p>
        Its log and its stored login remain on disk
        {own.length === 0 ? '' : `, and ${own.join(', ')} ${own.length === 1 ? 'remains' : 'remain'} in .env`}. To keep
        the entry, disable the server instead.
      </p>
      <WhyNot refused={refused} button={yes} what="Nothing was removed yet." />
    </Confirm>
  );
}
