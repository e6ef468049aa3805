/**
 * Routes: its place in the frame, without content yet.
 * @see INS-2 in docs/specification.md
 */

import type { ViewRow } from '../frame/view-row.ts';

export const routes: ViewRow = { name: 'routes', title: 'Routes', group: 'Connections', icon: 'routes', letter: 'r' };
