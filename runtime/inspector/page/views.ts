/**
 * The table of views, in the order of the navigation. Each view has its row in its own file; the frame draws the rows.
 * @see INS-2 in docs/specification.md
 */

import { useCell } from './data/cell.ts';
import type { View } from './data/hash.ts';
import { nodes as sharing } from './data/live.ts';
import type { ViewRow } from './frame/view-row.ts';
import { actors } from './views/actors.tsx';
import { approvals } from './views/approvals.tsx';
import { audit } from './views/audit.tsx';
import { config } from './views/config.tsx';
import { events } from './views/events.tsx';
import { failures } from './views/failures.tsx';
import { nodes } from './views/nodes.tsx';
import { overview } from './views/overview.tsx';
import { routes } from './views/routes.tsx';
import { schedules } from './views/schedules.tsx';
import { servers } from './views/servers.tsx';
import { targets } from './views/targets.tsx';

const rows: readonly ViewRow[] = [
  overview,
  events,
  failures,
  approvals,
  routes,
  servers,
  targets,
  schedules,
  nodes,
  actors,
  config,
  audit,
];

const withContent = rows.filter(({ component }) => component !== undefined);

/** Returns the views with content, in the order of the navigation; those of several gateways only if there can be some. */
export function viewsNow(): readonly ViewRow[] {
  return sharing.get() === undefined ? withContent.filter(({ ofShared }) => ofShared !== true) : withContent;
}

/** The same as a hook: the component is drawn again when they change. */
export function useViews(): readonly ViewRow[] {
  useCell(sharing);
  return viewsNow();
}

/** Returns the row of a view; for a view without content, the first that has some. */
export function rowOf(view: View): ViewRow {
  return withContent.find(({ name }) => name === view) ?? withContent[0] ?? overview;
}
