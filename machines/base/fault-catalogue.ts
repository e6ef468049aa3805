/**
 * The catalogue of faults: every code with its meaning and remedy. `docs/errors.md` lists the same codes, which a spec
 * checks. Codes are stable, because scripts match on them.
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
  'journal-in-use': {
    what: '`agent journal copy` needs a database that no gateway uses; while it runs, no gateway opens the database.',
    remedy: 'Stop the gateways before the copy, and wait for its end before a gateway is started.',
  },
  'journal-clock': {
    what: "The clock of this machine is more than 60 seconds off that of the journal's database; nothing is taken.",
    remedy: 'Synchronize both clocks, as with chrony or systemd-timesyncd. The gateway continues by itself.',
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
    remedy:
      'Run the version that wrote it, or move the file that the message names aside. Tables of an earlier release: `agent gateway migrate`, once the gateways of that release have ended.',
  },
  'journal-local': {
    what: 'The command is for a journal in a database, and the journal of the home is none.',
    remedy: 'Name the database in gateway.postgres.url, and `postgres` in gateway.journal.',
  },
  'journal-differs': {
    what: 'The journal to copy to has a record that the source lacks, or has with other content. Nothing was replaced.',
    remedy: 'Copy into an empty database or an empty home. If a gateway has used the copy since, keep using the copy.',
  },
  'journal-unreadable': {
    what: 'The store of the journal cannot be opened or written for a reason of the operating system.',
    remedy: 'Read the cause in the log; the message names the path.',
  },
  'journal-session-ended': {
    what: 'The session that holds work in the journal has ended.',
    remedy: 'Nothing to do: the gateway opens a new one. Two gateways with one name on one store end each other.',
  },
  'home-unwritable': {
    what: 'The home, or a folder in it, cannot be made or written.',
    remedy:
      'Make it a folder that the user of the gateway may write, free space on its disk, or set AGENT_HOME to another.',
  },
  'address-unavailable': {
    what: 'The address that webhooks shall come to cannot be bound: it is in use, not of this host, or not permitted.',
    remedy: 'End what holds it (`agent doctor` looks), or choose another with `agent gateway setup --port <port>`.',
  },
  'socket-foreign': {
    what: 'The home is another user’s; or it is too long a path for a socket, and the folder that would hold it is not this user’s alone.',
    remedy:
      'Run the command as the user that runs the gateway. Of a folder that the message names: have it removed, or set AGENT_HOME to a shorter path.',
  },
  'gateway-running': {
    what: 'Another daemon runs the same home.',
    remedy: 'Stop it with `agent gateway stop`, or use another AGENT_HOME.',
  },
  'gateway-starting': {
    what: 'Another start of the same home is under way, or its lock file was just made and names no process.',
    remedy: 'Try again in a few seconds: a lock file that names no process is then removed by itself.',
  },
  'subscriptions-corrupt': {
    what: 'The subscriptions file is not a JSON object.',
    remedy: 'Fix or move webhook_subscriptions.json; the last good set stays in force until then.',
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
    remedy: '`agent gateway status` shows why; enable platforms.webhook or correct its findings.',
  },
  'gateway-busy': {
    what: 'The gateway is starting or stopping.',
    remedy: 'Ask again in a moment.',
  },
  'gateway-gone': {
    what: 'The gateway closed the connection before it answered, or has answered nothing for 20 seconds.',
    remedy: 'Look at its log: it stopped or was ended. Where it hangs, `agent doctor` names its process.',
  },
  'reload-refused': {
    what: 'The configuration was not applied: it has findings, or its address cannot be bound. The last good one stays in force.',
    remedy: 'Correct what the message names (`agent config check` lists findings) and reload again.',
  },
  'reload-incomplete': {
    what: 'The configuration was applied, but webhooks still do not listen.',
    remedy: 'Correct what the message names, and reload again.',
  },
  'route-unknown': {
    what: 'No route has that name.',
    remedy: '`agent webhook list` shows the routes; name the profile with `--profile` where it is not the default one.',
  },
  'route-ambiguous': {
    what: 'Several profiles have a route of that name.',
    remedy: 'Name the profile with `--profile`.',
  },
  'search-unreadable': {
    what: 'A search of the history has a filter or a range that is none.',
    remedy: 'The message names the part and its allowed values. Put a word with a colon in quotes to search for it.',
  },
  'delivery-unknown': {
    what: 'The history holds no such delivery, or not its body.',
    remedy: '`agent events` lists what is kept; `gateway.history` bounds it.',
  },
  'delivery-ambiguous': {
    what: 'Several routes received this id, so it names several events: an id is unique within a profile and a route alone.',
    remedy: 'Name one by its key, which the message lists, or choose with `--route` and `--profile`.',
  },
  'id-ambiguous': {
    what: 'Several ids begin with the text that was given.',
    remedy: 'Give more of the id; the message lists the candidates.',
  },
  'delivery-under-way': {
    what: 'The delivery is being sent at this moment, or has just changed.',
    remedy: 'Look at it again with `agent deliveries show <id>`.',
  },
  'delivery-settled': {
    what: 'The delivery has arrived already.',
    remedy: 'Nothing to do; `agent events replay` sends its event through once more.',
  },
  'delivery-unsure': {
    what: 'Whether the delivery has arrived is not known, so it is sent again only when a person asks for it.',
    remedy: 'Look at the target. Then `agent deliveries retry <id> --force`, or `agent deliveries drop <id>`.',
  },
  'run-unknown': {
    what: 'The history holds no such run.',
    remedy: '`agent runs list` lists what is kept.',
  },
  'run-over': {
    what: 'The run has answered or ended, so there is nothing left to cancel.',
    remedy: '`agent runs show` shows its outcome.',
  },
  'run-elsewhere': {
    what: 'Another gateway on the same database has the run.',
    remedy: 'Cancel it there; one that is dead loses its runs to the others within seconds.',
  },
  'node-unknown': {
    what: 'No living gateway of the database has the name, or a command was to be run at another gateway that must not be.',
    remedy: '`agent gateway nodes` lists the gateways. What changes a home is run at that home.',
  },
  'node-silent': {
    what: 'Another gateway of the database gave no answer in time.',
    remedy: 'Look at its log; a gateway that is dead loses its work to the others within seconds.',
  },
  'run-refused': {
    what: 'The program of a run asked for more than its run has: another profile, other tools, or a command that is not for runs.',
    remedy:
      'Add the tool to the toolsets of the route, or use the command outside of the run. Approvals are answered by a person.',
  },
  'chat-no-model': {
    what: 'No model is configured that a chat could talk to.',
    remedy: 'Set `agent.model` in config.yaml and reload; it is used by chats whatever `agent.runner` says.',
  },
  'chat-unknown': {
    what: 'The chat session has ended, with its connection or with the gateway.',
    remedy: 'Open another one: `agent chat`.',
  },
  'chat-busy': {
    what: 'The chat session answers one turn at a time.',
    remedy: 'Wait for the answer, or cancel the turn with Ctrl-C.',
  },
  'actor-unknown': {
    what: 'No machine lives at that address.',
    remedy: '`agent inspect tree` lists them.',
  },
  'chart-unknown': {
    what: 'No statechart has that name.',
    remedy: '`agent inspect tree` shows the machine of each actor; a pool has none.',
  },
  'inspector-closed': {
    what: 'The inspector does not listen.',
    remedy: 'The message says why: it is switched off, its port is in use, or its host is no loopback address.',
  },
  'guest-name': {
    what: 'The name for whom a link to the page is made has another form.',
    remedy: 'Use 1 to 64 letters, digits and the characters `. _ @ + -`.',
  },
  'page-read-only': {
    what: 'The session of the page may only read.',
    remedy: 'Open the page by a link of `agent inspect --web` without `--read-only`.',
  },
  'link-not-fresh': {
    what: 'From the page, what starts a program, sets a prompt, or has no control on the page needs a session whose link was opened in the last 10 minutes.',
    remedy: 'Run `agent inspect --web`, open its link in the same browser, then do it again.',
  },
  'sessions-unwritable': {
    what: "The inspector page's sessions are ended, but the file that keeps them could not be written.",
    remedy: 'Delete `state/inspector-sessions.json`, or make it writable and end the sessions again.',
  },
  'params-missing': {
    what: 'A parameter of a control method is missing or of another form.',
    remedy: 'docs/control-protocol.md lists the parameters.',
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
  'secret-needed': {
    what: 'The provider makes the secret itself, so that a fresh one would fit no request.',
    remedy:
      'Make the webhook at the provider with the URL that the message names, then give its secret with `--secret -`.',
  },
  'subscription-unfit': {
    what: 'The subscription breaks a rule of routes; most have a code of their own below.',
    remedy: 'Correct what the message names.',
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
  'login-stopped': {
    what: 'A login ended without new credentials; the old ones are kept.',
    remedy:
      'Read the message: it says what was refused, denied or ran out of time. Begin again with `agent mcp login`.',
  },
  'login-flow': {
    what: 'The flow of a login is none that there is.',
    remedy: 'Use `browser` or `device`.',
  },
  'login-not-oauth': {
    what: 'The server does not log in by OAuth.',
    remedy: 'Set auth: oauth on a server with a url.',
  },
  'login-under-way': {
    what: 'Another login to the same server is under way.',
    remedy: 'Finish it, or end it with Ctrl-C where it was begun.',
  },
  'login-terminal-only': {
    what: 'A device login is begun from a terminal only.',
    remedy: 'Run `agent mcp login <server> --flow device`.',
  },
  'login-paste': {
    what: 'What was pasted is no redirect URL, or no login waits for one.',
    remedy: 'While the login waits, paste the complete address at which the browser ended.',
  },
  'cron-job-unfit': {
    what: 'The cron job breaks a rule of jobs.',
    remedy: 'Correct what the message names.',
  },
  'cron-job-exists': {
    what: 'A cron job of that name exists.',
    remedy: 'Remove it first, or replace it with `--force`.',
  },
  'cron-job-paused': {
    what: 'The cron job is paused.',
    remedy: 'Resume it with `agent cron resume`.',
  },
  'cron-job-disabled': {
    what: 'The cron job is disabled in its file.',
    remedy: 'Enable it with `agent cron resume`, or set its `enabled` to true.',
  },
  'cron-job-broken': {
    what: 'The record of the cron job does not say whether it may run.',
    remedy: 'Write true or false for `paused` and `enabled`, or `agent cron resume` it.',
  },
  'cron-job-ambiguous': {
    what: 'Several cron jobs have the name.',
    remedy: 'Name the job by its id; `agent cron list` shows them.',
  },
  'cron-job-taken': {
    what: 'Another gateway or caller has fired the job at the same moment.',
    remedy: 'Nothing to do: it runs once.',
  },
  'cron-jobs-corrupt': {
    what: 'The file of cron jobs is no JSON of jobs.',
    remedy: 'Fix or move cron/jobs.json; the last good jobs stay in force until then.',
  },
  'cron-jobs-unwritable': {
    what: 'The file of cron jobs cannot be changed.',
    remedy: 'Check its owner and permissions, and the room on its disk.',
  },
  refused: {
    what: 'The gateway refused for a reason without a code of its own.',
    remedy: 'Read the message.',
  },
  'tls-file-missing': {
    what: 'A file that `ssl_verify`, `client_cert` or `client_key` of a server names is not there.',
    remedy:
      'Correct the path that the message names, or put the file there. `~` is the home of the user that runs the gateway.',
  },
  'tls-file-unreadable': {
    what: 'A file that a server’s TLS options name cannot be read.',
    remedy:
      'Make it readable for the user that runs the gateway; the message names the resolved path and the system’s code.',
  },
  'tls-file-invalid': {
    what: 'A file that a server’s TLS options name holds no PEM certificate or no usable key.',
    remedy: 'Give PEM files; convert others with `openssl x509` or `openssl pkey`.',
  },
  'tls-key-password': {
    what: 'The key of a client certificate is encrypted, and no password opens it.',
    remedy: 'Give the password as third item of client_cert, best as `${VAR}` from .env.',
  },
  'tls-key-mismatch': {
    what: 'The client certificate and its key do not belong together.',
    remedy: 'Check which files client_cert and client_key name.',
  },
  'header-invalid': {
    what: 'A configured header of a server cannot be sent.',
    remedy: 'Correct its name or value in headers; a value that came from `${VAR}` may hold a line break.',
  },
  'leads-inside': {
    what: 'A server on the public internet leads to an address that is not: by a redirect, its metadata, an endpoint or a change of its own name.',
    remedy:
      'If both are yours, put that address in url, or reach the server by its own private address. Otherwise ask its operator: no request was sent there.',
  },
  'proxy-invalid': {
    what: 'A proxy variable of the environment cannot be used.',
    remedy: 'Set it to an http or https URL, unset it, or name the host in NO_PROXY.',
  },
  'server-disabled': {
    what: 'The entry of the MCP server says enabled: false, so nothing connects it.',
    remedy: 'Set enabled: true in its entry, or leave it out.',
  },
  'server-unknown': {
    what: 'No MCP server of that name is configured in the profile.',
    remedy: 'Look for the name with `agent mcp list`; --profile chooses another profile.',
  },
  'server-exists': {
    what: 'The profile has an MCP server of that name already.',
    remedy: 'Choose another name, change the one that exists with `agent mcp edit`, or replace it with --force.',
  },
  'server-name': {
    what: 'The name of a new MCP server has characters that it may not have, or is too long.',
    remedy: 'Use 1 to 64 letters, digits, ".", "_" and "-".',
  },
  'server-masked': {
    what: 'A changed value holds the *** or [redacted] that is shown in the place of a secret.',
    remedy: 'Give the value itself, a reference such as ${NAME}, or leave that key as it is.',
  },
  'config-unwritable': {
    what: 'config.yaml is no YAML, or an anchor, alias or merge key gives what is to be changed to others too.',
    remedy: 'Correct the file, as `agent config check` shows it, or change it by hand with `agent config edit`.',
  },
  'server-entry': {
    what: 'The entry of the MCP server has a finding, so that it cannot be connected.',
    remedy: 'Correct what the message names; `agent config check` shows every finding at its place.',
  },
  'approval-unknown': {
    what: 'No question of that id waits: it was answered, ran out of time or was withdrawn.',
    remedy: 'Look with `agent approvals`; the call or the server asks again if it is made again.',
  },
  'approval-values': {
    what: 'The values that were given do not fit the form.',
    remedy: 'Look at the form with `agent approvals show <id>` and give --values anew; the question still waits.',
  },
  'approval-remember': {
    what: 'The answer cannot be remembered in this way.',
    remedy:
      'Approve only this call, or limit the rule to arguments of this call with --where; the question still waits.',
  },
  'internal-error': {
    what: 'Something in the gateway itself failed.',
    remedy: 'Read the log line with the same id and report it.',
  },
} as const satisfies Record<string, FaultEntry>;

export type FaultCode = keyof typeof faultCatalogue;
