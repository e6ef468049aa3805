/**
 * The documents of a home while a process uses it: its files, or rows of the journal's database. The first configuration
 * decides, because another journal needs a restart.
 * @see SUB-2, CRN-1 and OAU-2 in docs/specification.md
 */

import { type Documents, fileDocuments } from '../../actors/documents.ts';
import type { Logger } from '../../actors/ports.ts';
import { createSharedDocuments, type DocumentRows, type SharedDocuments } from '../../actors/shared-documents.ts';
import { placeOf } from '../../actors/store/postgres-schema.ts';
import type { Fault } from '../../machines/base/fault.ts';
import type { Settings } from '../../machines/config/settings.ts';

export interface DocumentsInForce {
  choose(gateway: Settings['gateway']): Documents;
  /** Reads shared documents; resolves with the fault if that fails. Files need no opening. */
  open(): Promise<Fault | undefined>;
  /** Reads the changes of other gateways; resolves with whether the store is writable. */
  refresh(): Promise<boolean>;
  close(): Promise<void>;
}

export interface DocumentsInForceSettings {
  readonly home: string;
  readonly log: Logger;
  readonly connect?: (url: string, place: string) => Promise<DocumentRows>;
}

export function createDocumentsInForce({
  home,
  log,
  connect = connectToPostgres,
}: DocumentsInForceSettings): DocumentsInForce {
  let chosen: Documents | undefined;
  let shared: SharedDocuments | undefined;
  let refreshing: Promise<boolean> | undefined;
  let isClosed = false;
  return {
    choose({ journal, postgres }) {
      if (journal === 'postgres' && chosen === undefined) {
        const { url } = postgres ?? { url: '' };
        const place = placeOf(url);
        shared = createSharedDocuments({ home, place, connect: () => connect(url, place), log });
      }
      chosen ??= shared ?? fileDocuments;
      return chosen;
    },
    open: async () => shared?.open(),
    refresh() {
      if (isClosed) return Promise.resolve(false);
      if (shared === undefined) return Promise.resolve(true);
      // One query at a time, for a database that answers slowly.
      refreshing ??= shared
        .refresh()
        .then(
          () => true,
          () => false,
        )
        .finally(() => {
          refreshing = undefined;
        });
      return refreshing;
    },
    async close() {
      isClosed = true;
      await shared?.close();
    },
  };
}

/** The driver is loaded only if Postgres is configured. */
async function connectToPostgres(url: string, place: string): Promise<DocumentRows> {
  const { createDocumentRows } = await import('../../actors/store/postgres-documents.ts');
  return createDocumentRows(url, place);
}
