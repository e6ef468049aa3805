/**
 * The files of one run of an agent program, in a folder of their own that is gone with the run: the prompt, the socket by
 * which the program reaches the gateway, and the configuration that offers it the supervised tools, in the form that the
 * usual programs read. Only the owner can read them, and the configuration holds no secret: the tools come from the
 * gateway, which keeps those.
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
  /** A private folder for the folders of runs. */
  readonly folder: string;
  /** The words that start this program: node and its main file. */
  readonly program: readonly [string, ...string[]];
  /** Opens the socket of a run, at a path whose folder is private. Resolves with what closes it, which never throws. */
  readonly openSocket: (path: string, run: RunTexts) => Promise<() => void>;
}

export type RunTexts = Pick<AgentRunRequest, 'runId' | 'profile' | 'prompt' | 'toolsets' | 'traceparent'>;

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
    // This needs no descriptor, of which there may be none left (LIM-5). The program may have left more in the folder.
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

/** Removes what a daemon that was killed left behind. */
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
 * The socket knows the run, its profile and its toolsets. The words name both again: a program that drops the variable
 * reaches the home's own socket, which allows every tool. An empty list would be no bound there; `none` names no tool.
 */
function mcpConfig({ program: [command, ...words] }: RunFilesSettings, run: RunTexts, socket: string): string {
  const bounds = ['--profile', run.profile, '--toolsets', joinGlobs(run.toolsets) || 'none'];
  const agent = { type: 'stdio', command, args: [...words, 'mcp', 'serve', ...bounds], env: { AGENT_SOCKET: socket } };
  return `${JSON.stringify({ mcpServers: { agent } }, null, 2)}\n`;
}
