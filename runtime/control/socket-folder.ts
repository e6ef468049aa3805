/**
 * Checks the folder of a socket outside its home. Its name is predictable and anyone may create folders there, so it is
 * trusted only if it belongs to this user alone: the owner of the folder controls the socket.
 * @see CLI-3 and HOME-3 in docs/specification.md
 */

import { lstatSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { liesAside } from '../../machines/config/profile.ts';
import { refuse } from './contract/refusal.ts';

/** Throws a Refusal if the folder belongs to another user or others may write to it; a missing folder is accepted. */
export function demandOwnFolder(socket: string): void {
  if (!liesAside(socket)) return;
  const folder = dirname(socket);
  const found = lstatSync(folder, { throwIfNoEntry: false });
  const flaw = found === undefined ? undefined : flawOf(found);
  if (flaw === undefined) return;
  refuse(
    'socket-foreign',
    `${folder}: the home is too long for a socket of its own, and this folder, made for it, ${flaw}; have it removed, or set AGENT_HOME to a shorter path`,
  );
}

function flawOf(found: Stats): string | undefined {
  if (!found.isDirectory()) return 'is no folder';
  if (found.uid !== process.getuid?.()) return `belongs to another user (id ${found.uid})`;
  return (found.mode & 0o022) === 0 ? undefined : 'may be written by other users';
}
