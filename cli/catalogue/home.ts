/**
 * The commands of the configuration, the inspector and the audit log, and those that explain.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { configFiles, json, limit, ofProfile, profile, type Rows, route, since } from './row.ts';

const config = () => import('../commands/config.ts');
const inspect = () => import('../commands/inspect.ts');
const completion = () => import('../commands/completion.ts');

export const homeRows: Rows = {
  'config check': {
    help: 'Check the configuration; print every finding with its line.',
    flags: [json],
    about: ['Prints every finding as a compiler does: file, line, column, what is wrong, how to fix it, and its code.'],
    examples: [
      ['config check', 'for people'],
      ['config check --json', 'for editors'],
    ],
    exits: { 1: 'There is a finding, an error or a warning.' },
    files: configFiles,
    see: ['config schema', 'doctor', 'docs/errors.md'],
    load: async () => (await config()).checkConfig,
  },
  'config show [section]': {
    help: 'Show the settings and their defaults, each with where it comes from; secrets are masked.',
    flags: [profile, json],
    about: [
      'Reads the files, also while no gateway runs. A reference to a variable is shown as it is written, with where the variable is set; its value is not shown.',
    ],
    examples: [
      ['config show', 'every setting and default'],
      ['config show platforms.webhook --json', 'one section, for scripts'],
    ],
    exits: { 1: 'No setting, or no profile, has that name.' },
    files: configFiles,
    see: ['config edit', 'config check', 'docs/configuration.md'],
    load: async () => (await config()).showConfig,
  },
  'config edit': {
    help: 'Open config.yaml in an editor, and save it only without errors.',
    flags: [profile],
    about: [
      'Opens a draft in the editor of VISUAL or EDITOR and checks it when the editor ends. A draft without errors takes the place of config.yaml, which a running gateway applies by itself. With errors it asks whether to continue editing; a changed draft that is not saved is kept, and the message names it. Errors of a single MCP server or platform are shown and do not keep the draft from being saved.',
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
    staysHere: true,
    load: async () => (await import('../commands/config-edit.ts')).editConfigFile,
  },
  'config schema': {
    help: 'Print the JSON Schema of config.yaml.',
    flags: [json],
    examples: [['config schema > agent.schema.json', 'for an editor that checks YAML']],
    see: ['config check', 'docs/configuration.md'],
    load: async () => (await config()).printSchema,
  },
  inspect: {
    help: 'Show the tree of running actors, live on a terminal; with --web, the page.',
    flags: [
      { name: 'web', help: 'Print a link that opens the inspector page once, and open it.' },
      { name: 'read-only', help: 'With --web: a link whose session may only read.' },
      { name: 'as', value: 'name', help: 'With --web: the name of the user in the audit log (owner).', form: 'text' },
      { name: 'end-sessions', help: 'End every session of the page, and its links that are not used yet.' },
      json,
    ],
    about: [
      'On a terminal the tree is live: q ends it, the arrows scroll. Red is failed, yellow is being retried.',
      '--web prints a link to the inspector page, which works once and for five minutes, and opens it where there is a desktop, by a private file that is removed again: the list of processes shows no link. Over ssh it says which tunnel to take.',
      'A session of the page lasts 12 hours. --end-sessions ends all of them, in every browser, and prints their number.',
    ],
    examples: [
      ['inspect', 'all running actors, as a tree'],
      ['inspect --web', 'the page in a browser'],
      ['inspect --web --read-only --as maya', 'a link for maya, who may only read'],
      ['inspect --end-sessions', 'end its sessions in all browsers'],
    ],
    needsGateway: true,
    see: ['inspect why', 'inspect follow', 'inspect show', 'docs/inspect.md', 'docs/inspector.md'],
    load: async () => (await inspect()).inspect,
  },
  'inspect tree': {
    help: 'Show the tree of running actors.',
    flags: [json],
    about: ['Prints once what `agent inspect` shows live.'],
    examples: [
      ['inspect tree --json', 'the tree for scripts'],
      ['--node gateway-2 inspect tree', 'that of another gateway on the same database'],
    ],
    needsGateway: true,
    see: ['inspect'],
    load: async () => (await inspect()).showTree,
  },
  'inspect follow': {
    help: 'Print every transition as it happens.',
    flags: [
      { name: 'actor', value: 'text', help: 'Only actors whose address contains this.' },
      { name: 'machine', value: 'name', help: 'Only this machine.' },
      route,
      { name: 'server', value: 'name', help: 'Only of this MCP server.' },
      { name: 'delivery', value: 'id', help: 'Only this delivery.' },
      { name: 'full', help: 'With --json: events and snapshots too, in the shape of @statelyai/inspect.' },
      json,
    ],
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
    load: async () => (await import('../commands/inspect-follow.ts')).followActors,
  },
  'inspect show <actor>': {
    help: 'Show one actor: state, since when, timers, last steps, context, and its chart.',
    flags: [json],
    examples: [['inspect show connections/github', 'state, timers, last steps, context, chart']],
    needsGateway: true,
    see: ['inspect', 'docs/inspect.md'],
    load: async () => (await import('../commands/inspect-show.ts')).showActor,
  },
  'inspect why <delivery-id:delivery>': {
    help: 'Explain the outcome of an event: every state that it passed, and why.',
    flags: [{ name: 'texts', help: 'The prompt, the response and the delivered text too.' }, route, ofProfile, json],
    about: [
      'Shows each state that the event passed, the decision in it, up to the state that stopped it, and the remedy. It is read from the journal, so it survives a restart; refused requests are kept in memory until the daemon ends, and equal ones of one address are counted together.',
    ],
    examples: [
      ['inspect why 8f2c-1', 'the outcome of an event'],
      ['inspect why 8f2c-1 --texts', 'with the prompt, the response and the delivered text'],
    ],
    needsGateway: true,
    exits: { 1: 'No event of that id is in the history.' },
    see: ['events', 'events replay', 'docs/inspect.md'],
    load: async () => (await import('../commands/inspect-why.ts')).explainDelivery,
  },
  audit: {
    help: 'Show who changed what, by the command line or the page, newest first.',
    flags: [limit, since, { name: 'search', value: 'text', help: 'Only rows with this text.', form: 'text' }, json],
    about: [
      'Reads logs/audit.log and logs/refused-sign-ins.log of the home, also while no gateway runs. What was changed in the files, by an editor, `config edit` or `gateway setup`, is not in it. A row names what was changed, never a prompt, a payload or a secret. What agents do is in `agent events` and `agent runs`.',
    ],
    examples: [
      ['audit --since 1d', 'what was changed since yesterday'],
      ['audit --search mcp.', 'changes of MCP servers'],
    ],
    files: ['logs/'],
    see: ['inspect', 'docs/inspector.md'],
    load: async () => (await import('../commands/audit.ts')).showAudit,
  },
  doctor: {
    help: 'Find what keeps the gateway from working, and how to fix it.',
    flags: [
      { name: 'fix', help: 'Close what other users can reach, and remove what a dead gateway left; nothing else.' },
      { name: 'offline', help: 'Contact no other machine, and start no server.' },
      json,
    ],
    about: [
      'Checks everything that keeps a gateway from working, and says for each finding where it is, what it is and how to fix it. A running gateway is asked for the state of its servers; where none runs, each server that needs no login is connected to once. No login is ever begun.',
    ],
    examples: [
      ['doctor', 'check everything'],
      ['doctor --fix', 'also fix what is safe to fix'],
      ['doctor --offline --json', 'without the network, for scripts'],
    ],
    exits: {
      0: 'Nothing is wrong; there may be warnings.',
      1: 'Something is wrong that stops the gateway or a part of it.',
    },
    files: [...configFiles, 'gateway.sock', 'gateway.lock', 'state/'],
    see: ['config check', 'gateway status', 'mcp list'],
    staysHere: true,
    load: async () => (await import('../commands/doctor.ts')).runDoctor,
  },
  'completion <shell>': {
    help: 'Print a completion script for bash, zsh or fish.',
    about: [
      'The script calls this program at each press of Tab, so it is never outdated. Names of servers, tools, routes, jobs, deliveries and approvals come from the running gateway.',
      'Make the folder of the script first, by `mkdir -p`.',
    ],
    examples: [
      ['completion bash > ~/.local/share/bash-completion/completions/agent', 'bash'],
      ['completion zsh > ~/.zfunc/_agent', 'zsh, with ~/.zfunc in fpath'],
      ['completion fish > ~/.config/fish/completions/agent.fish', 'fish'],
    ],
    exits: { 2: 'No script for that shell.' },
    see: ['help'],
    staysHere: true,
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
    examples: [
      ['help webhook subscribe', 'one command'],
      ['help mcp --markdown', 'a group as Markdown'],
    ],
    exits: { 2: 'No command of that name.' },
    see: ['completion', 'docs/cli.md'],
    staysHere: true,
    load: async () => (await import('../commands/help.ts')).showHelp,
  },
};
