/**
 * Opens a secret link, to the inspector page or with the state of a login, in the browser through a private file that redirects
 * to it: every user of the machine can read a process's arguments.
 * @see SEC-1 and OAU-8 in docs/specification.md
 */

import { lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browserCommand, openBrowser } from './browser.ts';

type Env = Readonly<Record<string, string | undefined>>;

type Forwarded = 'opened' | 'notOpened' | 'noBrowser';

/** A browser that is not running yet takes seconds. The link stays valid longer, and is printed. */
const maxWaitMs = 30_000;
/** A folder older than this was left by a command that no longer waits. */
const leftMs = 60_000;
const folderPrefix = 'agent-inspector-';
const fileName = 'open.html';

/**
 * Starts the browser with a file that redirects to the link. Removes the file when the link was opened, the browser failed
 * to start, 30 seconds have passed or a signal ends the command. Also removes files left by killed commands.
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
  // One that the command handles itself ends the wait below.
  const signals = (['SIGTERM', 'SIGHUP'] as const).filter((signal) => process.listenerCount(signal) === 0);
  const release = (): void => {
    process.off('exit', remove);
    for (const signal of signals) process.off(signal, endBy);
  };
  // Ctrl-C exits the process before the wait below ends; the other signals skip `exit`.
  process.once('exit', remove);
  for (const signal of signals) process.on(signal, endBy);
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
 * Makes a folder that only the user can enter, with an unguessable name; in the home if there is one, because a browser in a
 * snap has its own temporary folder and cannot read dot folders.
 */
function makeFolder({ HOME, XDG_RUNTIME_DIR }: Env): string | undefined {
  const home = process.platform === 'linux' ? HOME : undefined;
  for (const place of [home, XDG_RUNTIME_DIR, tmpdir()]) {
    if (place === undefined || place === '') continue;
    removeLeft(place);
    try {
      return mkdtempSync(join(place, folderPrefix));
    } catch {
      // Missing or not writable: try the next one.
    }
  }
  return undefined;
}

/** Removes this user's older folders that contain only the file; the name alone could match any folder of a home. */
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
    // The folder is unreadable, or another command removed it first.
  }
}

/** A serialized URL contains no quotation mark. */
function forwardTo(link: string): string {
  const shown = link.replaceAll('&', '&amp;');
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=${shown}">
<title>agent</title>
<p><a href="${shown}">Continue</a></p>
`;
}
