/**
 * The search box of the events, the only source of the search. Filters are completed while a person types, and are
 * highlighted in the text.
 * @see INS-4 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { filterNames, knownValues, partsOfQuery } from '../../../../machines/base/event-query.ts';
import { Icon } from '../parts/icons.tsx';

interface SearchBoxProps {
  readonly value: string;
  /** Known values of filters: the names of routes, targets and sources. */
  readonly values: Readonly<Record<string, readonly string[]>>;
  /** Why the search is invalid; empty otherwise. */
  readonly fault: string;
  /** Called 200 ms after the last key, and immediately with Enter or when the box is left. */
  readonly onSearch: (value: string) => void;
}

const patienceMs = 200;
const maxOffered = 8;

export function SearchBox({ value, values, fault, onSearch }: SearchBoxProps): JSX.Element {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(value);
  const [caret, setCaret] = useState<number | undefined>(undefined);
  const [at, setAt] = useState(-1);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  /** The caret after a completion, until the box has its text. */
  const left = useRef<number | undefined>(undefined);
  // Before the next key can arrive: a later frame would move the caret while a person types.
  useLayoutEffect(() => {
    if (left.current !== undefined) input.current?.setSelectionRange(left.current, left.current);
    left.current = undefined;
  });
  // A chip or Back has changed the search. A space that was just typed stays for the next word. Before the next key, which
  // would be lost.
  useLayoutEffect(() => setTyped((now) => (now.trim() === value ? now : value)), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const offered = caret === undefined ? [] : completionsOf(typed, caret, values);
  const isOpen = offered.length > 0;
  // A filter that can be completed is not a wrong one yet.
  const shownFault = isOpen ? '' : fault;

  function search(text: string, afterMs = patienceMs): void {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = undefined;
    if (afterMs === 0) onSearch(text);
    else timer.current = setTimeout(() => search(text, 0), afterMs);
  }

  /** A chip or a range is chosen beside what was typed: a later search would undo the choice. */
  function leave(): void {
    setCaret(undefined);
    if (timer.current !== undefined) search(typed, 0);
  }

  function take({ text, caret: next }: Completion): void {
    search(text);
    setAt(-1);
    setCaret(next);
    left.current = next;
  }

  function onKeyDown(event: KeyboardEvent): void {
    const chosen = offered[at];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (!isOpen) return;
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setAt((at + step + offered.length) % offered.length);
    } else if (event.key === 'Enter' && chosen === undefined) {
      setCaret(undefined);
      search(typed, 0);
    } else if ((event.key === 'Enter' || event.key === 'Tab') && chosen !== undefined) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      setCaret(undefined);
    }
  }

  return (
    <search class="search">
      <Icon name="search" />
      <div class="input">
        <Highlighted text={typed} />
        <input
          ref={input}
          id="search-events"
          type="text"
          role="combobox"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          placeholder="Search id, event, route, reason or payload text"
          aria-label="Search events"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-activedescendant={at >= 0 && isOpen ? `${id}-${at}` : undefined}
          aria-invalid={shownFault !== ''}
          aria-describedby={`${id}-fault`}
          onInput={(event) => {
            search(event.currentTarget.value);
            setCaret(event.currentTarget.selectionStart ?? event.currentTarget.value.length);
            setAt(-1);
          }}
          onKeyDown={onKeyDown}
          onBlur={leave}
        />
      </div>
      {typed === '' ? <kbd>/</kbd> : null}
      <div id={`${id}-list`} class="offers" role="listbox" aria-label="Completions" hidden={!isOpen}>
        {offered.map((offer, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the box above has the focus and takes the keys.
          <div
            key={offer.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(offer)}
          >
            {offer.label}
          </div>
        ))}
      </div>
      <p id={`${id}-fault`} class="fault" role="status">
        {shownFault}
      </p>
    </search>
  );
}

/** Lies under the text of the box and gives filters their background. */
function Highlighted({ text }: { readonly text: string }): JSX.Element {
  const parts: JSX.Element[] = [];
  let last = 0;
  for (const { from, to, filter } of partsOfQuery(text)) {
    parts.push(<span key={`${from}-`}>{text.slice(last, from)}</span>);
    parts.push(
      <span key={from} class={filter === undefined ? '' : 'token'}>
        {text.slice(from, to)}
      </span>,
    );
    last = to;
  }
  return (
    <span class="under" aria-hidden="true">
      {parts}
    </span>
  );
}

interface Completion {
  readonly label: string;
  /** The search after the completion. */
  readonly text: string;
  readonly caret: number;
}

/** Returns the possible completions at the caret: names of filters, or values of the filter that it is in. */
function completionsOf(
  text: string,
  caret: number,
  values: Readonly<Record<string, readonly string[]>>,
): readonly Completion[] {
  const part = partsOfQuery(text).find(({ from, to }) => from < caret && caret <= to);
  if (part === undefined || part.to !== caret) return [];
  const written = part.value.toLowerCase();
  const before = text.slice(0, part.from);
  const after = text.slice(part.to);
  const offer = (label: string, end: string): Completion => ({
    label,
    text: `${before}${label}${end}${after}`,
    caret: before.length + label.length + end.length,
  });
  if (part.filter === undefined) {
    if (text[part.from] === '"') return [];
    return filterNames.filter((name) => name.startsWith(written)).map((name) => offer(`${name}:`, ''));
  }
  const { filter } = part;
  const known = knownValues[filter] ?? values[filter] ?? [];
  return known
    .filter((one) => one.toLowerCase().startsWith(written) && one.toLowerCase() !== written)
    .slice(0, maxOffered)
    .map((one) => offer(`${filter}:${/[\s":]/.test(one) ? `"${one}"` : one}`, ' '));
}
