import t from 'tap';
import { checkFilters } from '../../../actors/config/load-config.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readSubscriptions } from '../../../machines/config/subscription.ts';

t.test('SUB-3 · CFG-3 · a broken subscription is skipped and told, a corrupt file is a fault', (t) => {
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
  for (const text of ['[]', '{', 'null']) t.equal(readSubscriptions(text, context).ok, false, text);
  t.ok(readSubscriptions('', context).ok, 'an empty file is no subscriptions');
  t.end();
});
