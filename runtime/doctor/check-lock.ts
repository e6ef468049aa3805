/**
 * Checks for leftovers of a gateway that crashed: its lock, its socket, the locks of files that it was changing. Those of
 * a dead process may be removed; those of a running one are never touched.
 * @see HOME-2 and CLI-2 in docs/specification.md
 */

import { accessSync, constants, readdirSync, rmSync, statSync } from 'node:fs';
import { holderOf, tryLock } from '../../actors/lock-file.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { type Examined, type Finding, good, placeIn } from './finding.ts';

export function checkLock({ paths, home, gateway }: Examined, enters = mayEnter): readonly Finding[] {
  const findings: Finding[] = [];
  // Another check reports a home that this user may not enter.
  if (!enters(paths.home)) return findings;
  const main = holderOf(paths.lock);
  // The process of a gateway in another container is not visible from here.
  if (main.kind === 'dead' && gateway === undefined) findings.push(stale(paths.home, paths.lock));
  if (main.kind === 'living' && gateway === undefined) {
    const { pid, isCopy } = main.holder;
    const place = placeIn(paths.home, paths.lock);
    if (isCopy) {
      const what = `was copied from another home, whose gateway (process ${pid}) runs`;
      return [{ level: 'wrong', code: 'lock-stale', place, what, cure: `rm ${shellWord(paths.lock)}` }];
    }
    findings.push({
      level: 'wrong',
      code: 'lock-hung',
      place,
      what: `is held by process ${pid}, which does not answer on ${placeIn(paths.home, paths.socket)}`,
      cure: `if it is not starting just now, end it: kill -9 ${pid}`,
    });
  }
  const isLeft = main.kind === 'none' || main.kind === 'dead';
  const socket = gateway === undefined && isLeft ? statSync(paths.socket, { throwIfNoEntry: false }) : undefined;
  if (socket?.isDirectory()) findings.push(folderAt(paths.home, paths.socket, 'socket-stale'));
  else if (socket !== undefined) {
    findings.push({
      level: 'warning',
      code: 'socket-stale',
      place: placeIn(paths.home, paths.socket),
      what: 'was left by a gateway that has ended',
      cure: `rm ${shellWord(paths.socket)}; a start takes it over by itself`,
      // Under the gateway's lock: a gateway that has started meanwhile listens on a new one at the same path.
      fix: () => {
        const taken = tryLock(paths.lock);
        if (taken.kind !== 'taken') return;
        rmSync(paths.socket, { force: true });
        taken.lock.release();
      },
    });
  }
  for (const { paths: own } of home.profiles.values()) {
    for (const folder of [own.home, own.cron, own.tokens]) {
      for (const name of locksIn(folder)) {
        const path = `${folder}/${name}`;
        if (path !== paths.lock && holderOf(path).kind === 'dead') findings.push(stale(paths.home, path));
      }
    }
  }
  const unseen =
    main.kind === 'making' ? 'a gateway is starting, or one of another user may run' : 'no gateway holds it';
  const state = gateway === undefined ? unseen : `the gateway runs (pid ${gateway.status.pid})`;
  return findings.length > 0 ? findings : [good(`${state}; nothing stale is left`)];
}

function stale(home: string, path: string): Finding {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return folderAt(home, path, 'lock-stale');
  return {
    level: 'warning',
    code: 'lock-stale',
    place: placeIn(home, path),
    what: 'was left by a process that has ended',
    cure: `rm ${shellWord(path)}; the next taker removes it by itself`,
    // Only taking a dead process's lock removes it without harm to another process that takes it at the same time.
    fix: () => {
      const taken = tryLock(path);
      if (taken.kind === 'taken') taken.lock.release();
    },
  };
}

/** Such as Docker makes for a mount whose source is missing. It may hold something, so neither a start nor `--fix` removes it. */
function folderAt(home: string, path: string, code: 'lock-stale' | 'socket-stale'): Finding {
  const what = 'is a folder, in the place of a file that the gateway makes';
  return {
    level: 'wrong',
    code,
    place: placeIn(home, path),
    what,
    cure: `mv ${shellWord(path)} ${shellWord(`${path}.moved`)}`,
  };
}

function mayEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function locksIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.lock'));
  } catch {
    return [];
  }
}
