/**
 * The agent programs that the first steps offer if they are installed, each with a command that reads a prompt from standard
 * input, prints the answer and uses the run's tools. The same commands as in docs/quick-starts.md.
 * @see INS-4 in docs/specification.md
 */

export interface KnownProgram {
  /** Its name on PATH. */
  readonly program: string;
  readonly title: string;
  /** The value for `agent.command`. */
  readonly command: readonly string[];
  /** What else the program needs. */
  readonly note?: string;
}

export const knownPrograms: readonly KnownProgram[] = [
  {
    program: 'claude',
    title: 'Claude Code',
    command: [
      'claude',
      '-p',
      '--mcp-config',
      `\${AGENT_MCP_CONFIG}`,
      '--strict-mcp-config',
      '--allowedTools',
      'mcp__agent',
    ],
    note: 'Claude Code reads the files of its folder without asking, in the home also `.env`; set `agent.cwd` to another folder.',
  },
  {
    program: 'codex',
    title: 'Codex',
    command: [
      'codex',
      'exec',
      '--skip-git-repo-check',
      '--ephemeral',
      '--sandbox',
      'workspace-write',
      '-c',
      // By default Codex ends a call after 60 s, and a person has five minutes to approve it.
      'mcp_servers.agent={command="agent",args=["mcp","serve"],env_vars=["AGENT_SOCKET"],default_tools_approval_mode="approve",tool_timeout_sec=3600}',
      '-',
    ],
  },
  {
    program: 'goose',
    title: 'goose',
    command: ['goose', 'run', '--no-session', '-q', '--with-extension', 'agent mcp serve', '-i', '-'],
    note: 'goose needs `GOOSE_MODE=auto` in `.env`, because there is no terminal to ask on.',
  },
  {
    program: 'opencode',
    title: 'OpenCode',
    command: ['opencode', 'run'],
    note: 'OpenCode takes servers from `opencode.json` in its folder, which is the home unless `agent.cwd` is set; docs/quick-starts.md has the entry.',
  },
];
