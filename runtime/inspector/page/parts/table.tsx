/** A table of a few rows in a panel; long lists are virtual. */

import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Right-aligned, for numbers and times. */
  readonly right?: boolean;
  /** Left out at phone width; `max`: also if two panels are side by side in a small window. */
  readonly wide?: boolean | 'most';
  readonly width?: string;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>): JSX.Element {
  return (
    <table class="fixed wrap-s" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ title, right, wide, width }) => (
            <th
              key={title}
              scope="col"
              class={classOf(right, wide)}
              {...(width === undefined ? {} : { style: { width } })}
            >
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ title, right, wide, cell }) => (
              <td key={title} class={classOf(right, wide)}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function classOf(right = false, wide: Column<unknown>['wide'] = false): string {
  return `${right ? 'right num' : ''}${wide === false ? '' : ' not-s'}${wide === 'most' ? ' not-m' : ''}`;
}
