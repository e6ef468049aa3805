/** A view's row of the table in `views.ts`, from which the frame draws. */

import type { JSX } from 'preact';
import type { Place, View } from '../data/hash.ts';
import type { IconName } from '../parts/icons.tsx';

export interface NavCount {
  readonly count: number;
  readonly tone: 'bad' | 'wait' | 'plain';
  /** What is counted, for screen readers: "open failures". */
  readonly words: string;
}

export interface ViewRow {
  readonly name: View;
  readonly title: string;
  readonly group: '' | 'Connections' | 'System';
  readonly icon: IconName;
  /** The letter after G that opens it; empty for none. */
  readonly letter: string;
  /** Absent for a view without content yet; the navigation leaves it out. */
  readonly component?: (props: { readonly place: Place }) => JSX.Element;
  /** Only if several gateways can share the journal. */
  readonly ofShared?: boolean;
  /** A hook for the count beside the name. */
  readonly useCount?: () => NavCount | undefined;
}
