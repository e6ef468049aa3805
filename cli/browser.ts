/** Opens the desktop's browser where a person sits at this machine; elsewhere the printed URL has to be enough. */

import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Starts the browser with an address, which every user of the machine can read in the list of processes. Undefined where
 * there is none. One that BROWSER names is always tried; over ssh the desktop's is on the wrong side.
 */
export function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): ChildProcess | undefined {
  const command = browserCommand(env);
  if (command === undefined) return undefined;
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
  return child;
}

export function browserCommand(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.BROWSER !== undefined) return env.BROWSER;
  if (env.SSH_CONNECTION !== undefined || env.SSH_TTY !== undefined) return undefined;
  if (process.platform === 'darwin') return 'open';
  return env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined ? 'xdg-open' : undefined;
}
