/** What the frame knows of a view: one row of the table in `views.ts`. */

import type { JSX } from 'preact';
import type { Place, View } from '../data/hash.ts';
import type { IconName } from '../parts/icons.tsx';

export interface NavCount {
  readonly count: number;
  readonly tone: 'bad' | 'wait' | 'plain';
  /** What is counted, for a reader of screens: "open failures". */
  readonly words: string;
}

export interface ViewRow {
  readonly name: View;
  readonly title: string;
  readonly group: '' | 'Connections' | 'System';
  readonly icon: IconName;
  /** The letter after G that goes there; empty for none. */
  readonly letter: string;
  /** Absent for a place that has no content yet; the navigation leaves it out. */
  readonly component?: (props: { readonly place: Place }) => JSX.Element;
  /** Only where several gateways can share the journal. */
  readonly ofShared?: boolean;
  /** A hook: what stands beside the name. */
  readonly useCount?: () => NavCount | undefined;
}
