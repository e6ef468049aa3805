/**
 * The table of views, in the order of the navigation, from which the frame draws.
 * @see INS-2 in docs/specification.md
 */

import { useCell } from './data/cell.ts';
import type { View } from './data/hash.ts';
import { nodes as sharing } from './data/live.ts';
import type { ViewRow } from './frame/view-row.ts';
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

const overview: ViewRow = {
  name: 'overview',
  title: 'Overview',
  group: '',
  icon: 'overview',
  letter: 'o',
  component: OverviewView,
};

const rows: readonly ViewRow[] = [
  overview,
  { name: 'events', title: 'Events', group: '', icon: 'events', letter: 'e', component: Events },
  {
    name: 'failures',
    title: 'Failures',
    group: '',
    icon: 'failures',
    letter: 'f',
    component: Failures,
    useCount: useFailuresCount,
  },
  {
    name: 'approvals',
    title: 'Approvals',
    group: '',
    icon: 'approvals',
    letter: 'a',
    component: Approvals,
    useCount: useApprovalCount,
  },
  { name: 'routes', title: 'Routes', group: 'Connections', icon: 'routes', letter: 'r', component: Routes },
  { name: 'servers', title: 'Servers', group: 'Connections', icon: 'servers', letter: 's', component: Servers },
  { name: 'targets', title: 'Targets', group: 'Connections', icon: 'targets', letter: 't', component: Targets },
  { name: 'schedules', title: 'Schedules', group: 'Connections', icon: 'schedules', letter: '', component: Schedules },
  { name: 'nodes', title: 'Nodes', group: 'System', icon: 'nodes', letter: 'n', component: Nodes, ofShared: true },
  { name: 'actors', title: 'Actors', group: 'System', icon: 'actors', letter: '', component: Actors },
  {
    name: 'config',
    title: 'Config',
    group: 'System',
    icon: 'config',
    letter: 'c',
    component: Config,
    useCount: useConfigCount,
  },
  { name: 'audit', title: 'Audit', group: 'System', icon: 'audit', letter: '', component: Audit },
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
