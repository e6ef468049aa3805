/**
 * Opens a secret link in the browser by a private file that leads to it: the arguments of a process can be read by every
 * user of the machine.
 * @see SEC-1 in docs/specification.md
 */

import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browserCommand, openBrowser } from './browser.ts';

type Env = Readonly<Record<string, string | undefined>>;

export type Forwarded = 'opened' | 'notOpened' | 'noBrowser';

/** A browser that was not running yet takes seconds. The link outlives this, and is printed. */
const maxWaitMs = 30_000;
/** After it, a folder is not of a command that still waits. */
const leftMs = 60_000;
const folderPrefix = 'agent-inspector-';
const fileName = 'open.html';

/**
 * Starts the browser with a file that leads to the link, and removes the file once the link was opened, the browser could
 * not be started, 30 seconds are over, or a signal ends the command. Removes what a killed command left before.
 */
export async function openForward(link: string, env: Env, opened: Promise<boolean>): Promise<Forwarded> {
  if (browserCommand(env) === undefined) return 'noBrowser';
  const folder = makeFolder(env);
  if (folder === undefined) return 'notOpened';
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const endBy = (signal: NodeJS.Signals): void => {
    release();
    remove();
    process.kill(process.pid, signal);
  };
  const release = (): void => {
    process.off('exit', remove).off('SIGTERM', endBy).off('SIGHUP', endBy);
  };
  // Ctrl-C ends the process by an exit, before the wait below is over; the other signals skip `exit`.
  process.once('exit', remove).on('SIGTERM', endBy).on('SIGHUP', endBy);
  let timer: NodeJS.Timeout | undefined;
  try {
    const file = join(folder, fileName);
    writeFileSync(file, forwardTo(link), { mode: 0o600, flag: 'wx' });
    const browser = openBrowser(pathToFileURL(file).href, env);
    if (browser === undefined) return 'noBrowser';
    return await new Promise<Forwarded>((resolve) => {
      browser.once('error', () => resolve('notOpened'));
      browser.once('exit', (code) => code !== 0 && resolve('notOpened'));
      timer = setTimeout(() => resolve('notOpened'), maxWaitMs);
      void opened.then((isOpened) => resolve(isOpened ? 'opened' : 'notOpened'));
    });
  } finally {
    clearTimeout(timer);
    release();
    remove();
  }
}

/**
 * Makes a folder that only the user can enter, under a name that cannot be guessed. In the home where there is one: a
 * browser in a snap has a temporary folder of its own and sees no dot folder.
 */
function makeFolder({ HOME, XDG_RUNTIME_DIR }: Env): string | undefined {
  const home = process.platform === 'linux' ? HOME : undefined;
  for (const place of [home, XDG_RUNTIME_DIR, tmpdir()]) {
    if (place === undefined || place === '') continue;
    removeLeft(place);
    try {
      return mkdtempSync(join(place, folderPrefix));
    } catch {
      // Not there or not writable: the next one.
    }
  }
  return undefined;
}

/** Removes this user's older folders that hold the file and nothing else; a name alone could be any folder of a home. */
function removeLeft(place: string): void {
  try {
    for (const name of readdirSync(place).filter((one) => one.startsWith(folderPrefix))) {
      const folder = join(place, name);
      const { mode, mtimeMs, uid } = lstatSync(folder);
      const isOwn = uid === process.getuid?.() && (mode & 0o077) === 0;
      if (!isOwn || Date.now() - mtimeMs < leftMs) continue;
      if (readdirSync(folder).some((one) => one !== fileName)) continue;
      rmSync(join(folder, fileName), { force: true });
      rmdirSync(folder);
    }
  } catch {
    // The place cannot be read, or another command removed the folder first.
  }
}

function forwardTo(link: string): string {
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${link}">
<title>agent inspector</title>
<p><a href="${link}">Open the inspector</a></p>
`;
}
