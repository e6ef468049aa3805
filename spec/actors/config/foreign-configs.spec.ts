import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { type ForeignConfig, readForeignConfigs } from '../../../actors/config/foreign-configs.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { planImport } from '../../../machines/mcp/plan-import.ts';
import { makeHome } from '../../support/home.ts';

/** Reads what programs have in a user's folder; the project lies in `work/shop`, and `PROJECT` in a text is its path. */
async function readAll(t: Test, files: Readonly<Record<string, string>>) {
  const { path } = makeHome(t);
  const folder = `${path}/work/shop`;
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(`${path}/${name}`), { recursive: true });
    writeFileSync(`${path}/${name}`, text.replaceAll('PROJECT', folder));
  }
  const configs = await readForeignConfigs({ platform: 'linux', userHome: path, folder, env: {} });
  return { configs, folder, user: path };
}

/** What would be written of them, by name. */
function entriesOf(configs: readonly ForeignConfig[]): Readonly<Record<string, JsonObject>> {
  const found = configs.flatMap(({ file, servers }) => servers.map((server) => ({ file, server })));
  const plan = planImport({ found, config: {}, secrets: new Map(), env: {}, userHome: '/home/me' });
  return Object.fromEntries(plan.map(({ name, entry }) => [name, entry]));
}

const claudeCode = {
  '.claude.json': `{
  "numStartups": 42,
  "autoUpdates": true,
  "mcpServers": {
    "sentry": { "type": "http", "url": "https://mcp.sentry.dev/mcp" },
    "linear": { "type": "sse", "url": "https://mcp.linear.app/sse", "headers": { "X-Team": "core" } }
  },
  "projects": {
    "PROJECT": {
      "allowedTools": [],
      "mcpContextUris": [],
      "mcpServers": {
        "db": { "type": "stdio", "command": "npx", "args": ["-y", "@acme/db"], "env": { "DB_URL": "postgres://u:p4ssw0rd@h/d" } }
      },
      "enabledMcpjsonServers": [],
      "disabledMcpjsonServers": ["refused"],
      "disabledMcpServers": ["linear"],
      "hasTrustDialogAccepted": true
    },
    "/somewhere/else": { "mcpServers": { "far": { "command": "far" } } }
  }
}`,
  'work/shop/.mcp.json': `{ "mcpServers": {
    "api": { "type": "http", "url": "\${API_BASE:-https://api.example}/mcp", "headers": { "Authorization": "Bearer \${API_KEY}" } },
    "refused": { "command": "r", "args": [] },
    "quiet": { "command": "q", "args": [] }
  } }`,
  'work/shop/.claude/settings.local.json': '{ "permissions": {}, "disabledMcpjsonServers": ["quiet"] }',
};

t.test('CLI-5 · Claude Code: servers of the user, of the folder and of the project, some switched off', async (t) => {
  const { configs, folder: cwd } = await readAll(t, claudeCode);
  t.same(entriesOf(configs), {
    sentry: { url: 'https://mcp.sentry.dev/mcp' },
    linear: { url: 'https://mcp.linear.app/sse', transport: 'sse', headers: { 'X-Team': 'core' }, enabled: false },
    db: { command: 'npx', args: ['-y', '@acme/db'], env: { DB_URL: '${DB_URL}' }, cwd },
    api: { url: 'https://api.example/mcp', headers: { Authorization: 'Bearer ${API_KEY}' } },
    refused: { command: 'r', enabled: false, cwd },
    quiet: { command: 'q', enabled: false, cwd },
  });
  t.same(
    configs.flatMap(({ elsewhere }) => elsewhere),
    [{ folder: '/somewhere/else', names: ['far'] }],
  );
});

t.test('CLI-5 · Claude Desktop and Cursor', async (t) => {
  const { configs, folder } = await readAll(t, {
    '.config/Claude/claude_desktop_config.json': `{ "mcpServers": {
      "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] },
      "bridge": { "command": "npx", "args": ["mcp-remote", "https://x/mcp", "--header", "Authorization:\${AUTH}"], "env": { "AUTH": "Bearer abcdefghijkl" } }
    }, "globalShortcut": "" }`,
    '.cursor/mcp.json': '{ "mcpServers": { "figma": { "url": "http://127.0.0.1:3845/sse" } } }',
    'work/shop/.cursor/mcp.json': `{ "mcpServers": {
      "local": { "type": "stdio", "command": "python", "args": ["\${workspaceFolder}/s.py"], "env": { "K": "\${env:K}" }, "envFile": ".env" }
    } }`,
  });
  t.same(entriesOf(configs), {
    filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv'] },
    bridge: {
      command: 'npx',
      args: ['mcp-remote', 'https://x/mcp', '--header', 'Authorization:${AUTH}'],
      // The server itself puts AUTH into its argument: a value there would be seen in the list of processes.
      env: { AUTH: '${MCP_BRIDGE_AUTH}' },
    },
    figma: { url: 'http://127.0.0.1:3845/sse', transport: 'sse' },
    local: { command: 'python', args: [`${folder}/s.py`], env: { K: '${K}' }, cwd: folder },
  });
});

t.test('CLI-5 · VS Code: its own file, the older settings, the project’s file with comments', async (t) => {
  const { configs } = await readAll(t, {
    '.config/Code/User/mcp.json': `{
      "servers": { "github": { "type": "http", "url": "https://api.example/mcp/", "headers": { "Authorization": "Bearer \${input:github_token}" }, "gallery": "https://g", "version": "1.0.0" } },
      "inputs": [{ "id": "github_token", "type": "promptString", "description": "Token", "password": true }]
    }`,
    '.config/Code/User/settings.json': `{
      // older versions
      "editor.fontSize": 13,
      "mcp": { "servers": { "old": { "command": "old", "env": { "PORT": 8080, "GONE": null } } }, "inputs": [], },
    }`,
    'work/shop/.vscode/mcp.json': `{
      /* shared */
      "servers": { "web": { "type": "stdio", "command": "node", "args": ["\${workspaceFolder}/web.js",], "dev": { "watch": "**" } } },
    }`,
    'work/shop/.vscode/settings.json': '{ "files.eol": "\\n" }',
  });
  t.match(entriesOf(configs), {
    github: { url: 'https://api.example/mcp/', headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' } },
    old: { command: 'old', env: { PORT: 8080 } },
    web: { command: 'node', args: [/\/work\/shop\/web\.js$/] },
  });
});

t.test('CLI-5 · Codex: tables, dotted and quoted names, its lists and its switches', async (t) => {
  const { configs, folder } = await readAll(t, {
    '.codex/config.toml': `model = "gpt"
[features]
rmcp_client = true

[mcp_servers.context7]
command = "npx"
args = [
  "-y", # always
  "@upstash/context7-mcp",
]
startup_timeout_sec = 20.0
env_vars = ["LOCAL", { name = "OTHER", source = "local" }]

[mcp_servers.context7.env]
TOKEN = "s3cr3t-value"

[mcp_servers."figma.com"]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Figma-Region" = "us-east-1" }
enabled = false
enabled_tools = ["open", "shot"]
scopes = ["read"]

[mcp_servers.context7.tools.search]
approval_mode = "approve"
`,
    'work/.codex/config.toml': 'mcp_servers.near = { command = "near", default_tools_approval_mode = "prompt" }\n',
  });
  t.same(entriesOf(configs), {
    context7: {
      command: 'npx',
      args: ['-y', '@upstash/context7-mcp'],
      env: { TOKEN: '${TOKEN}', LOCAL: '${LOCAL}', OTHER: '${OTHER}' },
      connect_timeout: 20,
    },
    'figma.com': {
      url: 'https://mcp.figma.com/mcp',
      headers: { 'X-Figma-Region': 'us-east-1', Authorization: 'Bearer ${FIGMA}' },
      enabled: false,
      tools: { include: ['open', 'shot'] },
    },
    near: { command: 'near', cwd: dirname(folder), trust: 'untrusted' },
  });
});

t.test('CLI-5 · a missing file is skipped, an unreadable one is reported without its text', async (t) => {
  const { configs, user } = await readAll(t, {
    '.cursor/mcp.json': '  \n',
    '.claude.json': '{"mcpServers": {"x": {"env": {"KEY": "hidden-value"',
    '.codex/config.toml': 'a = 1\nb = hidden-value\n',
  });
  t.match(
    configs.map(({ file, problem, servers }) => [file.path.slice(user.length), problem, servers.length]),
    [
      ['/.claude.json', /^not JSON/, 0],
      ['/.cursor/mcp.json', undefined, 0],
      ['/.codex/config.toml', /^not TOML at line 2/, 0],
    ],
  );
  t.notMatch(JSON.stringify(configs[0]), /hidden-value/);
});

t.test('CLI-5 · goose, Hermes Agent and OpenClaw: YAML and JSON5, and a file that is neither', async (t) => {
  const goose = `extensions:
  developer: { type: builtin, enabled: true, bundled: true }
  notes:
    type: stdio
    enabled: true
    cmd: npx
    args: [-y, notes]
    envs: { NOTES_API_KEY: n0tes-s3cret-key, PIN: 0042 }
    timeout: 300
`;
  const hermes =
    'model: { default: x }\nmcp_servers:\n  time: { command: uvx, args: [mcp-server-time, 1.10], timeout: 120 }\n';
  const openclaw = "{ mcp: { servers: { docs: { url: 'https://docs.example/mcp', transport: 'streamable-http' } } }, }";
  const { configs } = await readAll(t, {
    '.config/goose/config.yaml': goose,
    '.hermes/config.yaml': hermes,
    '.openclaw/openclaw.json': openclaw,
  });
  t.strictSame(entriesOf(configs), {
    notes: {
      command: 'npx',
      args: ['-y', 'notes'],
      env: { NOTES_API_KEY: '${NOTES_API_KEY}', PIN: '0042' },
      timeout: 300,
    },
    time: { command: 'uvx', args: ['mcp-server-time', '1.10'], timeout: 120 },
    docs: { url: 'https://docs.example/mcp' },
  });
  const broken = await readAll(t, { '.hermes/config.yaml': 'a: s3cret: b\n' });
  t.match(broken.configs, [{ servers: [], problem: /^not YAML at line 1 column \d+$/ }]);
});
