/**
 * Servers of other agent programs, or of a block that is pasted, each with what a person should check before adding it.
 * @see INS-4 and SEC-2
 */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ImportableServer } from '../../../control/contract/servers.ts';
import { announce } from '../data/announce.ts';
import { joinCommandLine } from '../data/command-line.ts';
import { counted } from '../data/format.ts';
import { useProfile } from '../data/profile.ts';
import { call, useAsked } from '../data/rpc.ts';
import { useAttempt } from '../parts/attempt.ts';
import { Button } from '../parts/button.tsx';
import { Check, Field } from '../parts/choice.tsx';
import { SheetForm } from '../parts/form.tsx';
import { WhyNot } from '../parts/needs-fresh.tsx';
import { Answer, Empty, Tag } from '../parts/panel.tsx';
import { ProfileField } from './work-dialog.tsx';

const readWords = 'Read block';
const stale = 'link-not-fresh';

interface ImportServersProps {
  readonly choice: JSX.Element;
  readonly onBusy: (isBusy: boolean) => void;
  readonly onClose: () => void;
}

export function ImportServers({ choice, onBusy, onClose }: ImportServersProps): JSX.Element {
  const [profile, setProfile] = useState(useProfile() ?? 'default');
  const [typed, setTyped] = useState('');
  const [{ block, reading }, read] = useState({ block: '', reading: 0 });
  const source = { profile, ...(block === '' ? {} : { block }) };
  // The block may hold secrets, which no key of an answer keeps.
  const { asked, again } = useAsked(`importable ${profile}${block === '' ? '' : ` ${reading}`}`, () =>
    call('mcp.importable', source),
  );
  const isRead = typed.trim() === block;
  const unread = isRead && block !== '' && asked.kind === 'refused' ? asked : undefined;
  const readBlock = (text: string): void => {
    choose([]);
    read({ block: text.trim(), reading: reading + 1 });
  };
  const [chosen, choose] = useState<readonly string[]>([]);
  const { busy, refused, attempt } = useAttempt();
  useEffect(() => onBusy(busy !== undefined), [busy]);
  const yes = chosen.length === 0 ? 'Add servers' : `Add ${counted(chosen.length, 'server')}`;

  const add = (): Promise<unknown> =>
    attempt('Adding…', async () => {
      const { added, failed, not_in_force: why } = await call('mcp.import', { names: chosen, ...source });
      const left = why === undefined ? [] : [`Not in force: ${why}`];
      const problems = [...failed.map((one) => `${one.name}: ${one.why}`), ...left].join('; ');
      announce(
        `${added.length === 0 ? 'No server was added' : `Added ${added.join(', ')}`}.${problems === '' ? '' : ` ${problems}`}`,
        problems !== '',
      );
      onClose();
    });

  return (
    <SheetForm
      hint="Secrets go to .env, config.yaml gets references."
      busy={busy !== undefined}
      onSubmit={add}
      buttons={
        <Button type="submit" class="primary tall" disabled={busy !== undefined || chosen.length === 0 || !isRead}>
          {busy ?? yes}
        </Button>
      }
    >
      {choice}
      <ProfileField
        value={profile}
        onChoose={(next) => {
          setProfile(next);
          choose([]);
        }}
      />
      <Field
        label="Paste a block"
        mono
        lines={4}
        value={typed}
        placeholder={'{ "mcpServers": { … } }'}
        hint="As a server’s page shows it for Claude, Cursor, VS Code or another program: JSON, YAML or TOML."
        {...(unread === undefined || unread.code === stale ? {} : { fault: unread.why })}
        onInput={(text) => {
          setTyped(text);
          if (text.trim() === '') readBlock('');
        }}
      />
      {typed.trim() === '' ? null : (
        <div class="btns">
          <Button onClick={() => readBlock(typed)}>{readWords}</Button>
        </div>
      )}
      {unread?.code === stale ? <WhyNot refused={unread} button={readWords} what="The block was not read." /> : null}
      {unread !== undefined || !isRead ? null : (
        <Answer asked={asked} again={again} what="The servers of other programs">
          {(found) =>
            found.length === 0 ? (
              <Empty title="No other agent program has servers here.">
                Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf, Zed, OpenCode, goose, Hermes
                Agent and OpenClaw of the gateway’s user have none. Servers of a project’s folder are imported there by{' '}
                <code>agent mcp import</code>.
              </Empty>
            ) : (
              <ul class="imports">
                {found.map((server) => (
                  <Importable
                    key={`${server.file} ${server.foreign_name}`}
                    server={server}
                    checked={chosen.includes(server.name)}
                    onChange={(on) =>
                      choose(on ? [...chosen, server.name] : chosen.filter((name) => name !== server.name))
                    }
                  />
                ))}
              </ul>
            )
          }
        </Answer>
      )}
      <WhyNot refused={refused} button={yes} what="Nothing was added yet." />
    </SheetForm>
  );
}

interface ImportableProps {
  readonly server: ImportableServer;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

function Importable({ server, checked, onChange }: ImportableProps): JSX.Element {
  const { name, program, file, entry, standing, why, variables, missing, notes, foreign_name: foreign } = server;
  const canAdd = standing === 'new' || standing === 'taken';
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  const reached = typeof entry.url === 'string' ? entry.url : joinCommandLine([String(entry.command ?? ''), ...args]);
  const words = [
    ...(standing === 'same' ? ['It is configured here already.'] : []),
    ...(standing === 'taken' ? [`“${foreign}” is taken here; it is added as ${name}.`] : []),
    ...(standing === 'unusable' ? [`It cannot be added: ${why ?? ''}`] : []),
    ...(variables.length > 0 ? [`Into .env: ${variables.join(', ')}.`] : []),
    ...(missing.length > 0 ? [`Not set yet: ${missing.join(', ')}.`] : []),
    ...(canAdd ? notes : []),
  ];
  return (
    <li>
      {canAdd ? (
        <Check checked={checked} onChange={onChange}>
          <b class="strong">{name}</b> {file === '' ? null : <Tag>{program}</Tag>}
        </Check>
      ) : (
        <p>
          <b class="strong">{foreign}</b> {file === '' ? null : <Tag>{program}</Tag>}
        </p>
      )}
      <code class="cut" title={reached}>
        {reached}
      </code>
      {words.map((one) => (
        <p key={one} class="hint">
          {one}
        </p>
      ))}
    </li>
  );
}
