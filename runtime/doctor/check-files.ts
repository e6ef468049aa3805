/**
 * Checks who may read and change the home: only its owner may read folders and files with secrets, and only the owner may
 * write files that are run as scripts. Narrowing a mode does no harm, so the doctor may do that.
 * @see HOME-3 and CLI-2 in docs/specification.md
 */

import { chmodSync, readdirSync, type Stats, statSync } from 'node:fs';
import { shellWord } from '../../machines/base/shell-word.ts';
import { type Examined, type Finding, good, placeIn } from './finding.ts';

/** Files that are checked per home; no configuration has more. */
const maxFiles = 5_000;

export function checkFiles({ paths, home }: Examined, uid = process.getuid?.()): readonly Finding[] {
  const findings: Finding[] = [];
  // In a home of one's own, such as after a command with sudo, single files may be root's.
  const owner = statOf(paths.home)?.uid ?? uid;
  const chown = `as root: chown -R ${uid} ${shellWord(paths.home)}`;
  const place = (path: string): string => (path === paths.home ? paths.home : placeIn(paths.home, path));
  const look = (path: string, found: Stats): void => {
    if (uid !== undefined && uid !== 0 && found.uid !== uid) {
      findings.push({
        level: 'wrong',
        code: 'path-foreign',
        place: place(path),
        what: `belongs to user ${found.uid}, and this is user ${uid}`,
        cure:
          owner === uid
            ? chown
            : `sudo -u '#${owner}' agent --home ${shellWord(paths.home)} … runs commands as its user; or, while no gateway of that user runs, ${chown}`,
      });
    }
    const open = found.mode & 0o077;
    if (open === 0) return;
    const narrow = (found.mode & 0o700).toString(8);
    findings.push({
      level: 'warning',
      code: 'path-open',
      place: place(path),
      what: `can be reached by other users (mode ${octal(found.mode)})`,
      cure: `chmod ${narrow} ${shellWord(path)}`,
      fix: () => chmodSync(path, found.mode & 0o700),
    });
  };
  let seen = 0;
  const visit = (path: string, each: (path: string, found: Stats) => void, links: Links = 'followed'): void => {
    const found = statOf(path);
    if (found === undefined || seen > maxFiles) return;
    seen += 1;
    each(path, found);
    if (found.isDirectory()) for (const name of namesIn(path, links)) visit(`${path}/${name}`, each, links);
  };
  const one = (path: string): void => {
    const found = statOf(path);
    if (found !== undefined) look(path, found);
  };
  // The socket's folder keeps others out; whether the socket's own mode does depends on the system.
  for (const path of [paths.home, paths.socket, paths.lock, paths.profiles]) one(path);
  for (const path of [paths.state, paths.logs]) visit(path, look);
  for (const { paths: own } of home.profiles.values()) {
    for (const path of [own.home, own.config, own.env, own.subscriptions]) if (path !== paths.home) one(path);
    for (const path of [own.tokens, own.cron]) visit(path, look);
    one(own.cache);
    const writable = (path: string, found: Stats): void => {
      if ((found.mode & 0o022) === 0) return;
      findings.push({
        level: 'wrong',
        code: 'script-writable',
        place: place(path),
        what: `can be changed by other users, and is run as you (mode ${octal(found.mode)})`,
        cure: `chmod go-w ${shellWord(path)}`,
        fix: () => chmodSync(path, found.mode & 0o755),
      });
    };
    // A link within the folder leads to what is looked at anyway; what lies outside is not run.
    for (const path of [own.scripts, own.skills]) visit(path, writable, 'left');
  }
  return findings.length > 0 ? findings : [good(`${paths.home}, private to its owner`)];
}

type Links = 'followed' | 'left';

/** Undefined also of a link that leads nowhere, or to itself. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function namesIn(path: string, links: Links): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => links === 'followed' || !entry.isSymbolicLink()).map(({ name }) => name);
  } catch {
    return [];
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}
