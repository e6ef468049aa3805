/** Two texts as one: added and removed lines, with long unchanged sections folded. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DifferenceLine } from '../data/differences.ts';
import { Scrolled } from './basics.tsx';
import { Button } from './button.tsx';

/** Unchanged lines that are shown around a change. */
const around = 3;
/** Lines that are drawn at first: a browser takes seconds for 100,000. */
const maxDrawn = 2_000;

interface DifferenceProps {
  readonly lines: readonly DifferenceLine[];
  readonly label: string;
}

export function Difference({ lines, label }: DifferenceProps): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== 'same');
  const rows: JSX.Element[] = [];
  let folded = 0;
  const unfold = (at: number): void => {
    if (folded > 0)
      rows.push(
        <div key={`fold ${at}`} class="muted">
          <i>⋯</i>
          <span>{folded === 1 ? '1 equal line' : `${folded.toLocaleString('en')} equal lines`}</span>
        </div>,
      );
    folded = 0;
  };
  let isCut = false;
  for (const [at, line] of lines.entries()) {
    isCut = !isWhole && rows.length >= maxDrawn;
    if (isCut) break;
    if (!isNear(at)) {
      folded += 1;
      continue;
    }
    unfold(at);
    rows.push(<Line key={at} line={line} />);
  }
  unfold(lines.length);
  return (
    <>
      <Scrolled label={label} class="panel diff">
        {rows}
      </Scrolled>
      {isCut ? (
        <div class="btns">
          <Button onClick={() => setWhole(true)}>Show all {lines.length.toLocaleString('en')} lines</Button>
        </div>
      ) : null}
    </>
  );
}

const looks = {
  same: ['', ' ', ''],
  added: ['add', '+', 'added: '],
  removed: ['del', '-', 'removed: '],
} as const;

function Line({ line: { kind, text, changed } }: { readonly line: DifferenceLine }): JSX.Element {
  const [look, sign, words] = looks[kind];
  const [from, to] = changed ?? [0, 0];
  return (
    <div class={look}>
      <i aria-hidden="true">{sign}</i>
      <span>
        {words === '' ? null : <span class="unseen">{words}</span>}
        {text.slice(0, from)}
        {changed === undefined ? null : <b>{text.slice(from, to)}</b>}
        {text.slice(to)}
      </span>
    </div>
  );
}
