/** What the program of a run can do, as the text of a script. */

/** `serve(name, args, env)` calls a tool of the server that AGENT_MCP_CONFIG names; resolves with it and all tools' names. */
export const serve = `import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
const serve = (name, args, env) => new Promise((resolve) => {
  const { agent } = JSON.parse(readFileSync(process.env.AGENT_MCP_CONFIG, 'utf8')).mcpServers;
  const child = spawn(agent.command, agent.args, { env: { PATH: process.env.PATH, ...(env ?? agent.env) }, stdio: ['pipe', 'pipe', 'inherit'] });
  const say = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const clientInfo = { name: 'program', version: '1' };
  say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
  let text = '';
  let tools = [];
  child.stdout.on('data', (chunk) => {
    text += chunk;
    for (let end = text.indexOf('\\n'); end >= 0; end = text.indexOf('\\n')) {
      const { id, result } = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      if (id === 1) {
        say({ method: 'notifications/initialized' });
        say({ id: 2, method: 'tools/list', params: {} });
      }
      if (id === 2) {
        tools = result.tools.map((tool) => tool.name);
        say({ id: 3, method: 'tools/call', params: { name, arguments: args } });
      }
      if (id === 3) {
        child.stdin.end();
        resolve({ tools, content: result.content });
      }
    }
  });
});
`;
