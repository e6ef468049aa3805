import type { QueryResult } from 'pg';
import t from 'tap';
import { openPostgresJournal } from '../../../actors/store/postgres-journal.ts';
import { pruneRows } from '../../../actors/store/postgres-prune.ts';
import { reach } from '../../../actors/store/postgres-reach.ts';
import { got } from '../../support/open-journal.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';

t.test(
  'DUR-2 · pruning reads the work of each record by its key, not all work that is due',
  { skip: withoutPostgres },
  async (t) => {
    const postgres = await startPostgres(t);
    const url = await postgres.url();
    await got(await openPostgresJournal({ url })).close();
    const record = (collection: string, due: string, from: number, to: number): string =>
      `insert into agent_record select '${collection}', 'k' || lpad(n::text, 5, '0'), 1, ${due}, null, null, '{}', 9, '{}'
        from generate_series(${from}, ${to}) n`;
    const finished = ['e', 'r', 'd', 't'].map((collection) => record(collection, 'null', 1, 2_000));
    // The index of so little due work is the cheapest to read, until there is more.
    await postgres.run(url, [...finished, record('d', '1', 2_001, 2_005), 'analyze agent_record'].join(';'));
    const client = await reach(url);
    t.teardown(() => client.end());

    const plans: string[] = [];
    await pruneRows(
      {
        async write(statement, values) {
          const { rows } = await client.query<Record<string, string>>(`explain ${statement}`, [...values]);
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          return { rows: [{ records: '0', bytes: '0' }] } as QueryResult;
        },
        read: (statement, values = []) => client.query(statement, [...values]),
      },
      { keepAfterKey: 'k01000', maxBytes: 0 },
    );

    const ofRecords = plans.filter((plan) => plan.includes('Delete on agent_record'));
    t.equal(ofRecords.length, 2, 'by age and by size');
    for (const plan of ofRecords) {
      t.match(plan, 'agent_record_pkey');
      t.notMatch(plan, 'agent_record_due');
    }
  },
);
