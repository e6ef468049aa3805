/** The sheet of keys, with the switch that turns single letters off. */

import type { JSX } from 'preact';
import { useCell } from '../data/cell.ts';
import { sentenceCase } from '../data/format.ts';
import { drawnKeys, letters, turnLetters, type ViewKey } from '../data/keys.ts';
import { Check } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Kbd } from '../parts/panel.tsx';
import { useViews } from '../views.ts';

const anywhere = [
  [['Ctrl K', '⌘K'], 'Search or go to'],
  [['/'], 'Search in this view'],
  [['J', 'K'], 'Next, previous in a list'],
  [['Enter'], 'Open'],
  [['Esc'], 'Close what is open'],
  [['['], 'Fold the sidebar'],
  [['?'], 'All keys'],
] as const;

type KeyRow = readonly [keys: readonly string[], label: string];

const shown: Readonly<Record<string, string>> = { Backspace: '⌫', Escape: 'Esc' };

export function KeySheet({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const areOn = useCell(letters);
  const views = useCell(drawnKeys);
  const places = useViews();
  return (
    <Dialog title="Keys" onClose={onClose} sheet isLocal>
      <div class="in">
        <Check checked={areOn} onChange={turnLetters}>
          Single-letter keys. Each of them has a button too.
        </Check>
        <KeyList title="Everywhere" rows={anywhere} />
        <KeyList
          title="Go to"
          rows={places
            .filter(({ letter }) => letter !== '')
            .map(({ name, letter }) => [['G', letter.toUpperCase()], sentenceCase(name)] as const)}
        />
        {[...new Set(views.map(({ title }) => title))].map((title) => (
          <KeyList key={title} title={title} rows={rowsOf(views.filter((one) => one.title === title))} />
        ))}
      </div>
    </Dialog>
  );
}

/** The keys of the parts of a view, each once: those of a list are there for every list that is open. */
function rowsOf(parts: readonly { readonly keys: readonly ViewKey[] }[]): readonly KeyRow[] {
  const rows = parts.flatMap(({ keys }) =>
    keys.map(({ key, shift, label }): [string, KeyRow] => [
      label,
      [[`${shift === true ? 'Shift ' : ''}${shown[key] ?? key.toUpperCase()}`], label],
    ]),
  );
  return [...new Map(rows).values()];
}

function KeyList({ title, rows }: { readonly title: string; readonly rows: readonly KeyRow[] }): JSX.Element {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl class="facts keylist">
        {rows.map(([keys, label]) => (
          <>
            <dt key={label}>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}
