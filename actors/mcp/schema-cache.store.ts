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
  write(settings: ServerSettings, listing: Listing, nowMs: number): Promise<void>;
}

export function createSchemaCache(folder: string, log: Logger): SchemaCache {
  const pathOf = ({ name }: ServerSettings): string => join(folder, `${safeName(name)}.json`);
  return {
    read(settings, nowMs) {
      try {
        return readCache(readFileSync(pathOf(settings), 'utf8'), fingerprintOf(settings), nowMs);
      } catch {
        return { kind: 'absent' };
      }
    },
    async write(settings, { tools, capabilities, instructions, ttlMs }, nowMs) {
      try {
        await ensurePrivateFolder(folder);
        const discovery = {
          fingerprint: fingerprintOf(settings),
          savedAtMs: nowMs,
          tools,
          capabilities,
          ...(instructions === undefined ? {} : { instructions }),
          ...(ttlMs === undefined ? {} : { ttlMs }),
        };
        await writeFileAtomic(pathOf(settings), cacheText(discovery));
      } catch (thrown) {
        log.warnOnce(
          `mcp/${settings.name}/cache`,
          `mcp server "${settings.name}": its tools cannot be remembered: ${causeOf(thrown)}`,
        );
      }
    },
  };
}

/** A digest, because what decides the list holds secrets. */
function fingerprintOf(settings: ServerSettings): string {
  return createHash('sha256').update(fingerprintInput(settings)).digest('hex');
}
