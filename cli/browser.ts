/** Opens the desktop's browser if this machine has one; elsewhere the printed URL has to be enough. */

import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Starts the browser with an address; every user of the machine can read it in the process list. Returns undefined if there
 * is no browser. The program in BROWSER is always tried; over ssh the desktop's browser is on the wrong machine.
 */
export function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): ChildProcess | undefined {
  const command = browserCommand(env);
  if (command === undefined) return undefined;
  try {
    const child = spawn(command, [url], { stdio: 'ignore', detached: true });
    child.on('error', () => {});
    child.unref();
    return child;
  } catch {
    // Thrown, unlike a missing program: the address is longer than an argument may be.
    return undefined;
  }
}

export function browserCommand(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.BROWSER !== undefined && env.BROWSER !== '') return env.BROWSER;
  if (env.SSH_CONNECTION !== undefined || env.SSH_TTY !== undefined) return undefined;
  if (process.platform === 'darwin') return 'open';
  return env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined ? 'xdg-open' : undefined;
}
