/** The two fronts for specs that name them; uWebSockets.js is skipped, with the reason, where its binary cannot load. */

import { whyNotLoadable } from '../../runtime/http/choose.ts';

const missing = await whyNotLoadable();

/** Why uWebSockets.js cannot be opened here: false where it can, as a spec's `skip` wants it. */
export const noUws: string | false =
  missing !== undefined && `uWebSockets.js cannot load on Node ${process.versions.node}: ${missing}`;

export const fronts = [
  { front: 'uws', skip: noUws },
  { front: 'node', skip: false },
] as const;
