/**
 * The cached tools of each server, one file per server, written after a live listing. Reading never fails: an unreadable
 * file counts as absent.
 * @see LIF-6 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { type CachedDiscovery, cacheText, fingerprintInput, readCache } from '../../machines/mcp/schema-cache.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { ensurePrivateFolder, writeFileAtomic } from '../files.ts';
import type { Logger } from '../ports.ts';
import { safeName } from '../safe-name.ts';
import type { Listing } from './session.ts';

export interface SchemaCache {
  /**
   * Undefined if there is no entry that may stand for a listing now.
   * @param nowMs if undefined, the last listing with these settings is returned, however old
   */
  read(settings: ServerSettings, nowMs?: number): CachedDiscovery | undefined;
  /** Resolves once it is written, after earlier writes; never rejects. */
  write(settings: ServerSettings, listing: Listing, nowMs: number): Promise<void>;
  /** Resolves once nothing is cached for a server of this name, after earlier writes; never rejects. */
  remove(name: string): Promise<void>;
}

export function createSchemaCache(folder: string, log: Logger): SchemaCache {
  const pathOf = ({ name }: Pick<ServerSettings, 'name'>): string => join(folder, `${safeName(name)}.json`);
  /** The last write of each file, so that an older write cannot finish after a newer one. */
  const writing = new Map<string, Promise<void>>();

  function inTurn(path: string, work: () => Promise<void>): Promise<void> {
    const done = (writing.get(path) ?? Promise.resolve()).then(work);
    writing.set(path, done);
    return done.finally(() => {
      if (writing.get(path) === done) writing.delete(path);
    });
  }

  async function put(path: string, text: string, server: string): Promise<void> {
    try {
      await ensurePrivateFolder(folder);
      await writeFileAtomic(path, text);
    } catch (thrown) {
      log.warnOnce(`mcp/${server}/cache`, `mcp server "${server}": its tools cannot be remembered: ${causeOf(thrown)}`);
    }
  }

  return {
    read(settings, nowMs) {
      try {
        return readCache(readFileSync(pathOf(settings), 'utf8'), fingerprintOf(settings), nowMs);
      } catch {
        return undefined;
      }
    },
    write(settings, listing, nowMs) {
      const text = cacheText({ ...listing, fingerprint: fingerprintOf(settings), savedAtMs: nowMs });
      const path = pathOf(settings);
      return inTurn(path, () => put(path, text, settings.name));
    },
    remove(name) {
      const path = pathOf({ name });
      // A file that cannot be removed does no harm: for any other entry it is stale.
      return inTurn(path, () => rm(path, { force: true }).catch(() => {}));
    },
  };
}

/** A digest, because the settings that determine the list contain secrets. */
function fingerprintOf(settings: ServerSettings): string {
  return createHash('sha256').update(fingerprintInput(settings)).digest('hex');
}
