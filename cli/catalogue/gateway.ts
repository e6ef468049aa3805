/**
 * The commands of the gateway itself and of its journal.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { configFiles, json, lines, type Row, type Rows, sameAs } from './row.ts';

const gateway = () => import('../commands/gateway.ts');

const start: Row = {
  help: 'Start the gateway in the background.',
  about: ['Starts the gateway of the home and returns once it listens, or says why it does not.'],
  examples: [
    ['gateway', 'start it'],
    ['--home ~/work-agent gateway', 'start that of another home'],
  ],
  exits: { 1: 'It did not start; the end of its log is shown.' },
  files: [...configFiles, 'gateway.lock', 'logs/', 'state/'],
  env: ['WEBHOOK_ENABLED', 'WEBHOOK_PORT', 'WEBHOOK_SECRET', 'AGENT_LOG_LEVEL'],
  see: ['gateway run', 'gateway stop', 'gateway status', 'gateway service'],
  staysHere: true,
  load: async () => (await gateway()).startGateway,
};

export const gatewayRows: Rows = {
  gateway: start,
  'gateway start': sameAs('gateway', start, [['gateway start', 'start it']]),
  'gateway run': {
    help: 'Run the gateway in the foreground.',
    flags: [{ name: 'example', help: 'Use the example home, made at the first start.' }],
    about: [
      'Stays in the foreground: readable lines on a terminal, JSON lines on a pipe. SIGTERM and SIGINT drain and end it with 0; a second one ends it at once. SIGHUP reads the configuration again.',
    ],
    examples: [
      ['gateway run', 'run it here'],
      ['gateway run --example', 'try it with an example home'],
    ],
    exits: {
      0: 'Drained and stopped.',
      1: 'It could not start, or crashed more often than its restart budget allows.',
    },
    files: [...configFiles, 'gateway.sock', 'gateway.lock', 'state/'],
    env: ['WEBHOOK_ENABLED', 'WEBHOOK_PORT', 'WEBHOOK_SECRET', 'AGENT_LOG_LEVEL'],
    see: ['gateway', 'gateway service', 'docs/durability.md'],
    staysHere: true,
    load: async () => (await gateway()).runGateway,
  },
  'gateway stop': {
    help: 'Stop the gateway: waiting batches become runs; runs finish, or wait on disk for the next start.',
    examples: [['gateway stop', 'stop it and wait until it has ended']],
    needsGateway: true,
    see: ['gateway', 'docs/durability.md'],
    load: async () => (await gateway()).stopGateway,
  },
  'gateway restart': {
    help: 'Stop the background gateway and start it again; what waits is kept on disk meanwhile.',
    about: [
      'Returns once the new process listens. Starts the gateway if none runs. One of a service or of a terminal is not stopped: restart it as it was started. Nor is one whose configuration on disk has errors, because a new process could not keep the last good one.',
    ],
    examples: [['gateway restart', 'for a setting that counts from the next start only']],
    exits: { 1: 'Nothing was stopped, or the new process did not start; the message says which.' },
    files: [...configFiles, 'gateway.lock', 'logs/', 'state/'],
    env: ['WEBHOOK_ENABLED', 'WEBHOOK_PORT', 'WEBHOOK_SECRET', 'AGENT_LOG_LEVEL'],
    see: ['gateway stop', 'gateway reload'],
    staysHere: true,
    load: async () => (await gateway()).restartGateway,
  },
  'gateway status': {
    help: 'Show whether the gateway runs, where it listens and what runs in it.',
    flags: [json],
    examples: [
      ['gateway status', 'for people'],
      ['gateway status --json', 'for scripts'],
    ],
    needsGateway: true,
    see: ['doctor', 'inspect'],
    load: async () => (await gateway()).showStatus,
  },
  'gateway nodes': {
    help: 'List the gateways that share the database of the journal.',
    flags: [json],
    about: ['One of them is the leader, which sends the deliveries of all. `--node` runs a command at another one.'],
    examples: [
      ['gateway nodes', 'list them'],
      ['gateway nodes --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['gateway status', 'docs/scale.md'],
    load: async () => (await gateway()).showNodes,
  },
  'gateway reload': {
    help: 'Read the configuration again; an error keeps the earlier one in force, or stops only the MCP server in whose entry it is.',
    about: ['Saved changes of config.yaml and .env apply automatically; this waits until they are in force.'],
    examples: [['gateway reload', 'apply a change']],
    needsGateway: true,
    exits: {
      1: 'The configuration has findings, or its address cannot be bound; the last good one stays in force. Or it was applied, and webhooks still do not listen.',
    },
    files: configFiles,
    see: ['config check'],
    load: async () => (await gateway()).reloadGateway,
  },
  'gateway migrate': {
    help: "Upgrade the tables of the journal's database to this release.",
    about: [
      'Needed once after an upgrade that changes the tables; the log of the gateway and docs/scale.md name it. Stop the gateways of the earlier release first.',
    ],
    examples: [['gateway migrate', 'once after an upgrade']],
    exits: { 1: 'Gateways still use the tables, or the database refuses; nothing was changed.' },
    files: configFiles,
    see: ['gateway', 'docs/scale.md'],
    load: async () => (await gateway()).migrateGateway,
  },
  'gateway logs': {
    help: 'Show the log of the background gateway, also while it does not run.',
    flags: [
      { name: 'follow', help: 'Print new lines as they are written, until Ctrl-C.' },
      { name: 'since', value: 'time', help: 'Only since then: 2h, 3d or an ISO 8601 time.', form: 'since' },
      { name: 'level', value: 'level', help: 'Only this level and above.', oneOf: ['debug', 'info', 'warn', 'error'] },
      lines,
      { name: 'json', help: 'Print the lines as they are, JSON.' },
    ],
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
    staysHere: true,
    load: async () => (await import('../commands/gateway-logs.ts')).showGatewayLog,
  },
  'gateway setup': {
    help: 'Set up webhooks and the agent, by questions on a terminal or by flags.',
    flags: [
      { name: 'enable', help: 'Enable webhooks.' },
      { name: 'disable', help: 'Disable webhooks.' },
      { name: 'host', value: 'address', help: 'Bind address.', form: 'text' },
      { name: 'port', value: 'port', help: 'Listen port.', form: 'port' },
      {
        name: 'secret',
        value: 'secret',
        help: 'Secret of the route, or the global one; `generate` makes one, `-` reads a line of the input.',
        form: 'text',
      },
      { name: 'route', value: 'name', help: 'Route to make or to change; it gets a secret of its own.', form: 'text' },
      {
        name: 'toolsets',
        value: 'list',
        help: 'Toolsets of the route, such as agent-webhook,mcp-files; without it no tools of servers.',
        form: 'text',
      },
      { name: 'weak-secret', help: 'Use a secret though it is weak, outside loopback too.' },
      { name: 'runner', value: 'runner', help: 'What runs the agent.', oneOf: ['echo', 'command', 'model'] },
      { name: 'agent-command', value: 'words', help: 'The command of the agent, quoted as a whole.', form: 'text' },
      {
        name: 'model-provider',
        value: 'provider',
        help: 'The interface of the model.',
        oneOf: ['anthropic', 'openai-compatible'],
      },
      { name: 'model-url', value: 'url', help: 'Base URL of the model.', form: 'text' },
      { name: 'model-name', value: 'name', help: 'Name of the model.', form: 'text' },
      { name: 'model-key', value: 'key', help: 'API key of the model; `-` reads a line of the input.', form: 'text' },
      { name: 'start', help: 'Start the gateway, or let it read the change.' },
      { name: 'test', help: 'The same, and send a first event through it.' },
    ],
    about: [
      'Asks on a terminal, step by step; nothing is written before the last answer. Every answer is also a flag, and with flags nothing is asked. Keys that are not answered stay as they are, comments and order too; secrets go into .env.',
      'A route has a secret of its own: 32 random bytes under a variable of its own, unless --secret gives one. So has each route of config.yaml that would have none. A weak secret is refused: fewer than 16 characters, a common password, the name of the route. Runs of a new route have no tools of MCP servers but those of --toolsets.',
      'With --test the gateway is started where it does not run, a subscription is made, and a signed event is sent through it.',
    ],
    examples: [
      ['gateway setup', 'ask step by step'],
      ['gateway setup --enable --port 8644 --route github', 'answer by flags'],
      ['gateway setup --route github --toolsets agent-webhook,mcp-files', 'lend a route tools of a server'],
      ['gateway setup --enable --route github --runner echo --test', 'answer, start and send a first event'],
    ],
    exits: { 4: 'No terminal and no flags, or the questions were cancelled.' },
    files: configFiles,
    see: ['webhook subscribe', 'doctor', 'docs/configuration.md'],
    staysHere: true,
    load: async () => (await import('../commands/setup.ts')).setupGateway,
  },
  'gateway service': {
    help: 'Print a service of the gateway: a hardened systemd unit, or a launchd agent.',
    flags: [
      { name: 'user', help: 'A systemd unit for the manager of one user; the default, except on macOS.' },
      { name: 'system', help: 'A systemd unit for the machine, under a user of its own.' },
      { name: 'launchd', help: 'A launchd agent; the default on macOS.' },
    ],
    about: [
      'Prints a hardened systemd unit, or a launchd agent for macOS, with comments at its top that explain how to install it; writes nothing. Without a flag it is for your user. Make the folder of the file first, by `mkdir -p`.',
    ],
    examples: [
      ['gateway service > ~/.config/systemd/user/agent-gateway.service', 'a service of one user'],
      ['gateway service --system', 'a service of the machine, under a user of its own'],
      ['gateway service --launchd > ~/Library/LaunchAgents/agent-gateway.plist', 'a service of one user on macOS'],
    ],
    see: ['gateway run', 'docs/service.md'],
    staysHere: true,
    load: async () => (await import('../commands/service.ts')).printService,
  },
  'journal copy': {
    help: "Copy the journal into the database of gateway.postgres.url, or from it into the home's file.",
    flags: [
      { name: 'to', value: 'engine', help: 'Where to: postgres, or back to lmdb.', oneOf: ['postgres', 'lmdb'] },
      json,
    ],
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
    files: [...configFiles, 'state/', 'webhook_subscriptions.json', 'cron/jobs.json', 'mcp-tokens/'],
    see: ['gateway migrate', 'docs/scale.md'],
    load: async () => (await gateway()).copyJournal,
  },
};
