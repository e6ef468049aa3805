/** What several sections of the schema declare alike. @see CFG-4 in docs/specification.md */

import { maxTimerSeconds } from '../base/timer.ts';

export const text = { type: 'string' } as const;

/** A mapping with no keys but those in `properties`. */
export const mapping = { type: 'object', additionalProperties: false } as const;

/** A positive wait that one timer can keep. */
export const someSeconds = { type: 'number', exclusiveMinimum: 0, maximum: maxTimerSeconds } as const;

export const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;

/** The pattern refuses only an IPv4 address with a number above 255. */
export const bindAddress = {
  ...text,
  minLength: 1,
  pattern: '^(?!\\d+(?:\\.\\d+){3}$)|^(?:(?:25[0-5]|2[0-4]\\d|[01]?\\d?\\d)(?:\\.|$)){4}$',
  description: 'Bind address: an IP address of this machine, or a name such as localhost.',
} as const;
