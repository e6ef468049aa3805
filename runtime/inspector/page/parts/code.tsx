/** Text from outside, unchanged; JSON with coloured strings, numbers and keys. */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { shownJson } from '../../../../machines/base/shown-json.ts';
import { jsonParts } from '../data/json-parts.ts';
import { useMedia } from '../data/use-media.ts';
import { Scrolled } from './basics.tsx';
import { Button } from './button.tsx';

/** Longer text is cut, with a button that shows the rest. */
const maxShown = 65_536;
/** The same on a phone, where the page itself scrolls. */
const maxOnPhone = 2_000;
/** As in the style sheet, which reserves their height. */
const linesOfPiece = 200;

interface CodeProps {
  readonly text: string;
  readonly label: string;
  readonly json?: boolean;
  /** In a box that scrolls, except on a phone. */
  readonly paper?: boolean;
}

export function Code({ text, label, json = false, paper = false }: CodeProps): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const isPhone = useMedia('(max-width: 760px)');
  const shown = isWhole ? text : text.slice(0, paper && isPhone ? maxOnPhone : maxShown);
  // The component, which Preact leaves alone while it is the same, unlike thousands of elements.
  const drawn = useMemo(() => <Drawn text={shown} json={json} />, [json, shown]);
  return (
    <>
      <Scrolled label={label} class="codebox">
        {drawn}
      </Scrolled>
      {shown.length < text.length ? (
        <div class="pad btns">
          <Button onClick={() => setWhole(true)}>
            Show all {Math.ceil(text.length / 1_024).toLocaleString('en')} KB
          </Button>
        </div>
      ) : null}
    </>
  );
}

function Drawn({ text, json }: { readonly text: string; readonly json: boolean }): JSX.Element {
  return <pre class="code">{text.length > maxShown ? piecesOf(text) : json ? coloured(text) : text}</pre>;
}

export function JsonCode({ value, label }: { readonly value: unknown; readonly label: string }): JSX.Element {
  const text = useMemo(() => shownJson(value), [value]);
  return <Code text={text} label={label} json />;
}

/** Returns a text of megabytes in pieces, each of which the browser lays out as it comes into sight. */
export function piecesOf(text: string): JSX.Element[] {
  const lines = text.split(/(?<=\n)/);
  return Array.from({ length: Math.ceil(lines.length / linesOfPiece) }, (_, at) => (
    <span key={at} class="piece">
      {lines.slice(at * linesOfPiece, (at + 1) * linesOfPiece).join('')}
    </span>
  ));
}

function coloured(text: string): (string | JSX.Element)[] {
  return jsonParts(text).map(({ name, text: part }, at) =>
    name === '' ? (
      part
    ) : (
      <span key={at} class={name}>
        {part}
      </span>
    ),
  );
}
