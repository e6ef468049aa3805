import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { Outcome } from '../../../machines/webhook/reply.ts';
import { liveRequest } from '../../../runtime/webhook/exchanges.ts';
import { createLastRefusals, longestBody, mostKept, mostOfRoute } from '../../../runtime/webhook/last-refusals.ts';

function stage() {
  const last = createLastRefusals();
  const add = (id: string, name: string, reason: string, { kind = 'badSignature', body = '{}' } = {}): void => {
    const head = { method: 'POST', path: `/webhooks/${name}`, query: 'a=b', headers: { 'x-a': id } };
    const route = { name: name as RouteName, profile: 'default' as ProfileName } as Route;
    const outcome = { kind } as Outcome;
    const live = liveRequest({ head, readBody: () => {}, reply: () => {} }, Buffer.from(body));
    last.add({ id, origin: 'http', method: 'POST', path: head.path, receivedAtMs: 5, route, outcome, reason }, live);
  };
  const keys = (name: string): readonly string[] => last.of('default', name).map(({ key }) => key);
  return { last, add, keys };
}

t.test('SRC-5 · SEC-8 · a route keeps its newest refusal of each reason, and no flood pushes another out', (t) => {
  const { add, keys, last } = stage();
  add('first', 'a', 'the signature does not match');
  for (let n = 0; n < 1_000; n += 1) add(`f${n}`, 'a', `the timestamp is ${n} s from the clock`);
  t.same(keys('a'), ['f999', 'first']);
  for (let n = 0; n < mostOfRoute; n += 1) add(`r${n}`, 'a', `reason ${'x'.repeat(n)}`);
  t.equal(keys('a').length, mostOfRoute);
  t.notOk(keys('a').includes('first'), 'the oldest goes');
  t.match(last.of('default', 'a')[0], { query: 'a=b', headers: { 'x-a': 'r3' }, receivedAtMs: 5, path: '/webhooks/a' });
  t.end();
});

t.test('SRC-5 · long bodies and too many routes are not kept, nor is what was accepted', (t) => {
  const { add, keys, last } = stage();
  add('long', 'a', '', { body: 'x'.repeat(longestBody + 1) });
  t.equal(last.of('default', 'a')[0]?.body, undefined);
  add('fine', 'b', '', { kind: 'accepted' });
  t.same(keys('b'), []);
  for (let n = 0; n < mostKept; n += 1) add(`k${n}`, `r${n}`, '');
  t.same(keys('a'), []);
  t.same(keys('r0'), ['k0']);
  t.end();
});
