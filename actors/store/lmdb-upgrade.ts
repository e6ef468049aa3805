/**
 * Upgrades a store of an earlier layout: adds missing marks, and renames claims of ids. An interrupted upgrade starts
 * again at the next start, because the layout is written last.
 * @see DUR-2 and IDM-1 in docs/specification.md
 */

import { claimOfEvent } from '../../machines/webhook/marks.ts';
import { claimName } from '../../machines/webhook/record.ts';
import { claimKey } from './keys.ts';
import type { Environment } from './lmdb-tables.ts';
import { expiryKey, markRecord } from './marks.ts';
import { bareKey, markedCollections, plainRow, type Row, type Table, type Tables } from './tables.ts';

/** The layout of tables, keys and bytes; raised when an older gateway would misread the data of a newer one. */
export const layout = 5;
/**
 * 2 has no marks, and up to 4 those of a delivery name its target by the alias; up to 3 the name of an id's claim has the
 * order profile, route, id.
 */
const earlierLayouts: ReadonlySet<unknown> = new Set([2, 3, 4]);
const markedSince = 5;
const claimedSince = 4;

const layoutKey = 'layout';
/** Records marked in one transaction. */
const pieceSize = 500;
const allClaims = 10_000_000;

/** The layout recorded in a store. */
export function layoutOf(meta: Table | undefined): unknown {
  return meta?.read(layoutKey)?.value?.version;
}

/** Whether a store of this layout can be opened, possibly after an upgrade. */
export function isKnown(found: unknown): boolean {
  return found === layout || earlierLayouts.has(found);
}

export function writeLayout(environment: Environment): Promise<void> {
  return environment.transact(() => putLayout(environment.tables));
}

export async function upgrade(environment: Environment): Promise<void> {
  const { tables } = environment;
  if (Number(layoutOf(tables.meta)) < markedSince) await markAll(environment);
  // In one transaction and once, even if another gateway upgrades too: a new name could be mistaken for an old one.
  await environment.transact(() => {
    const found = Number(layoutOf(tables.meta));
    if (found === layout) return;
    if (found < claimedSince) nameClaimsAnew(tables);
    putLayout(tables);
  });
}

async function markAll(environment: Environment): Promise<void> {
  const { tables } = environment;
  for (const collection of markedCollections) {
    for (let from: string | undefined; ; ) {
      const keys = tables[collection].keys({ limit: pieceSize, ...(from === undefined ? {} : { from }) });
      await environment.transact(() => {
        for (const key of keys) {
          const row = tables[collection].read(key);
          if (row?.value === undefined) continue;
          const isDue = row.dueAtMs !== undefined;
          markRecord(tables, collection, { key, value: row.value, isDue, isClaimed: false });
        }
      });
      from = keys.at(-1);
      if (keys.length < pieceSize) break;
    }
  }
}

function putLayout({ meta }: Tables): void {
  meta.write(layoutKey, plainRow({ version: layout }));
}

function nameClaimsAnew(tables: Tables): void {
  const { claims, expiry } = tables;
  const moves = claims.keys({ limit: allClaims }).flatMap((earlier) => {
    const claim = claims.read(earlier);
    const name = claim && newName(tables, earlier, claim);
    return claim === undefined || name === undefined ? [] : [{ earlier, name, claim }];
  });
  // The new name of one claim may be the old name of another.
  for (const { earlier, claim } of moves) {
    claims.remove(earlier);
    expiry.remove(expiryKey(earlier, claim));
  }
  for (const { name, claim } of moves) {
    claims.write(name, claim);
    expiry.write(expiryKey(name, claim), bareKey);
  }
}

const earlierForm = /^delivery\/([^/]*)\/([^/]*)\/(.*)$/s;

/** The new name of an id's claim; undefined for a claim of something else. */
function newName(tables: Tables, earlier: string, { value }: Row): string | undefined {
  const found = earlierForm.exec(earlier);
  if (found !== null) {
    const [, profile = '', route = '', id = ''] = found;
    return claimKey(claimName(unescaped(profile), unescaped(route), id));
  }
  // A long name is stored as a digest only, so the name is derived from the event.
  if (!earlier.startsWith('sha256:') || typeof value?.eventKey !== 'string') return undefined;
  const event = tables.events.read(value.eventKey)?.value;
  const name = event && claimOfEvent(event);
  return name !== undefined && claimKey(earlierName(name, event?.deliveryId)) === earlier ? claimKey(name) : undefined;
}

/** The earlier name of a claim, from its new name. */
function earlierName(name: string, deliveryId: unknown): string {
  const [, , profile, route] = name.split('/');
  return `delivery/${profile}/${route}/${deliveryId}`;
}

function unescaped(part: string): string {
  return part.replaceAll('%2F', '/').replaceAll('%25', '%');
}
