/** The two HTTP servers for specs that name them; uWebSockets.js is skipped, with the reason, where its binary cannot load. */

import { whyNotLoadable } from '../../runtime/http/native.ts';
import { inAllOnly } from './tier.ts';

const missing = whyNotLoadable();

/** Why uWebSockets.js cannot be opened here: false where it can, as a spec's `skip` wants it. */
export const noUws: string | false =
  missing !== undefined &&
  `uWebSockets.js ${missing.text} on Node ${process.versions.node}; npm run native helps its conformance suite`;

/** Each version of Node.js needs a binary of its own, and the newest may have none: what that binary is cannot be tested then. */
export const noBinary: string | false =
  missing !== undefined && / has no binary for Node/.test(missing.text) && `uWebSockets.js ${missing.text}`;

/** For journeys: `npm test` runs them over the one that a gateway has by itself. */
export const httpServers = [
  { front: 'node', skip: false },
  { front: 'uws', skip: noUws || inAllOnly },
] as const;
