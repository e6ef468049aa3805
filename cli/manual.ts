/**
 * The manual of each command beyond its catalogue line: paragraphs, examples, exit codes, files, related pages. Loaded only
 * for help.
 * @see CLI-2 in docs/specification.md
 */

import type { ExitCode } from './context.ts';

export interface ManualEntry {
  readonly about?: readonly string[];
  /** Words after `agent`, and their effect. */
  readonly examples: readonly (readonly [words: string, what: string])[];
  /** Calls the running gateway; exits with 3 if there is none. */
  readonly needsGateway?: true;
  /** Exit codes with a meaning specific to the command. */
  readonly exits?: Readonly<Partial<Record<ExitCode, string>>>;
  /** Names of the home's files that the command reads or writes. */
  readonly files?: readonly FileName[];
  /** Variables beyond those that every command reads. */
  readonly env?: readonly VariableName[];
  /** Other commands, or pages of docs/. */
  readonly see?: readonly string[];
}

export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'Done.',
  1: 'Failed or refused; the message says why.',
  2: 'The words or flags are wrong; nothing was done.',
  3: 'The gateway of the home is not running.',
  4: 'A person is needed: there is no terminal to ask on, or there was no answer.',
  130: 'Cancelled by Ctrl-C.',
};

export const variables = {
  AGENT_HOME: 'The home, unless --home names one or AGENT_SOCKET is set; ~/.agent unless set.',
  AGENT_SOCKET:
    'The socket of a run, which the gateway sets for its program; counts before AGENT_HOME, and --home before both.',
  NO_COLOR: 'Set to anything, it switches colours off; so does TERM=dumb.',
  WEBHOOK_ENABLED: 'Enables webhooks where config.yaml does not say.',
  WEBHOOK_PORT: 'The listen port where config.yaml does not say.',
  WEBHOOK_SECRET: 'The global secret where config.yaml does not say.',
  VISUAL: 'The editor of `config edit` and `events replay --edit`; else EDITOR, else vi.',
  EDITOR: 'The editor where VISUAL is not set.',
  AGENT_LOG_LEVEL: 'What the log shows: debug, info, warn or error; in the environment alone, not in .env.',
} as const;

export type VariableName = keyof typeof variables;

export const files = {
  'config.yaml': 'The configuration; comments and order are kept by every command that changes it.',
  '.env': 'Secrets, one NAME=value a line; readable by its owner alone.',
  'gateway.sock': 'The control socket that the commands speak to.',
  'gateway.lock': 'Held by the running gateway, so that there is one to a home.',
  'webhook_subscriptions.json': 'The dynamic subscriptions.',
  'cron/jobs.json': 'The cron jobs.',
  'mcp-tokens/': 'Credentials of logins, one file a server.',
  'logs/': 'What the background gateway and the servers wrote.',
  'state/': 'The journal: every event, run and delivery.',
} as const;

export type FileName = keyof typeof files;

const config: readonly FileName[] = ['config.yaml', '.env'];
const keptRuns =
  'While no gateway runs, the runs are read from the journal on disk, and a note on standard error says so.';

/** Keyed by the command's words. */
export const manual: Readonly<Record<string, ManualEntry>> = {
  gateway: {
    about: ['Starts the gateway of the home and returns once it listens, or says why it does not.'],
    examples: [
      ['gateway', 'start it'],
      ['--home ~/work-agent gateway', 'start that of another home'],
    ],
    exits: { 1: 'It did not start; the end of its log is shown.' },
    files: [...config, 'gateway.lock', 'logs/', 'state/'],
    env: ['WEBHOOK_ENABLED', 'WEBHOOK_PORT', 'WEBHOOK_SECRET', 'AGENT_LOG_LEVEL'],
    see: ['gateway run', 'gateway stop', 'gateway status', 'gateway service'],
  },
  'gateway start': {
    about: ['The same as `agent gateway`.'],
    examples: [['gateway start', 'start it']],
    exits: { 1: 'It did not start; the end of its log is shown.' },
    files: [...config, 'gateway.lock', 'logs/'],
    see: ['gateway', 'gateway stop'],
  },
  'gateway run': {
    about: [
      'Stays in the foreground: readable lines on a terminal, JSON lines on a pipe. SIGTERM and SIGINT drain and end it with 0; a second one ends it at once. SIGHUP reads the configuration again.',
    ],
    examples: [
      ['gateway run', 'run it here'],
      ['gateway run --example', 'try it with a home made for that'],
    ],
    exits: {
      0: 'Drained and stopped.',
      1: 'It could not start, or crashed more often than its restart budget allows.',
    },
    files: [...config, 'gateway.sock', 'gateway.lock', 'state/'],
    env: ['WEBHOOK_ENABLED', 'WEBHOOK_PORT', 'WEBHOOK_SECRET', 'AGENT_LOG_LEVEL'],
    see: ['gateway', 'gateway service', 'docs/durability.md'],
  },
  'gateway stop': {
    examples: [['gateway stop', 'stop it and wait until it has ended']],
    needsGateway: true,
    see: ['gateway', 'docs/durability.md'],
  },
  'gateway status': {
    examples: [
      ['gateway status', 'look at it'],
      ['gateway status --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['doctor', 'inspect'],
  },
  'gateway nodes': {
    about: ['One of them is the leader, which sends the deliveries of all. `--node` runs a command at another one.'],
    examples: [
      ['gateway nodes', 'list them'],
      ['gateway nodes --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['gateway status', 'docs/scale.md'],
  },
  'gateway reload': {
    about: ['A changed config.yaml or .env is noticed by itself too; this waits until it is in force.'],
    examples: [['gateway reload', 'take a change over']],
    needsGateway: true,
    exits: {
      1: 'The configuration has findings, or its address cannot be bound; the last good one stays in force. Or it was applied, and webhooks still do not listen.',
    },
    files: config,
    see: ['config check'],
  },
  'gateway migrate': {
    about: [
      'Needed once after an upgrade that changes the tables; the log of the gateway and docs/scale.md name it. Stop the gateways of the earlier release first.',
    ],
    examples: [['gateway migrate', 'bring the tables to this release']],
    exits: { 1: 'Gateways still use the tables, or the database refuses; nothing was changed.' },
    files: config,
    see: ['gateway', 'docs/scale.md'],
  },
  'journal copy': {
    about: [
      'Every event, run, delivery, batch and claim is copied and then compared, one by one. The source is not changed. Stop the gateways of both sides first. A copy that was cut off continues when it is run again; a copy that a gateway has used since is refused.',
      'To postgres: subscriptions, cron jobs and OAuth credentials follow at the first start of a gateway there. To lmdb: they are written into the files of the home, over what those hold.',
    ],
    examples: [
      ['journal copy --to postgres', "copy the home's journal into the database"],
      ['journal copy --to lmdb', 'copy it back'],
    ],
    exits: {
      1: 'A gateway runs, an engine cannot be opened, or the copy holds something else already; the message says which.',
    },
    files: [...config, 'state/', 'webhook_subscriptions.json', 'cron/jobs.json', 'mcp-tokens/'],
    see: ['gateway migrate', 'docs/scale.md'],
  },
  'gateway logs': {
    about: [
      'Searches the last 16 MB of logs/gateway.log of the home and of gateway.log.1, which a longer one becomes. Times are in UTC. A gateway in the foreground or of a service logs to its own output instead.',
    ],
    examples: [
      ['gateway logs --level warn --since 2h', 'warnings and errors of the last two hours'],
      ['gateway logs --follow', 'print new lines as they are written'],
    ],
    exits: { 1: 'The home has no such log.' },
    files: ['logs/'],
    see: ['gateway', 'gateway status', 'mcp logs'],
  },
  'gateway setup': {
    about: [
      'Asks on a terminal, step by step; nothing is written before the last answer. Every answer is also a flag, and with flags nothing is asked. Keys that are not answered stay as they are, comments and order too; secrets go into .env.',
      'A route has a secret of its own: 32 random bytes under a variable of its own, unless --secret gives one. So has each route of config.yaml that would have none. A weak secret is refused: fewer than 16 characters, a word that everybody tries first, the name of the route. Runs of a new route have no tools of MCP servers but those of --toolsets.',
      'With --test the gateway is started where it does not run, a subscription is made, and a signed event is sent through it.',
    ],
    examples: [
      ['gateway setup', 'ask'],
      ['gateway setup --enable --port 8644 --route github', 'answer by flags'],
      ['gateway setup --route github --toolsets agent-webhook,mcp-files', 'lend a route tools of a server'],
      ['gateway setup --enable --route github --runner echo --test', 'answer, start and send a first event'],
    ],
    exits: { 4: 'No terminal and no flags, or the questions were left.' },
    files: config,
    see: ['webhook subscribe', 'doctor', 'docs/configuration.md'],
  },
  'gateway service': {
    about: [
      'Prints a hardened systemd unit, or a launchd agent for macOS, with the way to install it as comments at its top; writes nothing. Without a flag it is for the user who asks.',
    ],
    examples: [
      ['gateway service > ~/.config/systemd/user/agent-gateway.service', 'a service of one user'],
      ['gateway service --system', 'a service of the machine, under a user of its own'],
      ['gateway service --launchd > ~/Library/LaunchAgents/agent-gateway.plist', 'a service of one user on macOS'],
    ],
    see: ['gateway run', 'docs/service.md'],
  },
  'webhook subscribe': {
    about: [
      'Makes a route with a fresh secret, which is shown once, and prints where to paste it and a curl command that sends a signed test event. Needs no gateway; a running one takes it over with the next request.',
    ],
    examples: [
      [
        'webhook subscribe payments --source stripe --secret - --wait',
        'reads the secret, then waits for the first event',
      ],
      ['webhook subscribe ci --events build --prompt "Look at {build.url}"', 'an agent run per build'],
      [
        'webhook subscribe reviews --filter action=opened --coalesce pull_request.number',
        'one run per opened pull request',
      ],
      ['webhook subscribe alerts --deliver telegram --deliver-chat-id 42 --deliver-only', 'the text itself, no run'],
    ],
    exits: { 1: 'The name is taken, or a rule of routes is broken.' },
    files: ['webhook_subscriptions.json'],
    see: ['webhook test', 'docs/subscriptions.md'],
  },
  'webhook list': {
    examples: [
      ['webhook list', 'every route with its URL and problems'],
      ['webhook list --json', 'the same for scripts'],
    ],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook show', 'webhook subscribe'],
  },
  'webhook show': { examples: [['webhook show ci', 'one route, without its secret']], see: ['webhook list'] },
  'webhook disable': {
    about: [
      'A route of config.yaml gets `enabled: false`, comments kept; a subscription likewise. Its senders get 403, and most do not send those events again.',
    ],
    examples: [['webhook disable ci', 'answer its senders 403']],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook enable', 'webhook list'],
  },
  'webhook enable': {
    examples: [['webhook enable ci', 'receive events again']],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook disable'],
  },
  'webhook remove': {
    examples: [['webhook remove ci', 'take a subscription away']],
    exits: { 1: 'No subscription has that name; routes of config.yaml are removed there.' },
    files: ['webhook_subscriptions.json'],
    see: ['webhook subscribe'],
  },
  'webhook test': {
    about: [
      'Signs a payload or a sample as the route verifies. Where only the sender can sign (Discord, SendGrid, PayPal, Amazon SNS), the event is handed in without its signature, which the answer and the history say; every rule after the signature applies.',
    ],
    examples: [
      ['webhook test ci', 'send a payload of no importance'],
      ['webhook test reviews --sample pull_request.opened', 'send what GitHub sends, signed as the route verifies'],
      ['webhook test payments --sample stripe:invoice.paid', 'the same for any provider of docs/sources.md'],
      [`webhook test ci --event build --payload '{"build": {"url": "https://ci.example/1"}}'`, 'send that'],
    ],
    needsGateway: true,
    exits: { 1: 'The answer was not 2xx; it is shown.' },
    see: ['events'],
  },
  'webhook doctor': {
    examples: [
      ['webhook doctor payments', 'why Stripe’s last request was refused'],
      ['webhook doctor payments --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['webhook test', 'inspect why', 'docs/sources.md'],
  },
  events: {
    about: [
      '`--search` looks through all events of the history for words and "phrases in quotes": in ids, event types, routes, reasons and payloads. Filters narrow it: `route:`, `status:` (open, delivered, failed, refused, unconfirmed, ignored, duplicate, or finer ones such as retrying), `event:`, `id:`, `source:`, `target:`, `profile:`, `node:` (the gateway that took it) and `is:replay`.',
      'Also by its earlier name, `agent webhook deliveries [id]`.',
    ],
    examples: [
      ['events --search checkout_4411', 'those whose payload has this text'],
      ["events --search 'status:failed target:slack' --since 7d", 'failed deliveries of a week'],
      ['events', 'the newest fifty'],
      ['events --status failed --route ci', 'those that failed'],
      ['events --since 2h --follow', 'those of the last two hours, and each that comes'],
    ],
    needsGateway: true,
    see: ['events show', 'events replay', 'runs', 'docs/durability.md'],
  },
  'events list': {
    about: ['The same as `agent events`.'],
    examples: [['events list --json', 'the newest fifty, for scripts']],
    needsGateway: true,
    see: ['events', 'events show'],
  },
  'events show': {
    examples: [
      ['events show 8f2c-1', 'one by the id that its sender gave'],
      ['events show latest', 'the newest'],
    ],
    needsGateway: true,
    see: ['events', 'inspect why'],
  },
  'events replay': {
    about: [
      'Headers that carry credentials are never kept, so a replay goes through without a signature. Every later rule of the route applies, also to an edited payload. Also by its earlier name, `agent webhook replay`.',
      'With `--dry` the agent runs with its tools as usual, but its response is delivered to no target.',
    ],
    examples: [
      ['events replay 8f2c-1', 'process it once more'],
      ['events replay 8f2c-1 --edit --dry', 'edit the payload, and only see the response'],
      ['events replay latest --payload changed.json', 'with the payload of a file'],
    ],
    needsGateway: true,
    exits: { 1: 'The answer was not 2xx, or the run of --dry failed; it is shown. Or the editor failed.' },
    env: ['VISUAL', 'EDITOR'],
    see: ['events'],
  },
  'mcp list': {
    examples: [
      ['mcp list', 'every server with state and reason'],
      ['mcp list --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['mcp logs', 'mcp test', 'docs/mcp-servers.md'],
  },
  'mcp tools': {
    examples: [
      ['mcp tools', 'every tool'],
      ['mcp tools github --json', 'those of one server, with their schemas'],
    ],
    needsGateway: true,
    see: ['mcp call'],
  },
  'mcp call': {
    examples: [[`mcp call mcp__files__read_file '{"path": "README.md"}'`, 'call a tool']],
    needsGateway: true,
    exits: { 1: 'The tool answered with an error, or was not called; the code says which.' },
    see: ['mcp tools', 'approvals', 'docs/errors.md'],
  },
  'mcp test': {
    about: ['Beside the connections of a running gateway; needs none, and changes nothing.'],
    examples: [['mcp test github', 'connect once']],
    exits: {
      1: 'The server was not reached; the message says how far it got.',
      4: 'It was reached and needs a login; the message names the command.',
    },
    see: ['mcp list', 'doctor'],
  },
  'mcp add': {
    examples: [
      ['mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes', 'a local server'],
      [
        "mcp add tracker --url https://mcp.example/mcp --header 'Authorization: Bearer ${TRACKER_TOKEN}'",
        'a remote one',
      ],
    ],
    exits: {
      1: 'The server was not reached, or the name is taken; nothing was written. Or it was written, and another fault keeps the configuration from being applied.',
    },
    files: ['config.yaml', '.env'],
    see: ['mcp edit', 'mcp import', 'mcp test', 'docs/mcp-servers.md'],
  },
  'mcp edit': {
    about: [
      'Changes the keys that are given and leaves the rest of the entry, its comments and its order as they are. The entry that results is checked before it is written; nothing is connected. A secret among the values goes into .env, and the entry refers to it by ${NAME}.',
    ],
    examples: [
      ['mcp edit files -- npx -y @modelcontextprotocol/server-filesystem ~/reports', 'another command'],
      ['mcp edit tracker --entry \'{"timeout": 60}\'', 'one key'],
      ['mcp edit tracker --unset headers.X-Team', 'take a key out'],
    ],
    exits: {
      1: 'The entry that would result has a finding; nothing was written. Or it was written, and another fault keeps the configuration from being applied.',
    },
    files: ['config.yaml', '.env'],
    see: ['mcp add', 'mcp disable', 'docs/mcp-servers.md'],
  },
  'mcp disable': {
    examples: [['mcp disable files', 'no connection and no tools, the entry stays']],
    files: ['config.yaml'],
    see: ['mcp enable', 'mcp remove'],
  },
  'mcp enable': {
    examples: [['mcp enable files', 'connect it again']],
    files: ['config.yaml'],
    see: ['mcp disable'],
  },
  'mcp import': {
    about: [
      'Looks where Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf, Zed, OpenCode, goose, Hermes Agent and OpenClaw keep their MCP servers, those of the user and those of this folder and of the folders of yours that hold it, shows what it found with each setting that lowers a guard, and asks before it writes. What a file in the folder offers is added only where you choose it or pass --project, since others may have written that file. A server of such a file that refers to variables is added after a question that names each with where its value goes; without a terminal, --variables names what you allow. Keys are mapped to ours, and what cannot be mapped is named; what is switched off there stays so here. Values that are secrets go into .env and are referred to by ${NAME}. A name that is taken is never overwritten.',
    ],
    examples: [
      ['mcp import --dry-run', 'show what would be written'],
      ['mcp import --from claude-code', 'choose among those of one program'],
      ['mcp import --all --yes', 'take over all, without a question'],
    ],
    exits: {
      1: 'Nothing was found, or the file could not be changed.',
      4: '--yes is not given, and there is no terminal to ask on or --json is given; or a server waits for --variables.',
    },
    files: config,
    see: ['mcp add', 'docs/mcp-servers.md'],
  },
  'mcp remove': {
    examples: [['mcp remove files', 'take it out; the gateway ends it by itself']],
    files: ['config.yaml'],
    see: ['mcp disable', 'mcp add'],
  },
  'mcp logs': {
    examples: [['mcp logs github --limit 20', 'the last twenty lines, secrets taken out']],
    needsGateway: true,
    files: ['logs/'],
    see: ['mcp list'],
  },
  'mcp reload': {
    examples: [
      ['mcp reload', 'read the configuration again'],
      ['mcp reload github', 'make one connection anew'],
    ],
    needsGateway: true,
    see: ['mcp list', 'gateway reload'],
  },
  'mcp login': {
    examples: [
      ['mcp login tracker', 'by the flow that the entry names'],
      ['mcp login tracker --flow device', 'on another device, by a code'],
    ],
    needsGateway: true,
    files: ['mcp-tokens/'],
    see: ['mcp reauth', 'docs/login.md'],
  },
  'mcp reauth': {
    examples: [
      ['mcp reauth tracker', 'log in anew'],
      ['mcp reauth --all', 'one after another'],
    ],
    needsGateway: true,
    files: ['mcp-tokens/'],
    see: ['mcp login'],
  },
  'mcp serve': {
    about: ['Speaks MCP on standard input and output; give it to another agent program as its server.'],
    examples: [['mcp serve', 'as the command of an MCP server entry']],
    needsGateway: true,
    see: ['docs/mcp-serve.md'],
  },
  'link open': {
    examples: [
      ["link open 'agent://mcp/install?name=files&config=eyJjb21tYW5kIjoibHMifQ'", 'show what the link asks for'],
    ],
    exits: { 1: 'The link is malformed, or nothing was added.', 4: 'There is no terminal to ask on.' },
    files: ['config.yaml'],
    see: ['mcp add', 'mcp import'],
  },
  'link register': {
    examples: [
      ['link register', 'let the desktop open such links'],
      ['link register --undo', 'no longer'],
    ],
    exits: { 1: 'The system has no xdg-utils, as macOS has none.' },
    see: ['link open'],
  },
  chat: {
    examples: [['chat', 'talk; /help lists what can be typed']],
    needsGateway: true,
    exits: { 4: 'No model is configured.' },
    see: ['gateway setup', 'docs/chat.md'],
  },
  approvals: {
    examples: [
      ['approvals', 'what waits'],
      ['approvals --follow', 'continue, and print each question as it is asked'],
    ],
    needsGateway: true,
    see: ['approvals show', 'approvals approve', 'approvals deny'],
  },
  'approvals list': {
    about: ['The same as `agent approvals`.'],
    examples: [['approvals list --json', 'what waits, for scripts']],
    needsGateway: true,
    see: ['approvals show', 'approvals approve'],
  },
  'approvals show': {
    examples: [['approvals show akfmtx7', 'the arguments of a call, or a form']],
    needsGateway: true,
    see: ['approvals approve', 'approvals deny'],
  },
  'approvals approve': {
    examples: [
      ['approvals approve akfmtx7', 'let the call run'],
      ['approvals approve akfmtx7 --for-run', 'let the run call this tool again without a question'],
      [
        'approvals approve akfmtx7 --always --where repo=acme/web',
        'write a rule: calls with this argument run without a question',
      ],
      [`approvals approve akfmtx8 --values '{"name": "Ada"}'`, 'fill a form in'],
    ],
    needsGateway: true,
    exits: { 1: 'No such question waits, the values do not fit the form, or the answer cannot be remembered.' },
    see: ['approvals show', 'approvals answered', 'docs/mcp-servers.md'],
  },
  'approvals answered': {
    about: ['The last 100 answers since the gateway started, newest first.'],
    examples: [['approvals answered --json', 'who answered and when, for scripts']],
    needsGateway: true,
    see: ['approvals'],
  },
  'approvals deny': {
    examples: [
      ['approvals deny akfmtx7', 'nothing is sent'],
      ["approvals deny akfmtx7 --note 'wait for the release branch'", 'the agent is given the reason'],
    ],
    needsGateway: true,
    see: ['approvals'],
  },
  'cron add': {
    about: [
      'The schedule has five fields, or is `@daily` and its like, or an interval such as `every 15m`; without one the job runs when it is fired by hand or by a webhook.',
    ],
    examples: [
      [
        'cron add digest "0 7 * * 1-5" --prompt "Sum the night up" --deliver telegram --deliver-chat-id 42',
        'each weekday at seven',
      ],
      ['cron add probe "every 15m" --prompt "Look at the queue" --paused', 'every quarter of an hour, once resumed'],
    ],
    files: ['cron/jobs.json'],
    see: ['cron list', 'cron run', 'docs/cron.md'],
  },
  'cron list': {
    examples: [
      ['cron list', 'every job with when it is due'],
      ['cron list --json', 'the same for scripts'],
    ],
    files: ['cron/jobs.json'],
    see: ['cron show', 'docs/cron.md'],
  },
  'cron show': {
    examples: [['cron show digest', 'its next times and the outcome of the last']],
    files: ['cron/jobs.json'],
    see: ['cron list', 'runs show'],
  },
  'cron pause': {
    examples: [['cron pause digest', 'not fired until it is resumed']],
    files: ['cron/jobs.json'],
    see: ['cron resume'],
  },
  'cron resume': {
    examples: [['cron resume digest', 'fired again from its next time on']],
    files: ['cron/jobs.json'],
    see: ['cron pause'],
  },
  'cron run': {
    examples: [['cron run digest --context "Only the urgent ones"', 'fire it now, once']],
    needsGateway: true,
    exits: { 1: 'The job is paused, disabled or broken, and --force is not given.' },
    see: ['cron show', 'runs list'],
  },
  'cron remove': { examples: [['cron remove digest', 'take it away']], files: ['cron/jobs.json'], see: ['cron list'] },
  runs: {
    about: [keptRuns],
    examples: [
      ['runs', 'the newest fifty'],
      ['runs --status failed --since 1d', 'those that failed since yesterday'],
      ['runs --follow', 'each run as it begins and ends'],
    ],
    files: ['state/'],
    see: ['runs show', 'events'],
  },
  'runs list': {
    about: ['The same as `agent runs`.', keptRuns],
    examples: [
      ['runs list', 'the newest fifty'],
      ['runs list --status failed', 'those that failed'],
    ],
    files: ['state/'],
    see: ['runs show', 'events'],
  },
  'runs show': {
    about: [keptRuns],
    examples: [
      ['runs show 0mwu633pl0000nu9ns', 'prompt, response, delivery'],
      ['runs show 0mwu633pl0000nu9ns --transcript', 'everything that was said and called'],
    ],
    files: ['state/'],
    see: ['runs list'],
  },
  'runs cancel': {
    examples: [['runs cancel 0mwu633pl0000nu9ns', 'end it; nothing is delivered']],
    needsGateway: true,
    see: ['runs list', 'docs/agent-runs.md'],
  },
  deliveries: {
    examples: [
      ['deliveries', 'the newest fifty'],
      ['deliveries --follow', 'each delivery as it is tried and arrives'],
    ],
    needsGateway: true,
    see: ['deliveries show', 'deliveries retry', 'deliveries targets', 'docs/deliveries.md'],
  },
  'deliveries list': {
    about: ['The same as `agent deliveries`.'],
    examples: [
      ['deliveries list', 'the newest fifty'],
      ['deliveries list --status deadLettered --target slack', 'what one target never took'],
    ],
    needsGateway: true,
    see: ['deliveries retry', 'deliveries targets', 'docs/deliveries.md'],
  },
  'deliveries show': {
    examples: [['deliveries show 0mwu633pl0000nu9ns', 'the text, and its outcome']],
    needsGateway: true,
    see: ['deliveries list'],
  },
  'deliveries retry': {
    examples: [
      ['deliveries retry 0mwu633pl0000nu9ns', 'one, now'],
      ['deliveries retry --all --target slack', 'every dead letter of a target'],
    ],
    needsGateway: true,
    exits: { 1: 'It may have arrived already (--force sends it all the same), or one of --all could not be touched.' },
    see: ['deliveries list', 'docs/deliveries.md'],
  },
  'deliveries drop': {
    examples: [
      ['deliveries drop 0mwu633pl0000nu9ns', 'one that is to go nowhere'],
      ['deliveries drop --all --route ci', 'every dead letter of a route'],
    ],
    needsGateway: true,
    exits: { 1: 'One of --all could not be touched.' },
    see: ['deliveries list'],
  },
  'deliveries targets': {
    examples: [['deliveries targets', 'each target with its state, and the cure where it failed']],
    needsGateway: true,
    see: ['doctor', 'docs/deliveries.md'],
  },
  'config check': {
    about: ['Prints every finding as a compiler does: file, line, column, what is wrong, how to fix it, and its code.'],
    examples: [
      ['config check', 'for people'],
      ['config check --json', 'for editors'],
    ],
    exits: { 1: 'There is a finding, an error or a warning.' },
    files: config,
    see: ['config schema', 'doctor', 'docs/errors.md'],
  },
  'config show': {
    about: [
      'Reads the files, also while no gateway runs. A reference to a variable is shown as it is written, with where the variable is set; its value is not shown.',
    ],
    examples: [
      ['config show', 'every setting and default'],
      ['config show platforms.webhook --json', 'one section, for scripts'],
    ],
    exits: { 1: 'No setting, or no profile, has that name.' },
    files: config,
    see: ['config edit', 'config check', 'docs/configuration.md'],
  },
  'config edit': {
    about: [
      'Opens a draft in the editor of VISUAL or EDITOR and checks it when the editor ends. A draft without errors takes the place of config.yaml, which a running gateway applies by itself. With errors it asks whether to continue editing; a draft that is not saved is kept, and the message names it. Errors of a single MCP server or platform are shown and do not keep the draft from being saved.',
    ],
    examples: [
      ['config edit', 'edit with the usual editor'],
      ['config edit --profile work', 'edit that of a profile'],
    ],
    exits: {
      1: 'The draft has errors, the editor failed, or the file was changed meanwhile; config.yaml is unchanged.',
    },
    files: ['config.yaml'],
    env: ['VISUAL', 'EDITOR'],
    see: ['config show', 'config check', 'gateway reload'],
  },
  'config schema': {
    examples: [['config schema > agent.schema.json', 'for an editor that checks YAML']],
    see: ['config check', 'docs/configuration.md'],
  },
  inspect: {
    about: [
      'On a terminal the tree is live: q ends it, the arrows scroll. Red has failed, yellow is tried again.',
      '--web prints a link to the inspector page, which works once and for five minutes, and opens it where there is a desktop, by a private file that is removed again: the list of processes shows no link. Over ssh it says which tunnel to take.',
      'A session of the page lasts 12 hours. --end-sessions ends all of them, in every browser, and says how many they were.',
    ],
    examples: [
      ['inspect', 'everything that lives, as a tree'],
      ['inspect --web', 'the page in a browser'],
      ['inspect --web --read-only --as maya', 'a link for somebody who looks on'],
      ['inspect --end-sessions', 'close the page everywhere'],
    ],
    needsGateway: true,
    see: ['inspect why', 'inspect follow', 'inspect show', 'docs/inspect.md', 'docs/inspector.md'],
  },
  audit: {
    about: [
      'Reads logs/audit.log and logs/refused-sign-ins.log of the home, also while no gateway runs. What was changed in the files, by an editor, `config edit` or `gateway setup`, is not in it. A row names what was changed, never a prompt, a payload or a secret. What agents do is in `agent events` and `agent runs`.',
    ],
    examples: [
      ['audit --since 1d', 'what was changed since yesterday'],
      ['audit --search mcp.', 'changes of MCP servers'],
    ],
    files: ['logs/'],
    see: ['inspect', 'docs/inspector.md'],
  },
  'inspect tree': {
    about: ['Prints once what `agent inspect` shows live.'],
    examples: [
      ['inspect tree --json', 'the tree for scripts'],
      ['--node gateway-2 inspect tree', 'that of another gateway on the same database'],
    ],
    needsGateway: true,
    see: ['inspect'],
  },
  'inspect follow': {
    about: [
      'States passed through without a pause are shown too, and the first steps of a delivery once its id is known.',
    ],
    examples: [
      ['inspect follow --machine delivery', 'one kind of machine'],
      ['inspect follow --delivery 8f2c-1', 'all that is done for one delivery'],
      ['inspect follow --json', 'a record a line'],
      ['inspect follow --json --full', 'for tools of @statelyai/inspect'],
    ],
    needsGateway: true,
    see: ['inspect show', 'docs/inspect.md'],
  },
  'inspect show': {
    examples: [['inspect show connections/github', 'state, timers, last steps, context, chart']],
    needsGateway: true,
    see: ['inspect', 'docs/inspect.md'],
  },
  'inspect why': {
    about: [
      'Shows each state that the delivery passed, the decision in it, up to the state that stopped it, and the remedy. It is read from the journal, so it survives a restart; refused requests are kept in memory until the daemon ends, and equal ones of one address are counted together.',
    ],
    examples: [
      ['inspect why 8f2c-1', 'the outcome of a delivery'],
      ['inspect why 8f2c-1 --texts', 'with the prompt, the response and the delivered text'],
    ],
    needsGateway: true,
    exits: { 1: 'No delivery of that id is in the history.' },
    see: ['events', 'events replay', 'docs/inspect.md'],
  },
  doctor: {
    about: [
      'Checks everything that keeps a gateway from working, and says for each finding where it is, what it is and how to fix it. A running gateway is asked for the state of its servers; where none runs, each server that needs no login is connected to once. No login is ever begun.',
      'With --fix it closes what is open to others and removes what a dead gateway left. It changes nothing else.',
    ],
    examples: [
      ['doctor', 'look'],
      ['doctor --fix', 'look, and fix what is safe to fix'],
      ['doctor --offline --json', 'ask no network; for scripts'],
    ],
    exits: {
      0: 'Nothing is wrong; there may be warnings.',
      1: 'Something is wrong that stops the gateway or a part of it.',
    },
    files: [...config, 'gateway.sock', 'gateway.lock', 'state/'],
    see: ['config check', 'gateway status', 'mcp list'],
  },
  completion: {
    about: [
      'The script asks this program at each press of the key, so that it never goes stale: names of servers, tools, routes, jobs, deliveries and approvals come from the running gateway; without one there are none.',
      'Make the folder of the script first, by `mkdir -p`.',
    ],
    examples: [
      ['completion bash > ~/.local/share/bash-completion/completions/agent', 'bash, for good'],
      ['completion zsh > ~/.zfunc/_agent', 'zsh, with ~/.zfunc in fpath'],
      ['completion fish > ~/.config/fish/completions/agent.fish', 'fish'],
    ],
    exits: { 2: 'No script for that shell.' },
    see: ['help'],
  },
  help: {
    examples: [
      ['help webhook subscribe', 'one command'],
      ['help mcp --markdown', 'a group as Markdown'],
    ],
    exits: { 2: 'No command of that name.' },
    see: ['completion', 'docs/cli.md'],
  },
};
