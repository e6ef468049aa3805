/**
 * Every command and flag as data. Help, completion, usage errors and dispatch are generated from this table, so the command
 * line is described only once.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { deliveryStatuses, historyStatuses, runStatuses } from '../machines/base/status.ts';
import { programTitles } from '../machines/mcp/foreign-files.ts';
import type { CommandContext, ExitCode } from './context.ts';

/** The kinds of names that completion can look up. */
export const nameKinds = [
  'actor',
  'approval',
  'command',
  'delivery',
  'folder',
  'job',
  'login-server',
  'profile',
  'route',
  'run',
  'sample',
  'sending',
  'server',
  'shell',
  'source',
  'subscription',
  'target',
  'tool',
] as const;

export type NameKind = (typeof nameKinds)[number];

export interface Flag {
  readonly name: string;
  /** The name of its value in help; absent: a switch. */
  readonly value?: string;
  /** May be repeated; `listFlag` splits its values again. */
  readonly many?: true;
  readonly help: string;
  /**
   * The format of its value: a count from 1, a whole number from 0, a port, a profile, a start time, the key of a row, a
   * target, or non-empty text.
   */
  readonly form?: 'count' | 'whole' | 'port' | 'profile' | 'since' | 'key' | 'target' | 'text';
  /** The only values allowed. */
  readonly oneOf?: readonly string[];
  /** The kind of names that completes its value, if its own name does not say so. */
  readonly names?: NameKind;
}

export interface CliCommand {
  /** The words of the command, such as `webhook list`. */
  readonly path: readonly string[];
  /** Positional arguments in order; optional ones in brackets, repeatable ones with dots. */
  readonly args: readonly string[];
  /** The kind of names that completes each argument. */
  readonly names: readonly (NameKind | undefined)[];
  readonly flags: readonly Flag[];
  readonly help: string;
  /** For other programs; not listed in any help. */
  readonly hidden?: true;
  /** Loaded when the command runs, so that other commands do not pay for it. */
  readonly load: () => Promise<(context: CommandContext) => Promise<ExitCode>>;
}

type Row = Pick<CliCommand, 'help' | 'hidden' | 'load'> & Partial<Pick<CliCommand, 'flags'>>;

const json: Flag = { name: 'json', help: 'Print JSON.' };
const profile: Flag = {
  name: 'profile',
  value: 'name',
  help: 'The profile; the default one unless given.',
  form: 'profile',
};
const limit: Flag = { name: 'limit', value: 'n', help: 'Rows at most (50).', form: 'count' };
const since: Flag = {
  name: 'since',
  value: 'time',
  help: 'Only what came since then: 2h, 3d or an ISO 8601 time.',
  form: 'since',
};
const follow: Flag = { name: 'follow', help: 'Print each row as it comes or changes, until Ctrl-C.' };
const before: Flag = { name: 'before', value: 'key', help: 'Only rows before this key: the next page.', form: 'key' };
const route: Flag = { name: 'route', value: 'name', help: 'Only of this route.' };
const ofProfile: Flag = { name: 'profile', value: 'name', help: 'Only of this profile.', form: 'profile' };
const target: Flag = { name: 'target', value: 'name', help: 'Only to this target.', form: 'target' };
const status = (oneOf: readonly string[]): Flag => ({
  name: 'status',
  value: 'status',
  help: 'Only with this status.',
  oneOf,
});

const search: Flag = {
  name: 'search',
  value: 'text',
  help: 'Only events with these words, payloads included, or filters such as status:failed.',
  form: 'text',
};
const choices: readonly Flag[] = [limit, before, since, follow, route, ofProfile];
const eventFlags: readonly Flag[] = [search, ...choices, status(historyStatuses), json];

const lines: Flag = { name: 'limit', value: 'n', help: 'Lines at most (100), the newest.', form: 'count' };
const noBrowser: Flag = { name: 'no-browser', help: 'Print the URL only; paste the redirect URL back.' };
const allDead: Flag = { name: 'all', help: 'Every dead letter, of a target or route where one is named.' };
const deliveryFlags: readonly Flag[] = [
  { name: 'deliver', value: 'target', help: 'Delivery target (log).', names: 'target' },
  { name: 'deliver-chat-id', value: 'id', help: 'Where at the target.' },
  { name: 'on-failure', value: 'target', help: 'Target that is notified of a failed run.', names: 'target' },
  { name: 'on-failure-chat-id', value: 'id', help: 'Where at that target.' },
];
const entryFlags: readonly Flag[] = [
  { name: 'transport', value: 'kind', help: '`sse` for the SSE transport.', oneOf: ['sse', 'http', 'streamable-http'] },
  { name: 'env', value: 'name=value', many: true, help: 'Environment of the command; may be repeated.' },
  { name: 'header', value: 'name: value', many: true, help: 'Header for the endpoint; may be repeated.' },
  { name: 'lazy', help: 'Connect at the first call.' },
  { name: 'untrusted', help: 'Ask before a tool runs that is not read-only.' },
];

export const globalFlags: readonly Flag[] = [
  {
    name: 'home',
    value: 'folder',
    help: 'The home; AGENT_HOME or ~/.agent unless given.',
    form: 'text',
    names: 'folder',
  },
  {
    name: 'node',
    value: 'name',
    help: 'Another gateway of the same database, see `agent gateway nodes`.',
    form: 'text',
  },
  { name: 'help', help: 'Show help.' },
  { name: 'version', help: 'Show the version.' },
];

const gateway = () => import('./commands/gateway.ts');
const webhook = () => import('./commands/webhook.ts');
const webhookShow = () => import('./commands/webhook-show.ts');
const events = () => import('./commands/events.ts');
const runs = () => import('./commands/runs.ts');
const deliveries = () => import('./commands/deliveries.ts');
const config = () => import('./commands/config.ts');
const inspect = () => import('./commands/inspect.ts');
const mcp = () => import('./commands/mcp.ts');
const mcpEntry = () => import('./commands/mcp-entry.ts');
const mcpLogin = () => import('./commands/mcp-login.ts');
const link = () => import('./commands/link.ts');
const approvals = () => import('./commands/approvals.ts');
const cron = () => import('./commands/cron.ts');
const completion = () => import('./commands/completion.ts');

const start: Row = {
  help: 'Start the gateway in the background.',
  load: async () => (await gateway()).startGateway,
};
const listEvents: Row = {
  help: 'List the events that came, each with its outcome.',
  flags: eventFlags,
  load: async () => (await events()).listEvents,
};
const listApprovals: Row = {
  help: 'List what waits for an approval.',
  flags: [
    { name: 'follow', help: 'Continue, and print each question as it is asked, until Ctrl-C.' },
    { name: 'watch', help: 'The same as --follow.' },
    json,
  ],
  load: async () => (await approvals()).listApprovals,
};
const listRuns: Row = {
  help: 'List agent runs.',
  flags: [...choices, status(runStatuses), json],
  load: async () => (await runs()).listRuns,
};
const listDeliveries: Row = {
  help: 'List deliveries to targets, newest first; dead letters by `--status deadLettered`.',
  flags: [...choices, target, status(deliveryStatuses), json],
  load: async () => (await deliveries()).listSendings,
};
const replay: Row = {
  help: 'Process an event once more, as a new one.',
  flags: [
    { name: 'edit', help: 'Edit the payload first, in VISUAL or EDITOR.' },
    { name: 'payload', value: 'file', help: 'Use the payload in this file.', form: 'text' },
    { name: 'event', value: 'type', help: 'Use this event type.', form: 'text' },
    { name: 'dry', help: 'Deliver nothing; print the response.' },
    route,
    ofProfile,
    json,
  ],
  load: async () => (await import('./commands/events-replay.ts')).replayEvent,
};

/** By words and arguments. An argument that its own name does not complete has the kind of names after a colon. */
const rows: Readonly<Record<string, Row>> = {
  gateway: start,
  'gateway start': start,
  'gateway run': {
    help: 'Run the gateway in the foreground.',
    flags: [{ name: 'example', help: 'Use the example home, made at the first start.' }],
    load: async () => (await gateway()).runGateway,
  },
  'gateway stop': {
    help: 'Stop the gateway: start the runs of waiting batches, finish or park runs.',
    load: async () => (await gateway()).stopGateway,
  },
  'gateway status': {
    help: 'Show whether the gateway runs, where it listens and what lives in it.',
    flags: [json],
    load: async () => (await gateway()).showStatus,
  },
  'gateway nodes': {
    help: 'List the gateways that share the database of the journal.',
    flags: [json],
    load: async () => (await gateway()).showNodes,
  },
  'gateway reload': {
    help: 'Read the configuration again; a finding of one MCP server fails that server, any other changes nothing.',
    load: async () => (await gateway()).reloadGateway,
  },
  'gateway migrate': {
    help: "Bring the tables of the journal's database to this release.",
    load: async () => (await gateway()).migrateGateway,
  },
  'journal copy': {
    help: "Copy the journal into the database of gateway.postgres.url, or from it into the home's file.",
    flags: [
      { name: 'to', value: 'engine', help: 'Where to: postgres, or back to lmdb.', oneOf: ['postgres', 'lmdb'] },
      json,
    ],
    load: async () => (await gateway()).copyJournal,
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
    load: async () => (await import('./commands/gateway-logs.ts')).showGatewayLog,
  },
  'gateway setup': {
    help: 'Set webhooks and the agent up; ask on a terminal, or take the answers from flags.',
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
    load: async () => (await import('./commands/setup.ts')).setupGateway,
  },
  'gateway service': {
    help: 'Print a service of the gateway: a hardened systemd unit, or a launchd agent.',
    flags: [
      { name: 'user', help: 'A systemd unit for the manager of one user; the default, except on macOS.' },
      { name: 'system', help: 'A systemd unit for the machine, under a user of its own.' },
      { name: 'launchd', help: 'A launchd agent; the default on macOS.' },
    ],
    load: async () => (await import('./commands/service.ts')).printService,
  },
  'webhook subscribe <name>': {
    help: 'Create a dynamic subscription; prints its URL and secret, and how to try it.',
    flags: [
      {
        name: 'source',
        value: 'provider',
        help: 'The provider that sends, such as stripe; docs/sources.md lists them.',
        names: 'source',
      },
      { name: 'wait', help: 'Wait for the first event, and explain what is refused meanwhile.' },
      { name: 'events', value: 'list', help: 'Event types, separated by commas; all unless given.', form: 'text' },
      { name: 'prompt', value: 'template', help: 'Template of the prompt.' },
      {
        name: 'filter',
        value: 'condition',
        many: true,
        help: 'Only events that match: field=value, or a condition as JSON; may be repeated.',
        form: 'text',
      },
      { name: 'script', value: 'file', help: 'Filter or transform script in the scripts folder.', form: 'text' },
      {
        name: 'coalesce',
        value: 'key',
        help: 'Gather events alike in this field or template into one run.',
        form: 'text',
      },
      { name: 'coalesce-window', value: 'seconds', help: 'How long to wait for the next of them (30).', form: 'count' },
      { name: 'coalesce-batch', help: 'Put all of them into the prompt, not the newest alone.' },
      {
        name: 'secret',
        value: 'secret',
        help: 'A secret that the sender has already; a fresh one unless given. `-` reads a line of the input.',
        form: 'text',
      },
      ...deliveryFlags,
      { name: 'deliver-only', help: 'Deliver the prompt itself; no agent runs.' },
      { name: 'cron-job', value: 'job', help: 'Cron job to fire per event.', names: 'job' },
      {
        name: 'route-profile',
        value: 'name',
        help: 'Profile that may run the route.',
        form: 'profile',
        names: 'profile',
      },
      { name: 'profile', value: 'name', help: 'The same.', form: 'profile' },
      { name: 'description', value: 'text', help: 'What it is for.' },
      { name: 'force', help: 'Replace a subscription of the same name.' },
      json,
    ],
    load: async () => (await webhook()).subscribeWebhook,
  },
  'webhook list': {
    help: 'List routes and subscriptions.',
    flags: [json],
    load: async () => (await webhook()).listWebhooks,
  },
  'webhook show <name:route>': {
    help: 'Show one route.',
    flags: [profile, json],
    load: async () => (await webhookShow()).showWebhook,
  },
  'webhook disable <name:route>': {
    help: 'Disable a route: its senders get 403.',
    flags: [profile],
    load: async () => (await webhook()).disableWebhook,
  },
  'webhook enable <name:route>': {
    help: 'Enable a route again.',
    flags: [profile],
    load: async () => (await webhook()).enableWebhook,
  },
  'webhook remove <name:subscription>': {
    help: 'Remove a dynamic subscription.',
    flags: [profile],
    load: async () => (await webhook()).removeWebhook,
  },
  'webhook test <name:route>': {
    help: 'Sign a test payload or a sample and send it to a route.',
    flags: [
      {
        name: 'sample',
        value: 'event',
        help: 'A sample event of a provider, such as pull_request.opened or stripe:invoice.paid.',
        names: 'sample',
      },
      { name: 'payload', value: 'json', help: 'The payload to send.' },
      { name: 'checks-only', help: 'Stop after the checks: nothing is written, delivered or run.' },
      { name: 'event', value: 'type', help: 'The event type to send.' },
      profile,
      json,
    ],
    load: async () => (await webhook()).testWebhook,
  },
  'webhook doctor <name:route>': {
    help: 'Explain why the last requests of a route were refused.',
    flags: [profile, json],
    load: async () => (await webhookShow()).examineWebhook,
  },
  // Two commands under their earlier names.
  'webhook deliveries [id:delivery]': {
    help: 'The same as `agent events`; with an id as `agent events show`.',
    flags: eventFlags,
    hidden: true,
    load: async () => (await events()).listOrShowEvent,
  },
  'webhook replay <id:delivery>': { ...replay, help: 'The same as `agent events replay`.', hidden: true },
  events: listEvents,
  'events list': listEvents,
  'events show <id:delivery>': {
    help: 'Show one event with its payload and outcome.',
    flags: [route, ofProfile, json],
    load: async () => (await events()).showEvent,
  },
  'events replay <id:delivery>': replay,
  'mcp list': {
    help: 'List the MCP servers with their state, since when and why.',
    flags: [json],
    load: async () => (await mcp()).listServers,
  },
  'mcp tools [server]': {
    help: 'List the registered tools.',
    flags: [profile, json],
    load: async () => (await mcp()).listTools,
  },
  'mcp call <tool> [json]': {
    help: 'Call a tool with arguments as a JSON object; Ctrl-C cancels it.',
    flags: [profile, json],
    load: async () => (await mcp()).callTool,
  },
  'mcp test <server>': {
    help: 'Connect to a server once and show what it offers.',
    flags: [profile, json],
    load: async () => (await mcp()).testServer,
  },
  'mcp add <name> [command…]': {
    help: 'Connect to a server, show what it offers and add it to config.yaml; the command comes after `--`.',
    flags: [
      { name: 'url', value: 'url', help: 'Remote endpoint, instead of a command.' },
      ...entryFlags,
      { name: 'entry', value: 'json', help: 'Further keys of the entry.' },
      { name: 'no-test', help: 'Write the entry without connecting first.' },
      { name: 'force', help: 'Replace a server of the same name.' },
      profile,
      json,
    ],
    load: async () => (await mcpEntry()).addServer,
  },
  'mcp edit <server> [command…]': {
    help: 'Change keys of a server in config.yaml; another command comes after `--`.',
    flags: [
      { name: 'url', value: 'url', help: 'Another remote endpoint; the keys of a command go.' },
      ...entryFlags,
      { name: 'entry', value: 'json', help: 'Further keys; null takes one out.' },
      { name: 'unset', value: 'key', many: true, help: 'Take a key out, with dots for an inner one; may be repeated.' },
      profile,
      json,
    ],
    load: async () => (await mcpEntry()).editServer,
  },
  'mcp disable <server>': {
    help: 'Switch a server off: its entry stays, its tools go.',
    flags: [profile],
    load: async () => (await mcpEntry()).disableServer,
  },
  'mcp enable <server>': {
    help: 'Switch a server on again.',
    flags: [profile],
    load: async () => (await mcpEntry()).enableServer,
  },
  'mcp import': {
    help: 'Take over the MCP servers of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf, Zed, OpenCode, goose, Hermes Agent and OpenClaw.',
    flags: [
      { name: 'from', value: 'program', help: 'Only of this program.', oneOf: Object.keys(programTitles) },
      { name: 'all', help: 'All that are new; which of them is not asked.' },
      { name: 'project', help: 'Also those that a file in this folder, or in one around it, offers.' },
      {
        name: 'variables',
        value: 'names',
        help: 'Variables, separated by commas, that servers of such a file may refer to without a question.',
      },
      { name: 'rename', help: 'Add one whose name is taken under another one; skipped unless given.' },
      { name: 'yes', help: 'Write without asking.' },
      { name: 'dry-run', help: 'Show what was found and write nothing.' },
      profile,
      json,
    ],
    load: async () => (await import('./commands/mcp-import.ts')).importServers,
  },
  'mcp remove <name:server>': {
    help: 'Take a server out of config.yaml.',
    flags: [profile],
    load: async () => (await mcpEntry()).removeServer,
  },
  'mcp logs <server>': {
    help: 'Show what a server wrote to its standard error, and its log messages.',
    flags: [lines, { name: 'lines', value: 'n', help: 'The same as --limit.', form: 'count' }, profile, json],
    load: async () => (await mcp()).showServerLog,
  },
  'mcp reload [server]': {
    help: 'Read the configuration again; with a name, connect that server anew.',
    flags: [profile],
    load: async () => (await mcp()).reloadServers,
  },
  'mcp login <server:login-server>': {
    help: 'Log in to a server by OAuth; Ctrl-C cancels it.',
    flags: [
      {
        name: 'flow',
        value: 'flow',
        help: '`browser` or `device`; what the entry says unless given.',
        oneOf: ['browser', 'device'],
      },
      noBrowser,
      profile,
    ],
    load: async () => (await mcpLogin()).login,
  },
  'mcp reauth [server:login-server]': {
    help: 'Log in again; the old credentials are kept until the new ones are stored.',
    flags: [{ name: 'all', help: 'Every server that logs in by OAuth, one after another.' }, noBrowser, profile],
    load: async () => (await mcpLogin()).reauthorize,
  },
  'mcp serve': {
    help: 'Offer the supervised tools, resources and prompts as one MCP server over stdio, for any other agent program.',
    flags: [
      // An empty one, as of a variable that is not set, must not offer every tool.
      { name: 'toolsets', value: 'list', help: 'Only these: `mcp-<server>` or names of tools.', form: 'text' },
      profile,
    ],
    load: async () => (await import('./commands/mcp-serve.ts')).serve,
  },
  'link open <url>': {
    help: 'Open an agent://mcp/install link: shows the server and asks before anything is written.',
    flags: [profile],
    load: async () => (await link()).openLink,
  },
  'link register': {
    help: 'Let the desktop open agent:// links with this program.',
    flags: [{ name: 'undo', help: 'Take the registration back.' }],
    load: async () => (await link()).registerLinks,
  },
  chat: {
    help: 'Talk to the model in the terminal, with the tools of the servers.',
    flags: [profile],
    load: async () => (await import('./commands/chat.ts')).chat,
  },
  approvals: listApprovals,
  'approvals list': listApprovals,
  'approvals show <id:approval>': {
    help: 'Show one question: the arguments of the call, or the form.',
    flags: [json],
    load: async () => (await approvals()).showApproval,
  },
  'approvals approve <id:approval>': {
    help: 'Say yes to a question.',
    flags: [
      { name: 'values', value: 'json', help: 'What is filled into a form.' },
      { name: 'for-run', help: 'Let the run call the tool again without a question, as long as it runs.' },
      { name: 'always', help: "Write a rule to the server's entry in config.yaml: the tool runs without a question." },
      {
        name: 'where',
        value: 'argument=value',
        many: true,
        help: 'With --always, limit the rule to an argument of this call, such as repo=acme/web; may be repeated.',
      },
    ],
    load: async () => (await approvals()).approve,
  },
  'approvals answered': {
    help: 'List the last answers, with who gave them and when.',
    flags: [json],
    load: async () => (await approvals()).listAnswered,
  },
  'approvals deny <id:approval>': {
    help: 'Say no to a question.',
    flags: [{ name: 'note', value: 'text', help: 'A reason, which the agent is given.' }],
    load: async () => (await approvals()).deny,
  },
  'cron add <name> [schedule]': {
    help: 'Add a job: five fields, @daily and the like, or `every 15m`; without a schedule webhooks fire it.',
    flags: [
      { name: 'prompt', value: 'text', help: 'What each run is asked to do.' },
      { name: 'timezone', value: 'zone', help: 'An IANA zone; that of this machine unless given.' },
      { name: 'skill', value: 'name', many: true, help: 'A skill for its runs; may be repeated.' },
      { name: 'model', value: 'name', help: 'The model of its runs; that of the profile unless given.' },
      ...deliveryFlags,
      { name: 'grace', value: 'seconds', help: 'How late a missed firing is made up for (3600).', form: 'whole' },
      { name: 'paused', help: 'Add it paused.' },
      { name: 'force', help: 'Replace a job of the same name.' },
      profile,
      json,
    ],
    load: async () => (await cron()).addJob,
  },
  'cron list': {
    help: 'List the jobs of every profile with their state and next due time.',
    flags: [profile, json],
    load: async () => (await cron()).listJobs,
  },
  'cron show <job>': {
    help: 'Show a job, its next due times and the outcomes of its firings.',
    flags: [{ name: 'limit', value: 'n', help: 'Entries of the history at most (10).', form: 'count' }, profile, json],
    load: async () => (await cron()).showJob,
  },
  'cron pause <job>': {
    help: 'Pause a job: it is not fired, by schedule or by webhook.',
    flags: [profile, json],
    load: async () => (await cron()).pauseJob,
  },
  'cron resume <job>': {
    help: 'Resume a job; what was due meanwhile is not made up for.',
    flags: [profile, json],
    load: async () => (await cron()).resumeJob,
  },
  'cron run <job>': {
    help: 'Fire a job now; its schedule continues as before.',
    flags: [
      { name: 'context', value: 'text', help: 'Added to the prompt of this one run.' },
      { name: 'force', help: 'Also where the job is paused or disabled.' },
      profile,
      json,
    ],
    load: async () => (await cron()).runJob,
  },
  'cron remove <job>': {
    help: 'Remove a job.',
    flags: [profile, json],
    load: async () => (await cron()).removeJob,
  },
  runs: listRuns,
  'runs list': listRuns,
  'runs show <id:run>': {
    help: 'Show one run with its prompt and response.',
    flags: [{ name: 'transcript', help: 'With everything that was said and called.' }, json],
    load: async () => (await runs()).showRun,
  },
  'runs cancel <id:run>': {
    help: 'End a run that waits or is under way; nothing is delivered.',
    flags: [json],
    load: async () => (await runs()).cancelRun,
  },
  deliveries: listDeliveries,
  'deliveries list': listDeliveries,
  'deliveries show <id:sending>': {
    help: 'Show one delivery with its text and its outcome.',
    flags: [json],
    load: async () => (await deliveries()).showSending,
  },
  'deliveries retry [id:sending]': {
    help: 'Try a delivery again now: one that waits, or a dead letter.',
    flags: [allDead, { name: 'force', help: 'Also one that may have arrived already.' }, target, route, json],
    load: async () => (await deliveries()).retrySending,
  },
  'deliveries drop [id:sending]': {
    help: 'Give a delivery up for good.',
    flags: [
      allDead,
      target,
      route,
      { name: 'reason', value: 'text', help: 'Why; it is kept with the delivery.', form: 'text' },
      json,
    ],
    load: async () => (await deliveries()).dropSending,
  },
  'deliveries targets': {
    help: 'List the configured targets with the state of their connections, and the cure where one failed.',
    flags: [json],
    load: async () => (await deliveries()).listTargets,
  },
  'config check': {
    help: 'Check the configuration; print every finding at its place.',
    flags: [json],
    load: async () => (await config()).checkConfig,
  },
  'config show [section]': {
    help: 'Show the settings and their defaults, each with where it comes from; secrets are masked.',
    flags: [profile, json],
    load: async () => (await config()).showConfig,
  },
  'config edit': {
    help: 'Open config.yaml in an editor, and save it only without errors.',
    flags: [profile],
    load: async () => (await import('./commands/config-edit.ts')).editConfigFile,
  },
  'config schema': {
    help: 'Print the JSON Schema of config.yaml.',
    flags: [json],
    load: async () => (await config()).printSchema,
  },
  inspect: {
    help: 'Show the tree of living machines, live on a terminal; with --web, the page.',
    flags: [
      { name: 'web', help: 'Print a link that opens the inspector page once, and open it.' },
      { name: 'read-only', help: 'With --web: a link whose session may only read.' },
      { name: 'as', value: 'name', help: 'With --web: for whom, as the audit log then says (owner).', form: 'text' },
      { name: 'end-sessions', help: 'End every session of the page, and its links that are not used yet.' },
      json,
    ],
    load: async () => (await inspect()).inspect,
  },
  'inspect tree': {
    help: 'Show the tree of living machines.',
    flags: [json],
    load: async () => (await inspect()).showTree,
  },
  'inspect follow': {
    help: 'Print every transition as it is taken.',
    flags: [
      { name: 'actor', value: 'text', help: 'Only actors whose address contains this.' },
      { name: 'machine', value: 'name', help: 'Only this machine.' },
      route,
      { name: 'server', value: 'name', help: 'Only of this MCP server.' },
      { name: 'delivery', value: 'id', help: 'Only this delivery.' },
      { name: 'full', help: 'With --json: events and snapshots too, in the shape of @statelyai/inspect.' },
      json,
    ],
    load: async () => (await import('./commands/inspect-follow.ts')).followActors,
  },
  'inspect show <actor>': {
    help: 'Show one actor: state, since when, timers, last steps, context, and its chart.',
    flags: [json],
    load: async () => (await import('./commands/inspect-show.ts')).showActor,
  },
  'inspect why <delivery-id:delivery>': {
    help: 'Explain the outcome of a delivery: every state that it passed, and why.',
    flags: [{ name: 'texts', help: 'The prompt, the response and the delivered text too.' }, route, ofProfile, json],
    load: async () => (await import('./commands/inspect-why.ts')).explainDelivery,
  },
  audit: {
    help: 'Show who changed what, by the command line or the page, newest first.',
    flags: [limit, since, { name: 'search', value: 'text', help: 'Only rows with this text.', form: 'text' }, json],
    load: async () => (await import('./commands/audit.ts')).showAudit,
  },
  doctor: {
    help: 'Look for what keeps the gateway from working, and say how to fix it.',
    flags: [
      { name: 'fix', help: 'Close what is open to others, and remove what a dead gateway left.' },
      { name: 'offline', help: 'Ask nothing beyond this machine, and start no server.' },
      json,
    ],
    load: async () => (await import('./commands/doctor.ts')).runDoctor,
  },
  'completion <shell>': {
    help: 'Print a completion script for bash, zsh or fish.',
    load: async () => (await completion()).printCompletion,
  },
  'complete [word…]': {
    help: 'Print what may follow the words, for the completion scripts.',
    hidden: true,
    load: async () => (await completion()).completeWords,
  },
  'help [command…]': {
    help: 'Show the manual of a command, of a group of commands or of everything.',
    flags: [{ name: 'markdown', help: 'Print it as Markdown.' }],
    load: async () => (await import('./commands/help.ts')).showHelp,
  },
};

export const catalogue: readonly CliCommand[] = Object.entries(rows).map(([words, { flags = [], ...row }]) => {
  const path = words.split(/ (?=[<[])/, 1).flatMap((text) => text.split(' '));
  const args = words.split(' ').slice(path.length);
  const kinds = args.map((arg) => /([\w-]+)…?[>\]]$/.exec(arg)?.[1]);
  return {
    ...row,
    path,
    args: args.map((arg) => arg.replace(/:[\w-]+|[<>]/g, '')),
    names: kinds.map((kind) => nameKinds.find((one) => one === kind)),
    flags,
  };
});

/** A command in one line: words, arguments and its own flags, without the global flags. */
export function usageLine(command: CliCommand): string {
  return ['agent', commandWords(command), ...command.flags.map((flag) => `[${flagWords(flag)}]`)].join(' ');
}

/** The words and the arguments. */
export function commandWords({ path, args }: CliCommand): string {
  return [...path, ...args.map((arg) => (arg.startsWith('[') ? arg : `<${arg}>`))].join(' ');
}

export function flagWords({ name, value, many }: Flag): string {
  return `--${name}${value === undefined ? '' : ` <${value}>`}${many === true ? '…' : ''}`;
}
