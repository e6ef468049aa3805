/**
 * Keeps the page's sessions in a private file, so that an open page reconnects after a restart of the daemon. The file has
 * the session's key, which verifies a page's proofs, and the digest of the session's id. A request needs the id too, so the
 * file alone opens no session.
 * @see INS-2 and SEC-1 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ensurePrivateFolder, writeFileAtomic } from '../../actors/files.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { defined, isJsonObject, type Json } from '../../machines/base/json.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { KeptSession, SessionKeep } from './sessions.ts';

export function sessionsPath(home: string): string {
  return `${homePaths(home).state}/inspector-sessions.json`;
}

export function createSessionFile(path: () => string, log: Logger): SessionKeep {
  /** Writes are serialized: a slower earlier write must not restore sessions that were ended. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    load() {
      try {
        const held = JSON.parse(readFileSync(path(), 'utf8')) as Json;
        return isJsonObject(held) ? Object.entries(held).flatMap(sessionOf) : [];
      } catch {
        // There is no file, or it cannot be read: every page needs a new link.
        return [];
      }
    },
    save(sessions) {
      const text = JSON.stringify(Object.fromEntries(sessions));
      const written = last
        .then(() => write(path(), text))
        .then(
          () => true,
          (thrown: unknown) => {
            log.warnOnce('inspector-sessions', 'inspector: the file of the page’s sessions cannot be written', {
              error: causeOf(thrown),
            });
            return false;
          },
        );
      last = written;
      return written;
    },
  };
}

async function write(path: string, text: string): Promise<void> {
  await ensurePrivateFolder(dirname(path));
  await writeFileAtomic(path, text);
}

function sessionOf([digest, held]: readonly [string, Json]): (readonly [string, KeptSession])[] {
  if (!isJsonObject(held)) return [];
  const { key, origin, openedMs, who, role, signedBy } = held;
  if (typeof key !== 'string' || typeof origin !== 'string' || typeof openedMs !== 'number') return [];
  if (typeof who !== 'string' || (role !== undefined && role !== 'reader')) return [];
  if (signedBy !== undefined && typeof signedBy !== 'string') return [];
  return [[digest, defined({ key, origin, openedMs, who, role, signedBy })]];
}
