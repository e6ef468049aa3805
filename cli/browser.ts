/** Opens the desktop's browser where a person sits at this machine; elsewhere the printed URL has to be enough. */

import { spawn } from 'node:child_process';

/** Whether a browser was started. One that BROWSER names is always tried; over ssh the desktop's is on the wrong side. */
export function openBrowser(url: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const command = env.BROWSER ?? desktopCommand(env);
  if (command === undefined) return false;
  const child = spawn(command, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
  return true;
}

function desktopCommand(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.SSH_CONNECTION !== undefined || env.SSH_TTY !== undefined) return undefined;
  if (process.platform === 'darwin') return 'open';
  return env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined ? 'xdg-open' : undefined;
}
