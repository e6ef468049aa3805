/**
 * Config: its place in the frame, without content yet.
 * @see INS-2 in docs/specification.md
 */

import type { ViewRow } from '../frame/view-row.ts';

export const config: ViewRow = { name: 'config', title: 'Config', group: 'System', icon: 'config', letter: 'c' };
