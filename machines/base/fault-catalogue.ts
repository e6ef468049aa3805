/**
 * The catalogue of faults: every code with what it means and how to mend it, for people. `docs/errors.md` lists the
 * same codes, and a spec holds the two together. Codes are stable: scripts match on them.
 */

export interface FaultEntry {
  readonly what: string;
  readonly remedy: string;
}

export const faultCatalogue = {
  'journal-unavailable': {
    what: 'The journal is not open or cannot write, so nothing can be acknowledged.',
    remedy:
      'Read the line before it: it names the folder and what prevents writing. The journal is tried again by itself.',
  },
  'internal-error': {
    what: 'Something in the gateway itself failed.',
    remedy: 'Read the log line with the same id and report it.',
  },
} as const satisfies Record<string, FaultEntry>;

export type FaultCode = keyof typeof faultCatalogue;
