/**
 * Failures: its place in the frame, without content yet.
 * @see INS-2 in docs/specification.md
 */

import type { ViewRow } from '../frame/view-row.ts';

export const failures: ViewRow = { name: 'failures', title: 'Failures', group: '', icon: 'failures', letter: 'f' };
