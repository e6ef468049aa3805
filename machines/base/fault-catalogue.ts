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
  'gateway-not-running': {
    what: 'The command asks the daemon, and none runs for this home.',
    remedy: 'Start it with `agent gateway`.',
  },
  'gateway-not-listening': {
    what: 'The webhook adapter does not listen, so nothing can be sent to it.',
    remedy: '`agent gateway status` tells why; enable platforms.webhook or mend its findings.',
  },
  'gateway-busy': {
    what: 'The gateway is starting, reloading or stopping.',
    remedy: 'Ask again in a moment.',
  },
  'gateway-gone': {
    what: 'The gateway closed the connection before it answered.',
    remedy: 'Look at its log: it stopped or was ended.',
  },
  'reload-refused': {
    what: 'The configuration was not taken over: it has findings, or its address cannot be bound. The last good one stays in force.',
    remedy: 'Mend what the message names (`agent config check` lists findings) and reload again.',
  },
  'route-unknown': {
    what: 'No route has that name.',
    remedy: '`agent webhook list` shows the routes; name the profile with `--profile` where it is not the default one.',
  },
  'route-ambiguous': {
    what: 'Several profiles have a route of that name.',
    remedy: 'Name the profile with `--profile`.',
  },
  'delivery-unknown': {
    what: 'The history holds no such delivery, or not its body.',
    remedy: '`agent webhook deliveries` lists what is kept; `gateway.history` bounds it.',
  },
  'run-unknown': {
    what: 'The history holds no such run.',
    remedy: '`agent runs list` lists what is kept.',
  },
  'actor-unknown': {
    what: 'No machine lives at that address.',
    remedy: '`agent inspect tree` lists them.',
  },
  'params-missing': {
    what: 'A parameter of a control method is missing or of another form.',
    remedy: 'docs/control-protocol.md tells the parameters.',
  },
  'subscription-unknown': {
    what: 'No dynamic subscription has that name. Routes of config.yaml are not subscriptions.',
    remedy: '`agent webhook list` shows what there is; name the profile with `--profile`.',
  },
  'subscription-exists': {
    what: 'A subscription of that name exists.',
    remedy: 'Remove it first, or replace it with `--force`.',
  },
  'subscription-static': {
    what: 'config.yaml has a route of that name, which would win.',
    remedy: 'Choose another name.',
  },
  'subscription-unfit': {
    what: 'The subscription breaks a rule of routes; most have a code of their own below.',
    remedy: 'Mend what the message names.',
  },
  'cron-job-unknown': {
    what: 'The cron job does not exist in the profile.',
    remedy: 'Create it, or name another.',
  },
  'profile-unknown': {
    what: 'The profile is not served.',
    remedy: 'Set gateway.multiplex_profiles: true and make its folder under profiles/.',
  },
  'profile-name': {
    what: 'The text is no profile name.',
    remedy: 'Use letters, digits, dots, underscores and hyphens, beginning with a letter or digit.',
  },
  refused: {
    what: 'The gateway refused for a reason without a code of its own.',
    remedy: 'Read the message.',
  },
  'internal-error': {
    what: 'Something in the gateway itself failed.',
    remedy: 'Read the log line with the same id and report it.',
  },
} as const satisfies Record<string, FaultEntry>;

export type FaultCode = keyof typeof faultCatalogue;
