/** The entry of a server as config.yaml has it, secrets masked, with its findings. @see INS-4 and CFG-2 */

import type { ComponentChildren, JSX } from 'preact';
import type { ServerDetail, ServerRow } from '../../../control/contract.ts';
import { joinCommandLine } from '../data/command-line.ts';
import { hashOf } from '../data/hash.ts';
import type { Asked } from '../data/rpc.ts';
import { withCode } from '../parts/basics.tsx';
import { JsonCode } from '../parts/code.tsx';
import { Answer, Banner, Facts, Panel, Tag } from '../parts/panel.tsx';

export function ServerSettings({
  asked,
  again,
  row,
}: {
  readonly asked: Asked<ServerDetail>;
  readonly again: () => void;
  readonly row: ServerRow;
}): JSX.Element {
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

/** Its command or address, and its values. */
export function SettingsPanel({
  asked,
  row,
}: {
  readonly asked: Asked<ServerDetail>;
  readonly row: ServerRow;
}): JSX.Element | null {
  if (asked.kind !== 'there') return null;
  const { entry, cwd, variables, lowers } = asked.value;
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
  for (const words of lowers.filter((one) => !one.startsWith('trust: ') && !one.startsWith('env: it sets'))) {
    facts.push(['Note', words]);
  }
  const status = /HTTP (\d{3})/.exec(row.error ?? '')?.[1];
  const exit = /exited with code (\d+)/.exec(row.error ?? '')?.[1];
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
