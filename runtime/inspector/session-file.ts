/**
 * Keeps the digests of the page's sessions in a private file, so that a page that is open comes back by itself when the
 * daemon was restarted. What the file holds opens nothing: a session's id is not in it.
 * @see INS-2 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ensurePrivateFolder, writeFileAtomic } from '../../actors/files.ts';
import type { Logger } from '../../actors/ports.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject } from '../../machines/base/json.ts';
import type { SessionKeep } from './sessions.ts';

export function createSessionFile(path: () => string, log: Logger): SessionKeep {
  return {
    load() {
      try {
        const held: unknown = JSON.parse(readFileSync(path(), 'utf8'));
        return isJsonObject(held) ? Object.entries(held).filter(isSession) : [];
      } catch {
        // None yet, or none that can be read: every page asks for a fresh link.
        return [];
      }
    },
    save(sessions) {
      write(path(), JSON.stringify(Object.fromEntries(sessions))).catch((thrown: unknown) => {
        log.warnOnce('inspector-sessions', 'inspector: sessions are forgotten with the next restart', {
          error: causeOf(thrown),
        });
      });
    },
  };
}

async function write(path: string, text: string): Promise<void> {
  await ensurePrivateFolder(dirname(path));
  await writeFileAtomic(path, text);
}

function isSession(entry: readonly [string, unknown]): entry is [string, number] {
  return typeof entry[1] === 'number';
}
