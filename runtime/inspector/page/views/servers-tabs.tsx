/**
 * Tabs of a server: its standard error, read again while the page shows it; its last calls since the daemon started; and its
 * entry as config.yaml has it, secrets masked, with its findings.
 * @see LIF-10, INS-4 and CFG-2 in docs/specification.md
 */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ServerCall, ServerDetail, ServerRow } from '../../../control/contract/servers.ts';
import { joinCommandLine } from '../data/command-line.ts';
import { copyText } from '../data/copy-text.ts';
import { formatTook } from '../data/format.ts';
import { hashOf } from '../data/hash.ts';
import { link } from '../data/live.ts';
import { type Asked, call, useAsked } from '../data/rpc.ts';
import { ownToolName } from '../data/server-words.ts';
import { useFollowed, useFresh } from '../data/use-fresh.ts';
import { Clock, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Check } from '../parts/choice.tsx';
import { JsonCode } from '../parts/code.tsx';
import { LogLines } from '../parts/log-lines.tsx';
import { Answer, Banner, Empty, Facts, Panel, Tag } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';

const logLines = 2_000;
const readMs = 2_000;
const changing = /^serverConnection$/;

export function ServerLog({ row: { name, profile, transport } }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useAsked(`log ${profile}/${name}`, () =>
    call('mcp.logs', { server: name, profile, lines: logLines }),
  );
  const [follows, follow] = useState(true);
  // A person who has scrolled up keeps the lines in place.
  const read = (): void => {
    if (follows) again();
  };
  useFresh(changing, read);
  useEffect(() => {
    const timer = setInterval(() => {
      // A hidden page is not read.
      if (!document.hidden && link.get() === 'live') read();
    }, readMs);
    return () => clearInterval(timer);
  }, [again, follows]);
  return (
    <section class="panel" aria-label="Log">
      <header>
        <span class="small muted cut grow">
          {transport === 'stdio' ? 'Standard error' : 'Messages'} of the server, newest last, secrets taken out
        </span>
        <Check checked={follows} onChange={follow}>
          Follow
        </Check>
        {asked.kind === 'there' ? <Copy lines={asked.value} /> : null}
      </header>
      <Answer asked={asked} again={again} what="The log">
        {(lines) =>
          lines.length === 0 ? (
            <Empty title="The server has written nothing." />
          ) : (
            <Lines lines={lines} follows={follows} onFollow={follow} />
          )
        }
      </Answer>
    </section>
  );
}

interface LinesProps {
  readonly lines: readonly string[];
  readonly follows: boolean;
  readonly onFollow: (follows: boolean) => void;
}

/** Keeps the list's identity while its lines are the same, so that nothing moves. */
function Lines({ lines, ...more }: LinesProps): JSX.Element {
  const text = lines.join('\n');
  const steady = useMemo(() => lines, [text]);
  return <LogLines lines={steady} label="Log of the server" {...more} />;
}

function Copy({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  return (
    <Button icon="copy" class="quiet" onClick={() => void copyText(lines.join('\n'))}>
      Copy
    </Button>
  );
}

const called = /^toolCall$/;

export function ServerCalls({ row: { name, profile } }: { readonly row: ServerRow }): JSX.Element {
  const { asked, again } = useFollowed(called, `calls ${profile}/${name}`, () =>
    call('mcp.calls', { server: name, profile }),
  );
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

interface ServerSettingsProps {
  readonly asked: Asked<ServerDetail>;
  readonly again: () => void;
  readonly row: ServerRow;
}

export function ServerSettings({ asked, again, row }: ServerSettingsProps): JSX.Element {
  return (
    <Answer asked={asked} again={again} what="The settings">
      {(detail) => (
        <div class="stack">
          {detail.findings.map(({ message, line, code, severity }) => (
            <Banner key={`${line} ${code} ${message}`} mark={severity === 'error' ? 'failed' : 'waiting'}>
              {withCode(message)} <span class="muted">line {line}</span>
            </Banner>
          ))}
          <SettingsPanel asked={asked} row={row} />
          <Panel
            title="Entry"
            beside={<span class="muted small">secrets are masked</span>}
            right={
              <a href={hashOf('config', '', { line: String(detail.line), file: detail.profile })}>
                {detail.file}, line {detail.line}
              </a>
            }
          >
            <JsonCode value={detail.entry} label="Entry of the server" />
          </Panel>
        </div>
      )}
    </Answer>
  );
}

interface SettingsPanelProps {
  readonly asked: Asked<ServerDetail>;
  readonly row: ServerRow;
}

/** Its command or address, and its values. */
export function SettingsPanel({ asked, row }: SettingsPanelProps): JSX.Element | null {
  if (asked.kind !== 'there') return null;
  const { entry, cwd, variables, further } = asked.value;
  const isUrl = entry.command === undefined;
  const args = Array.isArray(entry.args) ? entry.args.map(String) : [];
  const given = Object.keys((isUrl ? entry.headers : entry.env) ?? {});
  const facts: (readonly [string, ComponentChildren])[] = isUrl
    ? [['Address', <code>{String(entry.url ?? '')}</code>]]
    : [['Command', <code>{joinCommandLine([String(entry.command), ...args])}</code>]];
  if (cwd !== undefined) facts.push(['Directory', <code>{cwd}</code>]);
  if (given.length > 0) facts.push([isUrl ? 'Headers' : 'Environment', <code>{given.join(', ')}</code>]);
  if (!isUrl)
    facts.push(['Inherited', <span class="muted">PATH, HOME, LANG and others that every program needs</span>]);
  if (variables.length > 0) {
    facts.push([
      'Variables',
      variables.map(({ name, from }) => (
        <span key={name} class="pair">
          <code>{name}</code>{' '}
          {from === 'unset' ? <Tag tone="wait">not set</Tag> : <span class="muted">from {from}</span>}{' '}
        </span>
      )),
    ]);
  }
  const trust = entry.trust === undefined || entry.trust === 'full';
  facts.push(['Trust', trust ? 'Tools run without asking' : 'Asks before changes']);
  for (const words of further) facts.push(['Note', words]);
  const { exit_code: exit, http_status: status } = row.failure ?? {};
  if (exit !== undefined) facts.push(['Exit code', exit]);
  if (status !== undefined) facts.push(['HTTP status', status]);
  return (
    <Panel title={isUrl ? 'Address' : 'Command'}>
      <div class="pad">
        <Facts facts={facts} />
      </div>
    </Panel>
  );
}
