/**
 * The documents of a home without a running gateway, for a command that works on the home itself. Documents in a database
 * are read only if the command reads or changes them.
 * @see CLI-2 and SUB-1 in docs/specification.md
 */

import { type HomeSource, loadHome } from '../../actors/config/load-config.ts';
import { createDocumentsInForce } from '../config/documents-in-force.ts';
import { Refusal } from './refusal.ts';

const ofDocuments = /^(webhook\.(list|show|subscribe|remove|edit|enable|disable|samples)|cron\.\w+|mcp\.test)$/;

/** @throws Refusal if the database cannot be read */
export async function withHomeDocuments<Answer>(
  source: HomeSource,
  method: string,
  work: (source: HomeSource) => Promise<Answer>,
): Promise<Answer> {
  const documents = createDocumentsInForce({ home: source.home, log: { log: () => {}, warnOnce: () => {} } });
  const chosen = { ...source, documents: documents.choose };
  try {
    if (ofDocuments.test(method)) {
      loadHome(chosen);
      const unread = await documents.open();
      if (unread !== undefined) throw new Refusal(unread.code, unread.message);
    }
    return await work(chosen);
  } finally {
    await documents.close();
  }
}
