import t from 'tap';
import { filterChecker } from '../../../actors/config/load-config.ts';
import type { Json } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readSubscription } from '../../../machines/config/subscription.ts';
import { readSubscriptions } from '../../support/read-config.ts';

const checkFilters = filterChecker('/home/of/nobody');

t.test(
  'SUB-3 · CFG-2 · CFG-3 · a broken subscription is skipped and reported completely, a corrupt file is a fault',
  (t) => {
    const context = { profile: defaultProfile, host: '0.0.0.0', checkFilters };
    const result = readSubscriptions(
      JSON.stringify({
        good: { secret: 'long-enough-secret' },
        'Bad Name': { secret: 'long-enough-secret' },
        typo: { secret: 'long-enough-secret', promt: 'x' },
        bare: {},
        deep: '(deep)',
      }).replace('"(deep)"', `${'['.repeat(201)}${']'.repeat(201)}`),
      context,
    );
    t.ok(result.ok);
    if (result.ok) {
      t.same(
        result.routes.map(({ route }) => route.name),
        ['good'],
      );
      t.same(
        result.problems.map(({ name, code }) => [name, code]),
        [
          ['Bad Name', 'subscription-name'],
          ['typo', 'unknown-key'],
          ['bare', 'route-secret-missing'],
          ['deep', 'json-depth'],
        ],
      );
    }
    const rows: readonly (readonly [name: string, record: Json, codes: readonly string[]])[] = [
      ['Bad', { secret: '', promt: 'x' }, ['subscription-name', 'unknown-key', 'route-secret-empty']],
      [
        'two',
        { prompt: 5, deliver: 'fax', deliver_only: true, cron_job: 'j', secret: 'long-enough-secret' },
        ['wrong-type', 'deliver-unknown', 'cron-job-with-deliver-only'],
      ],
      ['once', { filters: [5, { field: 'a' }], secret: 'long-enough-secret' }, ['wrong-type', 'filter-operator']],
      ['typed', { deliver: 5, deliver_only: true, secret: 5 }, ['wrong-type', 'wrong-type']],
      ['none', 'text', ['wrong-type']],
    ];
    t.match(readSubscription('none', 5, context), {
      problems: [{ message: 'the record of "none" must be an object with the keys of a route' }],
    });
    for (const [name, record, codes] of rows) {
      const found = readSubscription(name, record, context);
      t.same(found.ok || found.problems.map(({ code }) => code).sort(), [...codes].sort(), name);
    }
    for (const text of ['[]', '{', 'null', '', ' \n']) {
      t.match(readSubscriptions(text, context), { ok: false, fault: { code: 'subscriptions-corrupt' } }, `"${text}"`);
    }
    t.match(
      readSubscriptions('{}\n', context),
      { ok: true, routes: [], problems: [] },
      'an object says that there are none',
    );
    t.end();
  },
);

t.test('FIL-2 · SUB-1 · an operand beyond 2^53 keeps its digits', (t) => {
  const context = { profile: defaultProfile, host: '0.0.0.0', checkFilters };
  const text = '{"one":{"secret":"long-enough-secret","filters":[{"field":"id","in":[10000000000000000001]}]}}';
  const read = readSubscriptions(text, context);
  const filters = read.ok ? read.routes.map(({ route }) => route.filters) : [];
  t.strictSame(filters, [[{ field: 'id', in: ['10000000000000000001'] }]]);
  t.end();
});
