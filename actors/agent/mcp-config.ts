/**
 * Writes the file that offers the supervised tools to an agent program, in the form that the usual programs read. Only the
 * owner can read it, and it holds no secret: the tools come from the gateway, which keeps those.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { join } from 'node:path';
import type { ProfileName } from '../../machines/base/names.ts';
import { ensurePrivateFolder, readText, writeFileAtomic } from '../files.ts';

export interface McpConfigSettings {
  /** A private folder of the profile. */
  readonly folder: string;
  /** The words that start this program: node and its main file. */
  readonly program: readonly [string, ...string[]];
  /** The home of the gateway, whatever the profile. */
  readonly home: string;
  readonly profile: ProfileName;
}

/** Returns the file's path. Writes only where the text differs, so that runs side by side do not disturb each other. */
export async function writeMcpConfig({ folder, program, home, profile }: McpConfigSettings): Promise<string> {
  const [command, ...words] = program;
  const args = [...words, 'mcp', 'serve', '--profile', profile];
  const text = `${JSON.stringify({ mcpServers: { agent: { command, args, env: { AGENT_HOME: home } } } }, null, 2)}\n`;
  const path = join(folder, 'agent-mcp.json');
  await ensurePrivateFolder(folder);
  if ((await readText(path)) !== text) await writeFileAtomic(path, text);
  return path;
}
