/**
 * Overview: its place in the frame, without content yet.
 * @see INS-2 in docs/specification.md
 */

import type { ViewRow } from '../frame/view-row.ts';

export const overview: ViewRow = { name: 'overview', title: 'Overview', group: '', icon: 'overview', letter: 'o' };
