import { readFileSync } from 'node:fs';
import t from 'tap';
import { defaultProfile, routeName } from '../../../machines/base/names.ts';
import type { Refusal } from '../../../runtime/control/contract/refusal.ts';
import { readRoutedHome } from '../../../runtime/control/home-view.ts';
import { editSubscription } from '../../../runtime/webhook/edit-subscription.ts';
import { makeHome } from '../../support/home.ts';

t.test('SUB-1 · SRC-3 · keys of a record change by the rules of routes, and by what is on disk', async (t) => {
  const home = makeHome(t, {
    'webhook_subscriptions.json':
      '{"a": {"secret": "s1-of-the-sender-0123", "verify_token": "v", "events": ["x"]}, "b": {"secret": "s2-of-the-sender-0123"}}',
  });
  const routed = readRoutedHome({ home: home.path, env: {} });
  const edit = (change: Parameters<typeof editSubscription>[2]) =>
    editSubscription(routed, { name: routeName('a'), profile: defaultProfile }, change);
  const written = () => JSON.parse(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8'));

  t.equal(
    await edit(({ verify_token: code }) =>
      code === 'v' ? { secret: 's3-of-the-sender-0123', verify_token: null } : undefined,
    ),
    true,
  );
  t.same(written(), { b: { secret: 's2-of-the-sender-0123' }, a: { secret: 's3-of-the-sender-0123', events: ['x'] } });
  t.equal(
    await edit(({ verify_token: code }) => (code === 'v' ? { secret: 's4-of-the-sender-0123' } : undefined)),
    false,
  );
  const refused = await edit(() => ({ events: 7 })).catch((error: Refusal) => error);
  t.match(refused, { code: 'wrong-type', message: '"events" must be a list; it is a number' });
  t.same(written().a, { secret: 's3-of-the-sender-0123', events: ['x'] }, 'what is refused changes nothing');
  home.write('webhook_subscriptions.json', '{}');
  const gone = await edit(() => ({ secret: 's5-of-the-sender-0123' })).catch((error: Refusal) => error);
  t.match(gone, { code: 'subscription-unknown', message: '"a" is no subscription of profile "default" any more' });
  t.same(written(), {}, 'what was removed meanwhile does not come back');
});

t.test('SUB-2 · CFG-3 · a record that cannot be read keeps none of the others from a change', async (t) => {
  const rows = [
    ['nested too deep', `${'['.repeat(300)}${']'.repeat(300)}`],
    ['with a key twice', '{"events": ["x"], "events": ["y"]}'],
  ] as const;
  for (const [title, broken] of rows) {
    const text = `{"broken": ${broken}, "a": {"secret": "s1-of-the-sender-0123"}}`;
    const home = makeHome(t, { 'webhook_subscriptions.json': text });
    const routed = readRoutedHome({ home: home.path, env: {} });
    const route = { name: routeName('a'), profile: defaultProfile };
    t.equal(await editSubscription(routed, route, () => ({ enabled: false })), true, title);
    const written = JSON.parse(readFileSync(`${home.path}/webhook_subscriptions.json`, 'utf8'));
    t.same(written.a, { secret: 's1-of-the-sender-0123', enabled: false }, title);
  }
});
