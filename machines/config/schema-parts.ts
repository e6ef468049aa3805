/** What several sections of the schema declare alike. @see CFG-4 in docs/specification.md */

import { longestTimerSeconds } from '../base/timer.ts';

export const text = { type: 'string' } as const;

/** A mapping with no keys but those in `properties`. */
export const mapping = { type: 'object', additionalProperties: false } as const;

/** A positive wait that one timer can keep. */
export const someSeconds = { type: 'number', exclusiveMinimum: 0, maximum: longestTimerSeconds } as const;

export const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
