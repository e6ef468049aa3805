/**
 * The files of one run of an agent program, in a folder that is removed with the run: the prompt, the run's control
 * socket, and an MCP configuration for the supervised tools in the format that common agent programs read. Only the owner
 * can read them. The configuration contains no secret, because the gateway serves the tools.
 * @see DIS-3, CON-3 and SEC-4 in docs/specification.md
 */

import { mkdtemp, readdir, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { liesAside } from '../../machines/config/profile.ts';
import { joinGlobs } from '../../machines/mcp/glob.ts';
import { ensurePrivateFolder, privateFile } from '../files.ts';
import type { AgentRunRequest } from '../ports.ts';
import { placedSocket, socketPlaces } from '../socket-place.ts';

export interface RunFilesSettings {
  /** A private folder for the folders of the runs. */
  readonly folder: string;
  /** The command line of this program: node and its main file. */
  readonly program: readonly [string, ...string[]];
  /**
   * Opens the socket of a run at a path in a private folder. Resolves with a function that closes it and never throws.
   */
  readonly openSocket: (path: string, run: RunTexts) => Promise<() => void>;
}

type RunTexts = Pick<AgentRunRequest, 'runId' | 'profile' | 'prompt' | 'toolsets' | 'traceparent'>;

export interface RunFiles {
  readonly mcpConfig: string;
  readonly prompt: string;
  readonly socket: string;
  /** Never rejects. */
  remove(): Promise<void>;
}

const prefix = 'run-';

export async function writeRunFiles(settings: RunFilesSettings, run: RunTexts): Promise<RunFiles> {
  await ensurePrivateFolder(settings.folder);
  const own = await mkdtemp(join(settings.folder, prefix));
  let close = (): void => {};
  const paths = { mcpConfig: join(own, 'mcp.json'), prompt: join(own, 'prompt.md'), socket: socketOf(own) };
  const remove = async (): Promise<void> => {
    close();
    // `unlink` needs no file descriptor, and none may be left (LIM-5). The program may have left more files in the
    // folder.
    await Promise.allSettled([paths.prompt, paths.mcpConfig].map((path) => unlink(path)));
    await rmdir(own).catch(() => rm(own, { recursive: true, force: true }).catch(() => {}));
  };
  try {
    const written = await Promise.allSettled([
      writeFile(paths.prompt, run.prompt, { mode: privateFile }),
      writeFile(paths.mcpConfig, mcpConfig(settings, run, paths.socket), { mode: privateFile }),
    ]);
    for (const one of written) if (one.status === 'rejected') throw one.reason;
    close = await settings.openSocket(paths.socket, run);
    return { ...paths, remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
}

/** Removes the run folders that a killed daemon left. */
export async function sweepRunFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  const left = names.filter((name) => name.startsWith(prefix));
  await Promise.all(
    left.flatMap((name) => {
      const own = join(folder, name);
      const aside = socketPlaces(own, 'agent.sock', process.env).filter(liesAside);
      const folders = [own, ...aside.map((path) => dirname(path))];
      return folders.map((path) => rm(path, { recursive: true, force: true }).catch(() => {}));
    }),
  );
}

function socketOf(folder: string): string {
  return placedSocket(folder, 'agent.sock', process.env);
}

/**
 * The socket is bound to the run, its profile and its toolsets. The arguments repeat both, because a program that drops
 * the variable reaches the home's own socket, which allows every tool. There an empty list would be no bound; `none`
 * names no tool.
 */
function mcpConfig({ program: [command, ...words] }: RunFilesSettings, run: RunTexts, socket: string): string {
  const bounds = ['--profile', run.profile, '--toolsets', joinGlobs(run.toolsets) || 'none'];
  const agent = { type: 'stdio', command, args: [...words, 'mcp', 'serve', ...bounds], env: { AGENT_SOCKET: socket } };
  return `${JSON.stringify({ mcpServers: { agent } }, null, 2)}\n`;
}
