/** The lines of a config.yaml, keys and references in colours, each finding below its line. @see INS-4 and CFG-2 */

import type { JSX } from 'preact';
import type { ConfigSource } from '../../../control/contract/setup.ts';
import { withCode } from '../parts/basics.tsx';
import { StatusMark } from '../parts/chip.tsx';

interface SourceProps {
  readonly lines: readonly string[];
  readonly findings: ConfigSource['findings'];
  /** The line that a link leads to; 0 for none. */
  readonly at: number;
}

export function Source({ lines, findings, at }: SourceProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset belongs to a form.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys.
    <div class="yaml" role="group" aria-label="Source" tabIndex={0}>
      {lines.map((line, index) => {
        const found = findings.filter((one) => lineIn(lines, one.line) === index + 1);
        const isBad = found.some(({ severity }) => severity === 'error');
        const tone = found.length === 0 ? '' : isBad ? 'bad' : 'wait';
        return (
          <>
            <div key={index} id={lineId(index + 1)} class={`yl ${tone}${at === index + 1 ? ' at' : ''}`}>
              <i>{index + 1}</i>
              <span>{coloured(line)}</span>
            </div>
            {found.map(({ message, code, severity, column }) => (
              <div key={`${index} ${column} ${code}`} class={`yn ${severity === 'error' ? 'bad' : 'wait'}`}>
                <StatusMark name={severity === 'error' ? 'failed' : 'waiting'} />
                <span>
                  {withCode(message)} <span class="muted">{code}</span>
                </span>
              </div>
            ))}
          </>
        );
      })}
    </div>
  );
}

/** Returns the line where a finding is shown: what is missing at the end of a file is found on the line after its last one. */
export function lineIn(lines: readonly string[], line: number): number {
  return Math.min(line, lines.length);
}

export function lineId(line: number): string {
  return `config-line-${line}`;
}

const parts = /^(\s*(?:- )*)([\w.@/-]+)(:)(?=\s|$)|(\$\{[^}]*\})|("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')|((?:^|\s)#.*$)/g;

function coloured(line: string): (string | JSX.Element)[] | string {
  const drawn: (string | JSX.Element)[] = [];
  let last = 0;
  for (const match of line.matchAll(parts)) {
    const [all, margin = '', key, colon = '', reference, text] = match;
    drawn.push(line.slice(last, match.index));
    last = match.index + all.length;
    const name = reference !== undefined || text?.includes('${') === true ? 'n' : text !== undefined ? 's' : 'p';
    if (key === undefined) drawn.push(<span class={name}>{all}</span>);
    else drawn.push(margin, <span class="k">{key}</span>, <span class="p">{colon}</span>);
  }
  return last === 0 ? line || ' ' : [...drawn, line.slice(last)];
}
