/**
 * The table of views, in the order of the navigation. Each view keeps its own row; the frame draws what the rows say.
 * @see INS-2 in docs/specification.md
 */

import type { View } from './data/hash.ts';
import type { ViewRow } from './frame/view-row.ts';
import { actors } from './views/actors.tsx';
import { approvals } from './views/approvals.tsx';
import { audit } from './views/audit.tsx';
import { config } from './views/config.tsx';
import { events } from './views/events.tsx';
import { failures } from './views/failures.tsx';
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
  actors,
  config,
  audit,
];

/** Views with content, as the navigation names them. */
export const shownViews = rows.filter(({ component }) => component !== undefined);

/** The row of a place; a place without content is the first that has some. */
export function rowOf(view: View): ViewRow {
  return shownViews.find(({ name }) => name === view) ?? shownViews[0] ?? overview;
}
