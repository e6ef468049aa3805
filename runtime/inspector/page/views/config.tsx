/**
 * Config: the source of config.yaml on disk and in force, with its findings below their lines, where its secrets come from
 * and what changed last. Read only.
 * @see INS-4, CFG-2 and CFG-3 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ConfigSource } from '../../../control/contract/setup.ts';
import { useNow } from '../data/clock.ts';
import { copyText } from '../data/copy-text.ts';
import { differencesOf } from '../data/differences.ts';
import { counted, formatClock } from '../data/format.ts';
import type { Place } from '../data/hash.ts';
import { goFiltered } from '../data/place.ts';
import { call, useAsked, useKept } from '../data/rpc.ts';
import { saveFile } from '../data/save-file.ts';
import { useAgain } from '../data/use-nodes.ts';
import { BareSelect } from '../parts/bare-select.tsx';
import { Clock, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status, StatusMark } from '../parts/chip.tsx';
import { Segmented } from '../parts/choice.tsx';
import { Difference } from '../parts/difference.tsx';
import { Body, Head } from '../parts/head.tsx';
import { Answer, Banner, Count, type CountProps, Empty, Panel } from '../parts/panel.tsx';
import { lineId, lineIn, Source } from './config-source.tsx';

const versions = [
  ['disk', 'On disk'],
  ['force', 'In force'],
  ['difference', 'Difference'],
] as const;
type Version = (typeof versions)[number][0];

const lookMs = 3_000;
const countMs = 30_000;
const maxChanges = 10;

export function Config({ place: { query } }: { readonly place: Place }): JSX.Element {
  // The profile of the file is chosen only here; the other views keep theirs.
  const profile = query.file || query.profile || 'default';
  const asking = useAsked(`config ${profile}`, () => call('config.source', { profile }));
  const { asked, again } = asking;
  const version = versions.find(([name]) => name === query.version)?.[0] ?? 'disk';
  // The daemon sends no event when the file changes.
  useAgain(asking, lookMs);
  const isThere = asked.kind === 'there';
  const disk = isThere ? asked.value.disk : [];
  const line = lineIn(disk, Number(query.line ?? 0));
  useEffect(() => {
    if (isThere && line > 0) document.getElementById(lineId(line))?.scrollIntoView({ block: 'center' });
  }, [isThere, line]);
  const toLine = (at: number): void => {
    goFiltered({ ...query, version: 'disk', line: String(at) });
    // The same line again does not change the address.
    document.getElementById(lineId(lineIn(disk, at)))?.scrollIntoView({ block: 'center' });
  };
  const profiles = isThere ? asked.value.profiles : [];
  return (
    <>
      <Head title="Config" count={isThere ? <code class="not-s">{asked.value.file}</code> : undefined}>
        {profiles.length > 1 ? (
          <BareSelect
            label="Profile of the file"
            class="inline"
            value={profile}
            options={profiles.map((name) => [name, name] as const)}
            onChoose={(file) => goFiltered({ ...query, file })}
          />
        ) : null}
        <Segmented<Version>
          label="Version"
          value={version}
          options={versions}
          onChoose={(next) => goFiltered({ ...query, version: next })}
        />
        <Button icon="replay" class="not-s" onClick={again}>
          Check again
        </Button>
        {isThere ? (
          <Button icon="download" class="not-s" onClick={() => download(asked.value)}>
            Download, redacted
          </Button>
        ) : null}
      </Head>
      <Body>
        <Answer asked={asked} again={again} what="The configuration">
          {(source) => (
            <>
              <Standing source={source} toLine={toLine} />
              <div class="grid3 two wide">
                <Panel
                  title="config.yaml"
                  beside={
                    <span class="muted small cut">
                      {source.saved_at === undefined ? null : (
                        <>
                          saved <Clock at={source.saved_at} /> ·{' '}
                        </>
                      )}
                      read only here, secrets are masked
                    </span>
                  }
                  right={<CopyLines lines={shownLines(source, version)} />}
                >
                  <Shown source={source} version={version} line={line} />
                </Panel>
                <div class="stack">
                  <Findings source={source} toLine={toLine} />
                  <Secrets source={source} />
                  <Changes source={source} />
                </div>
              </div>
            </>
          )}
        </Answer>
      </Body>
    </>
  );
}

interface ShownProps {
  readonly source: ConfigSource;
  readonly version: Version;
  readonly line: number;
}

function Shown({ source: { disk, in_force: force, findings }, version, line }: ShownProps): JSX.Element {
  if (version === 'disk') return <Source lines={disk} findings={findings} at={line} />;
  if (force === undefined) return <Empty title="No configuration is in force." />;
  if (version === 'force') return <Source lines={force.lines} findings={[]} at={0} />;
  const lines = differencesOf(force.lines.join('\n'), disk.join('\n'));
  if (lines.every(({ kind }) => kind === 'same')) return <Empty title="The file on disk is in force." />;
  return <Difference lines={lines} label="From in force to on disk" />;
}

interface StandingProps {
  readonly source: ConfigSource;
  readonly toLine: (line: number) => void;
}

/** Shows whether the file on disk is in force. */
function Standing({ source: { findings, in_force: force, disk }, toLine }: StandingProps): JSX.Element | null {
  const now = useNow();
  if (force === undefined) return null;
  const since = formatClock(force.since, now);
  const errors = findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  const isSame = force.lines.join('\n') === disk.join('\n');
  return (
    <>
      {force.refused !== undefined && !isSame ? (
        <Banner
          mark="failed"
          alert
          button={
            first === undefined || first.line === 0 ? undefined : (
              <Button onClick={() => toLine(first.line)}>Go to error</Button>
            )
          }
        >
          <b class="strong">
            {errors.length === 0
              ? `The file is not in force; the configuration of ${since} stays in force.`
              : `The file has ${counted(errors.length, 'error')}, so the configuration of ${since} stays in force.`}
          </b>{' '}
          <span class="muted">
            {errors.length === 0
              ? withCode(force.refused)
              : `Saved changes apply automatically once the ${errors.length === 1 ? 'error is' : 'errors are'} fixed.`}
          </span>
        </Banner>
      ) : (
        <p class="muted">
          {isSame ? `In force since ${since}.` : `Saved; the change is being applied. In force since ${since}.`}
          {errors.length === 0
            ? ''
            : ` ${counted(errors.length, 'error')} in it: what is affected does not start, the rest runs.`}
        </p>
      )}
      {force.restart_for.length === 0 ? null : (
        <Banner mark="waiting">
          <b class="strong">Restart needed for </b>
          {force.restart_for.map((key) => (
            <code key={key}>{key} </code>
          ))}
        </Banner>
      )}
    </>
  );
}

interface FindingsProps {
  readonly source: ConfigSource;
  readonly toLine: (line: number) => void;
}

function Findings({ source: { findings }, toLine }: FindingsProps): JSX.Element {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  return (
    <Panel
      title="Findings"
      beside={
        <>
          {errors === 0 ? null : <Count count={errors} tone="bad" words={errors === 1 ? 'error' : 'errors'} />}
          {warnings === 0 ? null : (
            <Count count={warnings} tone="wait" words={warnings === 1 ? 'warning' : 'warnings'} />
          )}
        </>
      }
    >
      {findings.length === 0 ? (
        <p class="pad muted">No findings.</p>
      ) : (
        <ul class="findings">
          {findings.map(({ line, column, message, severity, code }) => (
            <li key={`${line} ${column} ${code}`}>
              <StatusMark name={severity === 'error' ? 'failed' : 'waiting'} />
              <div>
                <span>{withCode(message)}</span>
                {line === 0 ? null : (
                  <Button class="quiet" onClick={() => toLine(line)}>
                    line {line}, column {column}
                  </Button>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function Secrets({ source: { variables, findings } }: { readonly source: ConfigSource }): JSX.Element {
  const isRead = findings.every(({ code }) => code !== 'yaml-syntax');
  return (
    <Panel title="Secrets" beside={<span class="muted small">values are never shown</span>}>
      {variables.length === 0 ? (
        <p class="pad muted">{isRead ? 'The file refers to no variable.' : 'Shown once the file can be read.'}</p>
      ) : (
        <table class="fixed">
          <caption class="unseen">Variables that the file refers to</caption>
          <colgroup>
            <col />
            <col class="origin" />
          </colgroup>
          <tbody>
            {variables.map(({ name, from }) => (
              <tr key={name}>
                <td>
                  <code title={name}>{name}</code>
                </td>
                <td class="right">
                  {from === 'unset' ? (
                    <Status mark="waiting">not set</Status>
                  ) : (
                    <Status mark="delivered" calm>
                      {from}
                    </Status>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Changes({ source: { in_force: force } }: { readonly source: ConfigSource }): JSX.Element | null {
  if (force === undefined) return null;
  return (
    <Panel title="Last changes" beside={<span class="muted small">since the gateway started</span>}>
      {force.changes.length === 0 ? (
        <p class="pad muted">None.</p>
      ) : (
        <ul class="findings" aria-label="Last changes of the configuration">
          {force.changes.slice(0, maxChanges).map(({ at, kind, what }) => (
            <li key={`${at} ${kind}`}>
              <StatusMark name={kind === 'applied' ? 'delivered' : 'failed'} />
              <div>
                <span class="muted small">
                  <Clock at={at} />
                </span>{' '}
                {kind === 'refused' ? <b class="strong">Refused: </b> : null}
                {withCode(what.join(', '))}
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function shownLines({ disk, in_force: force }: ConfigSource, version: Version): readonly string[] {
  return version === 'force' ? (force?.lines ?? []) : disk;
}

function CopyLines({ lines }: { readonly lines: readonly string[] }): JSX.Element {
  return (
    <Button icon="copy" class="quiet icon-only" aria-label="Copy" onClick={() => void copyText(lines.join('\n'))} />
  );
}

function download({ disk, file }: ConfigSource): void {
  saveFile(file.replaceAll('/', '-').replace(/\.yaml$/, '-redacted.yaml'), disk.join('\n'), 'application/yaml');
}

export function useConfigCount(): CountProps | undefined {
  const asking = useAsked('config errors', () => call('config.check', {}));
  useAgain(asking, countMs);
  const { asked } = useKept(asking);
  const found = asked.kind === 'there' ? asked.value : [];
  const count = found.filter(({ severity }) => severity === 'error').length;
  return count === 0 ? undefined : { count, tone: 'bad', words: count === 1 ? 'error' : 'errors' };
}
