import type { Pool } from 'pg';
import t from 'tap';
import { createReads } from '../../../actors/store/postgres-reads.ts';
import { deferred, turn } from '../../support/turns.ts';

interface Asked {
  readonly names: readonly string[];
  answer(...rows: readonly { readonly name: string; readonly value: string }[]): void;
  fail(): void;
}

function stage() {
  const asked: Asked[] = [];
  const query = ({ values: [names] }: { readonly values: readonly (readonly string[])[] }) => {
    const { promise, resolve, reject } = deferred<object>();
    asked.push({
      names: names ?? [],
      answer: (...rows) => resolve({ rows }),
      fail: () => reject(new Error('away')),
    });
    return promise;
  };
  const reads = createReads({ query } as unknown as Pool, 'the database', () => true);
  return { asked, claimed: reads.claimed };
}

t.test(
  'SCA-1 · SRC-4 · claims that are looked up in one turn share a query, and those meanwhile the next',
  async (t) => {
    const { asked, claimed } = stage();
    const names = Array.from({ length: 300 }, (_, n) => `n${n}`);
    const first = [...names, 'n7'].map(claimed);
    await turn();
    t.same(
      asked.map((one) => one.names),
      [names],
    );
    const second = ['n7', 'other'].map(claimed);
    await turn();
    const third = claimed('third');
    await turn();
    t.equal(asked.length, 1, 'one query at a time');

    asked[0]?.answer({ name: 'n7', value: '{"by":1}' });
    t.same(
      (await Promise.all(first)).flatMap((value, n) => (value === undefined ? [] : [[n, value]])),
      [
        [7, { by: 1 }],
        [300, { by: 1 }],
      ],
    );
    await turn();
    t.same(asked[1]?.names, ['n7', 'other', 'third'], 'a name that is asked for later is read again');
    asked[1]?.answer({ name: 'third', value: '{"by":3}' });
    t.same(await Promise.all([...second, third]), [undefined, undefined, { by: 3 }]);
  },
);

t.test('DUR-2 · SCA-1 · records that are got in one turn share a query for each collection', async (t) => {
  const queries: (readonly [string, readonly string[]])[] = [];
  const query = async ({ values: [letter, keys] }: { readonly values: [string, readonly string[]] }) => {
    queries.push([letter, keys]);
    const found = keys.filter((key) => key !== 'none');
    return { rows: found.map((key) => ({ key, version: 1, due_at: null, held_by: null, value: `{"of":"${key}"}` })) };
  };
  const { get } = createReads({ query } as unknown as Pool, 'the database', () => true);

  const [one, same, none, sent] = await Promise.all([
    get('runs', 'a'),
    get('runs', 'a').then(async (found) => [found, await get('runs', 'later')]),
    get('runs', 'none'),
    get('deliveries', 'a'),
  ]);

  t.match([one, sent], [{ key: 'a', value: { of: 'a' } }, { key: 'a' }]);
  t.match(same, [{ key: 'a' }, { key: 'later' }]);
  t.equal(none, undefined);
  t.same(queries, [
    ['r', ['a', 'none']],
    ['d', ['a']],
    ['r', ['later']],
  ]);
  queries.length = 0;
  await Promise.all(Array.from({ length: 450 }, (_, at) => get('events', `k${at}`)));
  t.same(
    queries.map(([, keys]) => keys.length),
    [200, 200, 50],
    'with a bound',
  );
});

t.test('SCA-1 · DUR-1 · a look-up of claims that fails fails for its names alone', async (t) => {
  const { asked, claimed } = stage();
  const first = Promise.allSettled(['a', 'b'].map(claimed));
  await turn();
  const second = claimed('a');
  asked[0]?.fail();
  t.match(await first, [{ reason: { message: /away/ } }, { reason: { message: /away/ } }]);
  await turn();
  asked[1]?.answer({ name: 'a', value: '{}' });
  t.same(await second, {});
});

t.test('SCA-1 · CLI-2 · a database that takes no more connections is named with its remedy', async (t) => {
  const refused = Object.assign(new Error('too many connections for role "x"'), { code: '53300' });
  const query = () => Promise.reject(refused);
  const { get, claimed } = createReads({ query } as unknown as Pool, 'postgres://host/db', () => true);
  const fault = {
    code: 'journal-unavailable',
    message: /^postgres:\/\/host\/db: the database takes no more connections .*; raise its max_connections or lower/,
  };
  await t.rejects(get('runs', 'k'), { fault, code: '53300' });
  await t.rejects(claimed('c'), { fault, code: '53300' });
});
