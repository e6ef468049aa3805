import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { Finding } from '../../../machines/webhook/diagnose-refusal.ts';
import type { Outcome } from '../../../machines/webhook/reply.ts';
import { liveRequest } from '../../../runtime/webhook/exchanges.ts';
import {
  advanceMs,
  createLastRefusals,
  maxBodyLength,
  maxKept,
  maxOfRoute,
  maxWaiting,
} from '../../../runtime/webhook/last-refusals.ts';

const junk = 'the signature does not match';

/** Bodies are the answers; one that begins with `!` takes the secret. */
function stage({ costMs = 0 } = {}) {
  const clock = { ms: 0, diagnoses: 0 };
  const last = createLastRefusals({
    diagnose: ({ body, reason = '' }) => {
      clock.ms += costMs;
      clock.diagnoses += 1;
      const answer = body?.toString() ?? 'not kept';
      const finding: Finding = { code: 'differs', text: answer === '{}' ? reason : answer };
      return [answer.startsWith('!') ? { ...finding, proven: true } : finding];
    },
    steadyMs: () => clock.ms,
  });
  const add = (
    id: string,
    name: string,
    reason: string,
    { kind = 'badSignature', body = '{}', from = '192.0.2.1' } = {},
  ): void => {
    const head = { method: 'POST', path: `/webhooks/${name}`, query: 'a=b', headers: { 'x-a': id } };
    const route = { name: name as RouteName, profile: 'default' as ProfileName } as Route;
    const outcome = { kind } as Outcome;
    const live = liveRequest({ head, readBody: () => {}, reply: () => {} }, Buffer.from(body));
    last.add(
      { id, origin: 'http', method: 'POST', path: head.path, receivedAtMs: 5, route, outcome, reason },
      live,
      from,
    );
  };
  const keys = (name: string): readonly string[] => last.of('default', name).map(({ key }) => key);
  return { last, add, keys, clock };
}

t.test('SRC-5 · SEC-8 · a route keeps its newest refusal of each answer, and no flood pushes another out', (t) => {
  const { add, keys, last } = stage();
  add('first', 'a', junk);
  for (let n = 0; n < 1_000; n += 1) add(`f${n}`, 'a', `the timestamp is ${n} s from the clock`);
  t.same(keys('a'), ['f999', 'first']);
  for (let n = 0; n < maxOfRoute; n += 1) add(`r${n}`, 'a', `reason ${'x'.repeat(n)}`);
  t.equal(keys('a').length, maxOfRoute);
  t.notOk(keys('a').includes('first'), 'the oldest goes');
  t.match(last.of('default', 'a')[0], { query: 'a=b', headers: { 'x-a': 'r3' }, receivedAtMs: 5, path: '/webhooks/a' });
  t.end();
});

t.test('SRC-5 · SEC-8 · an answer that takes the secret is replaced by no junk, whatever reasons it invents', (t) => {
  const { add, keys } = stage();
  add('older', 'a', junk, { body: '!would match without white space' });
  add('owner', 'a', junk, { body: '!would match without white space' });
  for (let n = 0; n < 1_000; n += 1) add(`j${n}`, 'a', junk);
  t.same(keys('a'), ['j999', 'owner']);
  for (let n = 0; n < 50; n += 1) add(`x${n}`, 'a', junk, { body: 'x'.repeat(n) });
  t.ok(keys('a').includes('owner'), 'many answers');
  t.equal(keys('a').length, maxOfRoute + 1);
  for (let n = 0; n < maxKept; n += 1) add(`k${n}`, `r${n}`, junk);
  t.ok(keys('a').includes('owner'), 'many routes');
  t.end();
});

t.test(
  'SRC-5 · SEC-8 · a flood costs a hundredth of the time, and another sender’s request is examined all the same',
  (t) => {
    const { add, keys, clock } = stage({ costMs: 1 });
    const flood = (from: number, until: number): void => {
      for (let n = from; n < until; n += 1) {
        clock.ms += 0.1;
        add(`j${n}`, 'a', junk);
      }
    };
    flood(0, 5_000);
    add('owner', 'a', junk, { body: '!would match', from: '192.0.2.2' });
    flood(5_000, 100_000);
    t.ok(clock.diagnoses <= advanceMs + clock.ms / 100 + 1, `${clock.diagnoses} diagnoses in ${clock.ms} ms`);
    t.same(keys('a'), ['j99999', 'owner']);
    clock.ms += 60_000;
    add('again', 'a', junk, { body: '!would match with another change' });
    add('junk', 'a', junk);
    t.same(keys('a'), ['junk', 'again', 'owner'], 'after a pause, also of the same sender');
    t.end();
  },
);

t.test('SRC-5 · SEC-8 · the newest of at most so many senders wait for their answer', (t) => {
  const { add, keys, clock } = stage({ costMs: 2 * advanceMs });
  add('first', 'a', junk);
  for (let n = 0; n <= maxWaiting; n += 1) add(`s${n}`, `r${n}`, junk, { from: `192.0.2.${n}` });
  const last = { name: `r${maxWaiting}`, from: `192.0.2.${maxWaiting}` };
  add('again', last.name, junk, { from: last.from });
  t.equal(clock.diagnoses, 1);
  t.same(keys('r0'), [], 'the oldest is dropped');
  t.same(keys(last.name), ['again'], 'a later one of its sender replaces it');
  t.same(keys('r1'), ['s1'], 'and takes the place of no other');
  t.end();
});

t.test('SRC-5 · long bodies and too many routes are not kept, nor is what was accepted', (t) => {
  const { add, keys, last } = stage();
  t.same([maxOfRoute, maxKept, maxWaiting, maxBodyLength], [4, 128, 8, 65_536]);
  add('long', 'a', '', { body: 'x'.repeat(maxBodyLength + 1) });
  t.equal(last.of('default', 'a')[0]?.body, undefined);
  add('fine', 'b', '', { kind: 'accepted' });
  t.same(keys('b'), []);
  for (let n = 0; n <= maxKept; n += 1) add(`k${n}`, `r${n}`, '');
  t.same(keys('a'), []);
  t.same(keys('r1'), ['k1']);
  t.end();
});
