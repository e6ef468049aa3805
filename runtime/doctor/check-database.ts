/**
 * Examines the database of the journal: whether a gateway can use it, and whether it can lose what was acknowledged.
 * Changes nothing.
 * @see DUR-1, SCA-1 and CLI-2 in docs/specification.md
 */

import { risksOf } from '../../actors/store/database-risks.ts';
import { placeOf } from '../../actors/store/postgres-schema.ts';
import type { Finding } from './finding.ts';

export async function checkDatabase(url: string, nowMs: () => number = Date.now): Promise<readonly Finding[]> {
  const { examineDatabase } = await import('../../actors/store/postgres-examination.ts');
  const examined = await examineDatabase(url, nowMs);
  const place = placeOf(url);
  if (!examined.ok) {
    const { message, code } = examined.fault;
    const what = message.replace(`${place}: `, '');
    const cure = `docs/errors.md has the remedy of ${code}; nothing was changed`;
    return [{ level: 'wrong', code: 'store-fault', place, what: `${what} [${code}]`, cure }];
  }
  return risksOf(examined.value).map((one) => ({ ...one, place }));
}
