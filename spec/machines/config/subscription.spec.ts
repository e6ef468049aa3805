import t from 'tap';
import { checkFilters } from '../../../actors/config/load-config.ts';
import type { Json } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readSubscription, readSubscriptions } from '../../../machines/config/subscription.ts';

t.test('SUB-3 · CFG-2 · CFG-3 · a broken subscription is skipped and told of whole, a corrupt file is a fault', (t) => {
  const context = { profile: defaultProfile, host: '0.0.0.0', checkFilters };
  const result = readSubscriptions(
    JSON.stringify({
      good: { secret: 'abcdef' },
      'Bad Name': { secret: 'abcdef' },
      typo: { secret: 'abcdef', promt: 'x' },
      bare: {},
    }),
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
      ],
    );
  }
  const rows: readonly (readonly [name: string, record: Json, codes: readonly string[]])[] = [
    ['Bad', { secret: '', promt: 'x' }, ['subscription-name', 'unknown-key', 'route-secret-empty']],
    [
      'two',
      { prompt: 5, deliver: 'fax', deliver_only: true, cron_job: 'j', secret: 's' },
      ['wrong-type', 'deliver-unknown', 'cron-job-with-deliver-only'],
    ],
    ['once', { filters: [5, { field: 'a' }], secret: 's' }, ['wrong-type', 'filter-operator']],
    ['typed', { deliver: 5, deliver_only: true, secret: 5 }, ['wrong-type', 'wrong-type']],
    ['none', 'text', ['wrong-type']],
  ];
  for (const [name, record, codes] of rows) {
    const found = readSubscription(name, record, context);
    t.same(found.ok || found.problems.map(({ code }) => code).sort(), [...codes].sort(), name);
  }
  for (const text of ['[]', '{', 'null']) t.equal(readSubscriptions(text, context).ok, false, text);
  t.ok(readSubscriptions('', context).ok, 'an empty file is no subscriptions');
  t.end();
});
