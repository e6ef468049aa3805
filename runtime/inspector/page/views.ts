/**
 * The table of views, in the order of the navigation, from which the frame draws.
 * @see INS-2 in docs/specification.md
 */

import type { JSX } from 'preact';
import { useCell } from './data/cell.ts';
import type { Place, View } from './data/hash.ts';
import { nodes as sharing } from './data/live.ts';
import type { CountProps } from './parts/panel.tsx';
import { Actors } from './views/actors.tsx';
import { Approvals, useApprovalCount } from './views/approvals.tsx';
import { Audit } from './views/audit.tsx';
import { Config, useConfigCount } from './views/config.tsx';
import { Events } from './views/events.tsx';
import { Failures, useFailuresCount } from './views/failures.tsx';
import { Nodes } from './views/nodes.tsx';
import { OverviewView } from './views/overview.tsx';
import { Routes } from './views/routes.tsx';
import { Schedules } from './views/schedules.tsx';
import { Servers } from './views/servers.tsx';
import { Targets } from './views/targets.tsx';

/** A view; its name is also that of its icon. */
export interface ViewRow {
  readonly name: View;
  readonly group: '' | 'Connections' | 'System';
  /** The letter after G that opens it; empty for none. */
  readonly letter: string;
  readonly component: (props: { readonly place: Place }) => JSX.Element;
  /** Only if several gateways can share the journal. */
  readonly ofShared?: boolean;
  /** A hook for the count beside the name, whose words say what is counted: "open failures". */
  readonly useCount?: () => CountProps | undefined;
}

const overview: ViewRow = { name: 'overview', group: '', letter: 'o', component: OverviewView };

const rows: readonly ViewRow[] = [
  overview,
  { name: 'events', group: '', letter: 'e', component: Events },
  { name: 'failures', group: '', letter: 'f', component: Failures, useCount: useFailuresCount },
  { name: 'approvals', group: '', letter: 'a', component: Approvals, useCount: useApprovalCount },
  { name: 'routes', group: 'Connections', letter: 'r', component: Routes },
  { name: 'servers', group: 'Connections', letter: 's', component: Servers },
  { name: 'targets', group: 'Connections', letter: 't', component: Targets },
  { name: 'schedules', group: 'Connections', letter: '', component: Schedules },
  { name: 'nodes', group: 'System', letter: 'n', component: Nodes, ofShared: true },
  { name: 'actors', group: 'System', letter: '', component: Actors },
  { name: 'config', group: 'System', letter: 'c', component: Config, useCount: useConfigCount },
  { name: 'audit', group: 'System', letter: '', component: Audit },
];

/** Returns the views in the order of the navigation; those of several gateways only if there can be some. */
export function viewsNow(): readonly ViewRow[] {
  return sharing.get() === undefined ? rows.filter(({ ofShared }) => ofShared !== true) : rows;
}

/** The same as a hook: the component is drawn again when they change. */
export function useViews(): readonly ViewRow[] {
  useCell(sharing);
  return viewsNow();
}

export function rowOf(view: View): ViewRow {
  return rows.find(({ name }) => name === view) ?? overview;
}
