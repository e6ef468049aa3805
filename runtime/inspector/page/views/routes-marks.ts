/** How a route's mark is drawn and named. @see INS-4 in docs/specification.md */

import type { RouteMark } from '../../../control/contract.ts';
import type { MarkName } from '../parts/chip.tsx';

export const routeMarks: Readonly<Record<RouteMark, readonly [MarkName, string]>> = {
  healthy: ['healthy', 'Healthy'],
  retrying: ['retrying', 'Retrying'],
  failing: ['failed', 'Failing'],
  disabled: ['disabled', 'Disabled'],
  quiet: ['ignored', 'No events yet'],
};

/** The opened route. */
export interface RouteChosen {
  readonly name: string;
  readonly profile: string;
}
