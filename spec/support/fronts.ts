/** The two fronts for specs that name them; uWebSockets.js is skipped, with the reason, where its binary cannot load. */

import { whyNotLoadable } from '../../runtime/http/choose.ts';
import { inAllOnly } from './tier.ts';

const missing = await whyNotLoadable();

/** Why uWebSockets.js cannot be opened here: false where it can, as a spec's `skip` wants it. */
export const noUws: string | false =
  missing !== undefined && `uWebSockets.js cannot load on Node ${process.versions.node}: ${missing}`;

/** For journeys: `npm test` runs them over the one that a gateway chooses by itself. */
export const fronts = [
  { front: 'uws', skip: noUws },
  { front: 'node', skip: noUws === false && inAllOnly },
] as const;
