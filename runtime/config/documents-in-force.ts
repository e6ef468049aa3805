/**
 * The documents of a home for as long as a process uses it: its files, or the rows of the database that the journal is in.
 * The first configuration decides, since another journal takes a restart.
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
  /** Reads shared documents; resolves with the fault where that cannot be done. Files need no opening. */
  open(): Promise<Fault | undefined>;
  /** Reads what other gateways have changed; resolves with whether what is stored can be written to. */
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
      // A database that is slow to answer is asked once at a time.
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

/** The driver is loaded only where it is configured. */
async function connectToPostgres(url: string, place: string): Promise<DocumentRows> {
  const { createDocumentRows } = await import('../../actors/store/postgres-documents.ts');
  return createDocumentRows(url, place);
}
