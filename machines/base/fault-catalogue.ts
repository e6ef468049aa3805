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
  'journal-full': {
    what: 'The disk, a quota or a file size limit leaves the journal no room.',
    remedy: 'Free space in the folder that the message names, or lower the size of the history.',
  },
  'journal-read-only': {
    what: 'The journal may not write in its folder.',
    remedy: 'Make the folder that the message names writable for the user that runs the gateway.',
  },
  'journal-corrupt': {
    what: 'The store of the journal is damaged. It is neither opened nor changed.',
    remedy: 'Stop the gateway, move the file that the message names aside (or put a backup back) and start it again.',
  },
  'journal-version': {
    what: 'The store of the journal was written by another version of the gateway or by another program.',
    remedy: 'Run the version that wrote it, or move the file that the message names aside.',
  },
  'journal-unreadable': {
    what: 'The store of the journal cannot be opened or written for a reason of the operating system.',
    remedy: 'Read the cause in the log; the message names the path.',
  },
  'journal-session-ended': {
    what: 'The session that holds work in the journal has ended.',
    remedy: 'Nothing to do: the gateway opens a new one. Two gateways with one name on one store end each other.',
  },
  'gateway-running': {
    what: 'Another daemon runs the same home.',
    remedy: 'Stop it with `agent gateway stop`, or use another AGENT_HOME.',
  },
  'subscriptions-corrupt': {
    what: 'The subscriptions file is not a JSON object.',
    remedy: 'Mend or move webhook_subscriptions.json; the last good set stays in force until then.',
  },
  'subscriptions-unreadable': {
    what: 'The subscriptions file cannot be read or changed.',
    remedy: 'Check its owner and permissions, the room on its disk, and whether another process holds its lock.',
  },
  'internal-error': {
    what: 'Something in the gateway itself failed.',
    remedy: 'Read the log line with the same id and report it.',
  },
} as const satisfies Record<string, FaultEntry>;

export type FaultCode = keyof typeof faultCatalogue;
