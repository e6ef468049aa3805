/** The result of a server's test: its tools, each with whether it asks first; or the server's last words. @see INS-4 */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ProbeReport } from '../../../control/contract/servers.ts';
import { counted, formatTook } from '../data/format.ts';
import { Scrolled, withCode } from '../parts/basics.tsx';
import { Button } from '../parts/button.tsx';
import { Status } from '../parts/chip.tsx';
import { Tag } from '../parts/panel.tsx';

const shownAtFirst = 5;
/** Tools of the gateway itself, switched by the keys `resources` and `prompts`. */
const utilities: ReadonlySet<string> = new Set(['list_resources', 'read_resource', 'list_prompts', 'get_prompt']);

interface TestResultProps {
  readonly report: ProbeReport;
  /** Tools that are left out. */
  readonly left: readonly string[];
  readonly busy: boolean;
  readonly onLeft: (left: readonly string[]) => void;
  readonly onAgain: () => void;
}

export function TestResult({ report, left, busy, onLeft, onAgain }: TestResultProps): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const tools = report.ok ? (report.tools ?? []) : [];
  const shown = isWhole ? tools : tools.slice(0, shownAtFirst);
  return (
    <section class="panel" aria-label="Test result">
      <header>
        {report.ok ? (
          <Status mark="delivered">Connected in {formatTook(report.milliseconds ?? 0)}</Status>
        ) : report.needs_login === true ? (
          <Status mark="waiting">Reached; it needs a login</Status>
        ) : (
          <Status mark="failed">Not connected</Status>
        )}
        {report.ok ? (
          <span class="muted small">
            Protocol {report.era} · {counted(tools.length, 'tool')}
          </span>
        ) : null}
        <span class="push">
          <Button class="quiet" disabled={busy} onClick={onAgain}>
            {busy ? 'Testing…' : 'Test again'}
          </Button>
        </span>
      </header>
      {report.ok ? (
        <>
          <table class="fixed">
            <caption class="unseen">Tools of the server</caption>
            <colgroup>
              <col class="tick" />
              <col />
              <col class="says" />
            </colgroup>
            <tbody>
              {shown.map(({ tool, description, asks, read_only: isReadOnly }) => (
                <tr key={tool}>
                  <td>
                    {utilities.has(tool) ? null : (
                      <input
                        type="checkbox"
                        aria-label={`Offer ${tool}`}
                        checked={!left.includes(tool)}
                        onChange={(event) =>
                          onLeft(event.currentTarget.checked ? left.filter((one) => one !== tool) : [...left, tool])
                        }
                      />
                    )}
                  </td>
                  <td title={description}>
                    <code>{tool}</code>
                  </td>
                  <td class="right">
                    <Tag>{isReadOnly ? 'read only' : asks ? 'asks first' : 'runs without asking'}</Tag>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {tools.length > shown.length ? (
            <button type="button" class="foldline" onClick={() => setWhole(true)}>
              Show {counted(tools.length - shown.length, 'more tool')}
            </button>
          ) : null}
        </>
      ) : (
        <div class="pad stack" role="alert">
          <p>{withCode(report.error)}</p>
          {report.stderr === undefined ? null : (
            <Scrolled label="Last lines of its standard error">
              <pre class="code said">{report.stderr.join('\n')}</pre>
            </Scrolled>
          )}
        </div>
      )}
    </section>
  );
}
