/**
 * The commands of MCP servers, of links that add one, of the chat and of approvals.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { programTitles } from '../../machines/mcp/foreign-files.ts';
import { configFiles, type Flag, json, lines, profile, type Row, type Rows, sameAs } from './row.ts';

const noBrowser: Flag = { name: 'no-browser', help: 'Print the URL only; paste the redirect URL back.' };
const entryFlags: readonly Flag[] = [
  { name: 'transport', value: 'kind', help: '`sse` for the SSE transport.', oneOf: ['sse', 'http', 'streamable-http'] },
  { name: 'env', value: 'name=value', many: true, help: 'Environment of the command; may be repeated.' },
  { name: 'header', value: 'name: value', many: true, help: 'Header for the endpoint; may be repeated.' },
  { name: 'lazy', help: 'Connect at the first call.' },
  { name: 'untrusted', help: 'Ask before a tool runs that is not read-only.' },
];

const mcp = () => import('../commands/mcp.ts');
const mcpEntry = () => import('../commands/mcp-entry.ts');
const mcpLogin = () => import('../commands/mcp-login.ts');
const link = () => import('../commands/link.ts');
const approvals = () => import('../commands/approvals.ts');

const listApprovals: Row = {
  help: 'List what waits for an approval.',
  flags: [
    { name: 'follow', help: 'Continue, and print each question as it is asked, until Ctrl-C.' },
    { name: 'watch', help: 'The same as --follow.' },
    json,
  ],
  examples: [
    ['approvals', 'what waits'],
    ['approvals --follow', 'continue, and print each question as it is asked'],
  ],
  needsGateway: true,
  see: ['approvals show', 'approvals approve', 'approvals deny'],
  load: async () => (await approvals()).listApprovals,
};

export const mcpRows: Rows = {
  'mcp list': {
    help: 'List the MCP servers with their state, since when and why.',
    flags: [json],
    examples: [
      ['mcp list', 'every server with state and reason'],
      ['mcp list --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['mcp show', 'mcp logs', 'mcp test', 'docs/mcp-servers.md'],
    load: async () => (await mcp()).listServers,
  },
  'mcp show <server>': {
    help: 'Show one server: its entry with secrets masked, and its state.',
    flags: [profile, json],
    about: ['Reads the files, also while no gateway runs; the state is that in the running gateway.'],
    examples: [['mcp show github', 'its entry, its state, and the settings that lower a guard']],
    files: configFiles,
    see: ['mcp list', 'mcp edit', 'config show'],
    load: async () => (await mcp()).showServer,
  },
  'mcp tools [server]': {
    help: 'List the registered tools.',
    flags: [profile, json],
    examples: [
      ['mcp tools', 'every tool'],
      ['mcp tools github --json', 'those of one server, with their schemas'],
    ],
    needsGateway: true,
    see: ['mcp call'],
    load: async () => (await mcp()).listTools,
  },
  'mcp call <tool> [json]': {
    help: 'Call a tool with arguments as a JSON object; Ctrl-C cancels it.',
    flags: [profile, json],
    examples: [[`mcp call mcp__files__read_file '{"path": "README.md"}'`, 'call a tool']],
    needsGateway: true,
    exits: { 1: 'The tool answered with an error, or was not called; the code says which.' },
    see: ['mcp tools', 'approvals', 'docs/errors.md'],
    load: async () => (await mcp()).callTool,
  },
  'mcp test <server>': {
    help: 'Connect to a server once and show what it offers.',
    flags: [profile, json],
    about: ['Connects apart from a running gateway, which it does not need. Changes nothing.'],
    examples: [['mcp test github', 'connect once']],
    exits: {
      1: 'The server was not reached; the message says how far it got.',
      4: 'It was reached and needs a login; the message names the command.',
    },
    see: ['mcp list', 'doctor'],
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
    load: async () => (await mcpEntry()).addServer,
  },
  'mcp edit <server> [command…]': {
    help: 'Change keys of a server in config.yaml; another command comes after `--`.',
    flags: [
      { name: 'url', value: 'url', help: 'Another remote endpoint; removes the keys of a command.' },
      ...entryFlags,
      { name: 'entry', value: 'json', help: 'Further keys; null removes one.' },
      { name: 'unset', value: 'key', many: true, help: 'Remove a key, with dots for an inner one; may be repeated.' },
      profile,
      json,
    ],
    about: [
      'Changes the keys that are given and leaves the rest of the entry, its comments and its order as they are. The entry that results is checked before it is written; nothing is connected. A secret among the values goes into .env, and the entry refers to it by ${NAME}.',
    ],
    examples: [
      ['mcp edit files -- npx -y @modelcontextprotocol/server-filesystem ~/reports', 'another command'],
      ['mcp edit tracker --entry \'{"timeout": 60}\'', 'one key'],
      [
        'mcp edit tracker --entry \'{"tools": {"exclude": ["delete_issue"]}}\'',
        'disable a tool, by the name at the server',
      ],
      ['mcp edit tracker --unset headers.X-Team', 'remove a key'],
    ],
    exits: {
      1: 'The entry that would result has a finding; nothing was written. Or it was written, and another fault keeps the configuration from being applied.',
    },
    files: ['config.yaml', '.env'],
    see: ['mcp add', 'mcp disable', 'docs/mcp-servers.md'],
    load: async () => (await mcpEntry()).editServer,
  },
  'mcp disable <server>': {
    help: 'Disable a server: no connection and no tools; its entry stays.',
    flags: [profile],
    examples: [['mcp disable files', 'end its connection']],
    files: ['config.yaml'],
    see: ['mcp enable', 'mcp remove'],
    load: async () => (await mcpEntry()).disableServer,
  },
  'mcp enable <server>': {
    help: 'Enable a server again.',
    flags: [profile],
    examples: [['mcp enable files', 'connect it again']],
    files: ['config.yaml'],
    see: ['mcp disable'],
    load: async () => (await mcpEntry()).enableServer,
  },
  'mcp import': {
    help: 'Import the MCP servers of Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf, Zed, OpenCode, goose, Hermes Agent and OpenClaw.',
    flags: [
      { name: 'from', value: 'program', help: 'Only of this program.', oneOf: Object.keys(programTitles) },
      {
        name: 'file',
        value: 'file',
        help: 'Those of this file instead, such as a block from the page of a server; - is standard input.',
        form: 'text',
      },
      { name: 'all', help: 'All new ones, without asking which.' },
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
    about: [
      'Looks where these programs keep the MCP servers of the user, of this folder and of your folders around it. Shows each server with the settings that lower a guard, and asks before it writes. Other people may have written a file in the folder, so its servers are added only if you choose them or pass --project. If one of them refers to variables, a question names each with where its value goes; without a terminal, --variables names what you allow. Settings without a counterpart are listed, and a disabled server stays disabled. Values that are secrets go into .env and are referred to by ${NAME}. A name that is taken is never overwritten.',
    ],
    examples: [
      ['mcp import --dry-run', 'show what would be written'],
      ['mcp import --from claude-code', 'choose among those of one program'],
      ['mcp import --all --yes', 'import all, without a question'],
      ['mcp import --file block.json', 'the block with mcpServers that a server shows for other programs'],
    ],
    exits: {
      1: 'Nothing was found, or the file could not be changed.',
      4: '--yes is not given, and there is no terminal to ask on or --json is given; or a server waits for --variables.',
    },
    files: configFiles,
    see: ['mcp add', 'docs/mcp-servers.md'],
    staysHere: true,
    load: async () => (await import('../commands/mcp-import.ts')).importServers,
  },
  'mcp remove <name:server>': {
    help: 'Remove a server from config.yaml.',
    flags: [profile],
    examples: [['mcp remove files', 'remove it; a running gateway ends it']],
    files: ['config.yaml'],
    see: ['mcp disable', 'mcp add'],
    load: async () => (await mcpEntry()).removeServer,
  },
  'mcp logs <server>': {
    help: 'Show what a server wrote to its standard error, and its log messages.',
    flags: [lines, { name: 'lines', value: 'n', help: 'The same as --limit.', form: 'count' }, profile, json],
    examples: [['mcp logs github --limit 20', 'the last twenty lines, with secrets redacted']],
    needsGateway: true,
    files: ['logs/'],
    see: ['mcp list'],
    load: async () => (await mcp()).showServerLog,
  },
  'mcp reload [server]': {
    help: 'Read the configuration again; with a name, reconnect that server.',
    flags: [profile],
    examples: [
      ['mcp reload', 'read the configuration again'],
      ['mcp reload github', 'reconnect one server'],
    ],
    needsGateway: true,
    see: ['mcp list', 'gateway reload'],
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
    examples: [
      ['mcp login tracker', 'by the flow that the entry names'],
      ['mcp login tracker --flow device', 'on another device, by a code'],
    ],
    needsGateway: true,
    files: ['mcp-tokens/'],
    see: ['mcp reauth', 'docs/login.md'],
    load: async () => (await mcpLogin()).login,
  },
  'mcp reauth [server:login-server]': {
    help: 'Log in again; the old credentials are kept until the new ones are stored.',
    flags: [
      { name: 'all', help: 'Every server that logs in by OAuth, one after another; with --profile those of it.' },
      noBrowser,
      profile,
    ],
    examples: [
      ['mcp reauth tracker', 'log in again'],
      ['mcp reauth --all', 'one after another'],
    ],
    needsGateway: true,
    files: ['mcp-tokens/'],
    see: ['mcp login'],
    load: async () => (await mcpLogin()).reauthorize,
  },
  'mcp logout <server:login-server>': {
    help: 'Delete the stored login of a server; its tools then need a new one.',
    flags: [profile],
    about: [
      'Also of a server that is not configured any more. The access itself ends at the server: revoke it there, where it offers that.',
    ],
    examples: [['mcp logout tracker', 'the gateway forgets its tokens and its registration']],
    needsGateway: true,
    files: ['mcp-tokens/'],
    see: ['mcp login', 'mcp remove', 'docs/login.md'],
    load: async () => (await mcpLogin()).logout,
  },
  'mcp serve': {
    help: 'Offer the supervised tools, resources and prompts as one MCP server over stdio, for any other agent program.',
    flags: [
      // An empty one, as of a variable that is not set, must not offer every tool.
      { name: 'toolsets', value: 'list', help: 'Only these: `mcp-<server>` or names of tools.', form: 'text' },
      profile,
    ],
    about: ['Speaks MCP on standard input and output; give it to another agent program as its server.'],
    examples: [['mcp serve', 'as the command of an MCP server entry']],
    needsGateway: true,
    see: ['docs/mcp-serve.md'],
    load: async () => (await import('../commands/mcp-serve.ts')).serve,
  },
  'link open <url>': {
    help: 'Open an agent://mcp/install link: shows the server and asks before anything is written.',
    flags: [profile],
    examples: [
      ["link open 'agent://mcp/install?name=files&config=eyJjb21tYW5kIjoibHMifQ'", 'show what the link asks for'],
    ],
    exits: { 1: 'The link is malformed, or nothing was added.', 4: 'There is no terminal to ask on.' },
    files: ['config.yaml'],
    see: ['mcp add', 'mcp import'],
    staysHere: true,
    load: async () => (await link()).openLink,
  },
  'link register': {
    help: 'Let the desktop open agent:// links with this program.',
    flags: [{ name: 'undo', help: 'Remove the registration.' }],
    examples: [
      ['link register', 'let the desktop open such links'],
      ['link register --undo', 'remove the registration'],
    ],
    exits: { 1: 'The system has no xdg-utils, as macOS has none.' },
    see: ['link open'],
    staysHere: true,
    load: async () => (await link()).registerLinks,
  },
  chat: {
    help: 'Talk to the model in the terminal, with the tools of the servers.',
    flags: [profile],
    examples: [['chat', 'talk; /help lists what can be typed']],
    needsGateway: true,
    exits: { 4: 'No model is configured.' },
    see: ['gateway setup', 'docs/chat.md'],
    load: async () => (await import('../commands/chat.ts')).chat,
  },
  approvals: listApprovals,
  'approvals list': sameAs('approvals', listApprovals, [['approvals list --json', 'what waits, for scripts']]),
  'approvals show <id:approval>': {
    help: 'Show one question: the arguments of the call, or the form.',
    flags: [json],
    examples: [['approvals show akfmtx7', 'the arguments of a call, or a form']],
    needsGateway: true,
    see: ['approvals approve', 'approvals deny'],
    load: async () => (await approvals()).showApproval,
  },
  'approvals approve <id:approval>': {
    help: 'Approve a call, or fill in a form.',
    flags: [
      { name: 'values', value: 'json', help: 'The values of a form.' },
      { name: 'for-run', help: 'Let the run call the tool again without a question, as long as it runs.' },
      { name: 'always', help: "Write a rule to the server's entry: the tool runs without a question." },
      {
        name: 'where',
        value: 'argument=value',
        many: true,
        help: 'With --always, limit the rule to an argument of this call, such as repo=acme/web; may be repeated.',
      },
    ],
    examples: [
      ['approvals approve akfmtx7', 'let the call run'],
      ['approvals approve akfmtx7 --for-run', 'let the run call this tool again without a question'],
      [
        'approvals approve akfmtx7 --always --where repo=acme/web',
        'write a rule: calls with this argument run without a question',
      ],
      [`approvals approve akfmtx8 --values '{"name": "Ada"}'`, 'fill in a form'],
    ],
    needsGateway: true,
    exits: { 1: 'No such question waits, the values do not fit the form, or the answer cannot be remembered.' },
    see: ['approvals show', 'approvals answered', 'docs/mcp-servers.md'],
    load: async () => (await approvals()).approve,
  },
  'approvals answered': {
    help: 'List the last answers, with who gave them and when.',
    flags: [json],
    about: ['The last 100 answers since the gateway started, newest first.'],
    examples: [['approvals answered --json', 'who answered and when, for scripts']],
    needsGateway: true,
    see: ['approvals'],
    load: async () => (await approvals()).listAnswered,
  },
  'approvals deny <id:approval>': {
    help: 'Deny a call, or decline a form.',
    flags: [{ name: 'note', value: 'text', help: 'A reason for the agent.' }],
    examples: [
      ['approvals deny akfmtx7', 'nothing is sent'],
      ["approvals deny akfmtx7 --note 'wait for the release branch'", 'with a reason for the agent'],
    ],
    needsGateway: true,
    see: ['approvals'],
    load: async () => (await approvals()).deny,
  },
};
