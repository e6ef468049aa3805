/**
 * The command that brings the tables of the journal's database to this release.
 * @see SCA-1 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import type { CommandHost, Commands } from './command.ts';
import type { Result } from './contract.ts';
import { homeOf } from './home-view.ts';
import { Refusal } from './refusal.ts';

export const databaseCommands = {
  'gateway.migrate': { access: 'home', run: migrate },
} satisfies Partial<Commands>;

async function migrate(_: JsonObject, host: CommandHost): Promise<Result<'gateway.migrate'>> {
  const { journal, postgres } = homeOf(host).main.settings.gateway;
  if (journal !== 'postgres')
    throw new Refusal('journal-local', `gateway.journal is "${journal}", which has no tables`);
  const { migratePostgresJournal } = await import('../../actors/store/postgres-journal.ts');
  const migrated = await migratePostgresJournal(postgres?.url ?? '');
  if (!migrated.ok) throw new Refusal(migrated.fault.code, migrated.fault.message);
  return migrated.value;
}
