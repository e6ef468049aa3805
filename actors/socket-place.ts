/**
 * Chooses where the socket of a folder lies. A folder too deep for one has it under the temporary folder, where another user
 * may make the folder of that name first; then it lies under the user's runtime folder, which only the user can write.
 * @see CLI-3 in docs/specification.md
 * @see [XDG Base Directory](https://specifications.freedesktop.org/basedir-spec/latest/)
 */

import { existsSync, lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { type HomePaths, homePaths, liesAside, socketIn } from '../machines/config/profile.ts';

type Env = Readonly<Record<string, string | undefined>>;
type SocketName = Parameters<typeof socketIn>[1];

/** Returns the paths of a home, its socket where `placedSocket` puts it. */
export function placedPaths(home: string, env: Env): HomePaths {
  return { ...homePaths(home), socket: placedSocket(home, 'gateway.sock', env) };
}

/**
 * Returns the path of a folder's socket. Of a deep folder: where this user's socket exists, so that a command finds the
 * daemon of another session; else the first place that no other user holds, the temporary folder before the runtime folder,
 * which is removed when the user logs out and would take the socket of a running daemon along.
 */
export function placedSocket(folder: string, name: SocketName, env: Env): string {
  const places = socketPlaces(folder, name, env);
  const [first = ''] = places;
  const isOwn = (path: string): boolean => isOwnFolder(dirname(path), 0o022) && existsSync(path);
  const isFree = (path: string): boolean => !existsSync(dirname(path)) || isOwnFolder(dirname(path), 0o022);
  return places.find(isOwn) ?? places.find(isFree) ?? first;
}

/** Returns every path that the socket may have. A folder that is not deep has one. */
export function socketPlaces(folder: string, name: SocketName, env: Env): readonly string[] {
  const first = socketIn(folder, name);
  if (!liesAside(first)) return [first];
  // A session that lacks the variable, such as one of cron or sudo, still finds the folder that systemd makes.
  const runtime = [env.XDG_RUNTIME_DIR ?? '', `/run/user/${process.getuid?.()}`];
  const fit = runtime.filter((place) => place.startsWith('/') && isOwnFolder(place, 0o077));
  const paths = fit.map((place) => socketIn(folder, name, place)).filter((path) => path.length <= longestPath);
  return [...new Set([first, ...paths])];
}

/** As in `socketIn`: longer paths cannot be bound. */
const longestPath = 100;

function isOwnFolder(path: string, closed: number): boolean {
  try {
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & closed) === 0;
  } catch {
    return false;
  }
}
