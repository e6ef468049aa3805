/**
 * Checks whether the gateway can write where it keeps data: the home for its lock and its socket, the folders of state,
 * logs and tokens. Checks the permission, and writes nothing.
 * @see HOME-2 and CLI-2 in docs/specification.md
 */

import { accessSync, constants, lstatSync, readlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { type Examined, type Finding, good, placeIn } from './finding.ts';

/** Throws the system's error if this user may not create files in a folder; the spec provides a stricter one. */
type RightOf = (folder: string) => void;

/** With the trailing dot, which only a folder has. */
const asked: RightOf = (folder) => accessSync(`${folder}/.`, constants.W_OK | constants.X_OK);

export function checkWritable({ paths, home }: Examined, right: RightOf = asked): readonly Finding[] {
  const folders = new Set([paths.home, dirname(paths.socket), paths.state, paths.logs]);
  for (const { paths: own } of home.profiles.values()) {
    for (const folder of [own.home, own.cron, own.tokens, own.cache]) folders.add(folder);
  }
  const findings: Finding[] = [];
  for (const folder of folders) {
    const code = refusalOf(folder, right);
    if (code === undefined) continue;
    findings.push({
      level: 'wrong',
      code: 'path-unwritable',
      place: folder === paths.home ? folder : placeIn(paths.home, folder),
      what: `the gateway cannot write there (${code})`,
      cure: cureOf(code, folder),
    });
  }
  return findings.length > 0 ? findings : [good('can be written')];
}

/** A missing folder is created when needed, with the permission of its parent. */
function refusalOf(folder: string, right: RightOf): string | undefined {
  try {
    right(folder);
    return undefined;
  } catch (thrown) {
    const code = (thrown as NodeJS.ErrnoException).code ?? causeOf(thrown);
    return code === 'ENOENT' && !leadsNowhere(folder) ? undefined : code;
  }
}

/** Whether it is a link to what is missing, as where the disk of a linked `state/` is not mounted. */
function leadsNowhere(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

function cureOf(code: string, folder: string): string {
  switch (code) {
    case 'EROFS':
      return 'mount its disk for writing, or choose another home by AGENT_HOME';
    case 'ENOENT':
      return `mount the disk of ${readlinkSync(folder)}, where the link leads, or make that folder`;
    case 'ENOTDIR':
      return `move what is at ${folder}: it must be a folder`;
    default: {
      const name = shellWord(folder);
      return `chmod u+wx ${name}; where it is another user's, as root: chown -R ${process.getuid?.() ?? '<user>'} ${name}`;
    }
  }
}
