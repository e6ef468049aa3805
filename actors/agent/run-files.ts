/**
 * The files of one run of an agent program, in a folder of their own that is gone with the run: the prompt, and the
 * configuration that offers it the supervised tools, in the form that the usual programs read. Only the owner can read
 * them, and the configuration holds no secret: the tools come from the gateway, which keeps those.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { allServers } from '../../machines/agent/toolset.ts';
import { ensurePrivateFolder, privateFile } from '../files.ts';

export interface RunFilesSettings {
  /** A private folder for the folders of runs. */
  readonly folder: string;
  /** The words that start this program: node and its main file. */
  readonly program: readonly [string, ...string[]];
  /** The home of the gateway, whatever the profile. */
  readonly home: string;
}

export interface RunTexts {
  readonly runId: string;
  readonly profile: string;
  readonly prompt: string;
  readonly toolsets: readonly string[];
  readonly traceparent?: string;
}

export interface RunFiles {
  readonly mcpConfig: string;
  readonly prompt: string;
  /** Never rejects. */
  remove(): Promise<void>;
}

const prefix = 'run-';
/** The name of no toolset: an empty list would be none given. */
const noTools = 'none';

export async function writeRunFiles(settings: RunFilesSettings, run: RunTexts): Promise<RunFiles> {
  await ensurePrivateFolder(settings.folder);
  const own = await mkdtemp(join(settings.folder, prefix));
  const remove = (): Promise<void> => rm(own, { recursive: true, force: true }).catch(() => {});
  const files = { mcpConfig: join(own, 'mcp.json'), prompt: join(own, 'prompt.md'), remove };
  try {
    await Promise.all([
      writeFile(files.prompt, run.prompt, { mode: privateFile }),
      writeFile(files.mcpConfig, mcpConfig(settings, run), { mode: privateFile }),
    ]);
    return files;
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

/** Removes what a daemon that was killed left behind. */
export async function sweepRunFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => name.startsWith(prefix));
  await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true }).catch(() => {})));
}

function mcpConfig({ program, home }: RunFilesSettings, { runId, profile, toolsets, traceparent }: RunTexts): string {
  const [command, ...words] = program;
  const named = toolsets.filter((name) => name.startsWith('mcp'));
  const bound = named.includes(allServers) ? [] : ['--toolsets', named.join(',') || noTools];
  const args = [...words, 'mcp', 'serve', '--profile', profile, ...bound];
  // Whoever starts a server for a program passes little of its own environment on; by these its calls are the run's.
  const env = {
    AGENT_HOME: home,
    AGENT_RUN_ID: runId,
    ...(traceparent === undefined ? {} : { TRACEPARENT: traceparent }),
  };
  const agent = { type: 'stdio', command, args, env };
  return `${JSON.stringify({ mcpServers: { agent } }, null, 2)}\n`;
}
