/** The two fronts for specs that name them; uWebSockets.js is skipped, with the reason, where its binary cannot load. */

import { causeOf } from '../../machines/base/fault.ts';
import { loadUws } from '../../runtime/http/uws.ts';

/** Why uWebSockets.js cannot be opened here: false where it can, as a spec's `skip` wants it. */
export const noUws: string | false = await loadUws().then(
  () => false,
  (thrown: unknown) => `uWebSockets.js cannot load on Node ${process.versions.node}: ${causeOf(thrown).split('\n')[0]}`,
);

export const fronts = [
  { front: 'uws', skip: noUws },
  { front: 'node', skip: false },
] as const;
