/**
 * The remembered tools of each server, one file each, written after a live discovery. Reading never fails: what cannot
 * be read is not there.
 * @see LIF-6 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { causeOf } from '../../machines/base/fault.ts';
import { type CacheReading, cacheText, fingerprintInput, readCache } from '../../machines/mcp/schema-cache.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { ensurePrivateFolder, writeFileAtomic } from '../files.ts';
import type { Logger } from '../ports.ts';
import { safeName } from '../safe-name.ts';
import type { Listing } from './session.ts';

export interface SchemaCache {
  read(settings: ServerSettings, nowMs: number): CacheReading | { readonly kind: 'absent' };
  /** Resolves once it is written, after those before it; never rejects. */
  write(settings: ServerSettings, listing: Listing, nowMs: number): Promise<void>;
}

export function createSchemaCache(folder: string, log: Logger): SchemaCache {
  const pathOf = ({ name }: ServerSettings): string => join(folder, `${safeName(name)}.json`);
  /** The last write of each file: a slow disk must not end the older of two after the newer. */
  const writing = new Map<string, Promise<void>>();

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
        return { kind: 'absent' };
      }
    },
    write(settings, { tools, leftOut, capabilities, instructions, offered, ttlMs }, nowMs) {
      const text = cacheText({
        fingerprint: fingerprintOf(settings),
        savedAtMs: nowMs,
        tools,
        ...(leftOut === undefined ? {} : { leftOut }),
        capabilities,
        ...(instructions === undefined ? {} : { instructions }),
        ...(offered === undefined ? {} : { offered }),
        ...(ttlMs === undefined ? {} : { ttlMs }),
      });
      const path = pathOf(settings);
      const written = (writing.get(path) ?? Promise.resolve()).then(() => put(path, text, settings.name));
      writing.set(path, written);
      return written.finally(() => {
        if (writing.get(path) === written) writing.delete(path);
      });
    },
  };
}

/** A digest, because what decides the list holds secrets. */
function fingerprintOf(settings: ServerSettings): string {
  return createHash('sha256').update(fingerprintInput(settings)).digest('hex');
}
