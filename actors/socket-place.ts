/**
 * Chooses the path of a folder's socket. If the folder's path is too long, the socket is under the temporary folder, or,
 * if another user already has a folder of that name there, under the user's runtime folder, which only the user can
 * write.
 * @see CLI-3 in docs/specification.md
 * @see [XDG Base Directory](https://specifications.freedesktop.org/basedir-spec/latest/)
 */

import { existsSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { type HomePaths, homePaths, liesAside, socketIn } from '../machines/config/profile.ts';

type Env = Readonly<Record<string, string | undefined>>;
type SocketName = Parameters<typeof socketIn>[1];

/** Returns the paths of a home, with the socket where `placedSocket` puts it. */
export function placedPaths(home: string, env: Env): HomePaths {
  return { ...homePaths(home), socket: placedSocket(home, 'gateway.sock', env) };
}

/**
 * Returns the path of a folder's socket. If the folder's path is too long: where this user's socket exists, so that a
 * command finds the daemon of another session; else the first place without a folder of another user. The temporary
 * folder comes before the runtime folder, which is removed at logout, with the socket of a running daemon.
 */
export function placedSocket(folder: string, name: SocketName, env: Env): string {
  const places = socketPlaces(folder, name, env);
  const [first = ''] = places;
  const isOwn = (path: string): boolean => isOwnFolder(dirname(path), 0o022) && existsSync(path);
  const isFree = (path: string): boolean => !existsSync(dirname(path)) || isOwnFolder(dirname(path), 0o022);
  return places.find(isOwn) ?? places.find(isFree) ?? first;
}

/** Returns every path that the socket may have; only one if the folder's path is short enough. */
export function socketPlaces(folder: string, name: SocketName, env: Env): readonly string[] {
  const first = socketIn(folder, name);
  if (!liesAside(first)) return [first];
  // Sessions without the variable, such as those of cron or sudo, still find the folder that systemd makes.
  const runtime = [env.XDG_RUNTIME_DIR ?? '', `/run/user/${process.getuid?.()}`];
  const owned = runtime.filter((place) => place.startsWith('/') && isOwnFolder(place, 0o077));
  const paths = owned.map((place) => socketIn(folder, name, place)).filter((path) => path.length <= maxPathLength);
  return [...new Set([first, ...paths])];
}

/** As in `socketIn`: longer paths cannot be bound. */
const maxPathLength = 100;

function isOwnFolder(path: string, forbiddenMode: number): boolean {
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & forbiddenMode) === 0;
  } catch {
    return false;
  }
}
