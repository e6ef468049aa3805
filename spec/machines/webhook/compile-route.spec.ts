import { createHmac } from 'node:crypto';
import t from 'tap';
import type { Route, RouteSecret } from '../../../machines/config/route.ts';
import { sources } from '../../../machines/config/sources.ts';
import { parseBody } from '../../../machines/webhook/body.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import { plainRoute } from '../../support/records.ts';

const shared: RouteSecret = { kind: 'shared', secret: 'a-secret-of-routes' };
const plain = plainRoute;
const view = { payload: { n: 7, env: 'live' }, eventType: 'push' };

t.test('RTE-1 · a route with nothing but its secret takes every event and shows the whole payload', (t) => {
  const compiled = compileRoute({ route: plain, secret: shared });
  t.equal(compiled.route, plain, 'the very route, by which its window is found');
  t.equal(compiled.groupKey, undefined);
  t.ok(compiled.acceptsEvent('anything'));
  t.equal(compiled.filters.match({ ...view, event: 'push', headers: {}, list: () => undefined }).kind, 'matched');
  t.equal(compiled.prompt.render(view), JSON.stringify(view.payload, null, 2));
  t.same(compiled.extra.render(view), {});
  t.end();
});

t.test('SRC-1 · a provider for which any other status is a failure is answered 200', (t) => {
  for (const sender of ['linear', 'elevenlabs', 'mailgun', 'zoom', 'meta', 'paypal', 'aws-sns'] as const)
    t.ok(compileRoute({ route: { ...plain, sender }, secret: shared }).answer, sender);
  t.equal(compileRoute({ route: { ...plain, sender: 'github' }, secret: shared }).answer, undefined);
  t.end();
});

t.test('SEC-6 · a signature is remembered as long as it is genuine, and for an hour at least', (t) => {
  const declared = (toleranceSeconds: number): Route => ({
    ...plain,
    signature: { ...sources.slack.schemes[0], timestamp: { at: { header: 'x-time' }, unit: 's', toleranceSeconds } },
  });
  for (const [route, ms] of [
    [plain, 3_600_000],
    [declared(300), 3_600_000],
    [declared(7_200), 14_400_000],
    [{ ...plain, sender: 'mailgun' }, 60_600_000],
  ] as const)
    t.equal(compileRoute({ route, secret: shared }).claimedForMs, ms);
  t.end();
});

t.test('RTE-1 · COA-1 · FIL-1 · each property becomes its function', (t) => {
  const body = Buffer.from('{}');
  const compiled = compileRoute({
    route: {
      ...plain,
      events: ['merge_request'],
      filters: [{ field: 'headers.X-Team', equals: 'core' }],
      prompt: '{event_type} {n}',
      deliverExtra: { chat_id: '{n}' },
      coalesce: { key: 'env', quietWindowMs: 1, maxWaitMs: 2 },
    } as unknown as Route,
    secret: shared,
  });
  t.same([compiled.acceptsEvent('Merge Request Hook'), compiled.acceptsEvent('push')], [true, false]);
  t.equal(compiled.prompt.render(view), 'push 7');
  t.same(compiled.extra.render(view), { chat_id: '7' });
  t.same(compiled.filters.headers, ['x-team']);
  t.same(
    compiled.keptHeaders({ 'x-team': 'core', 'x-other': 'x', 'x-github-event': 'push' }),
    { 'x-team': 'core', 'x-github-event': 'push' },
    'what its filters read is kept for a replay',
  );
  t.not(compiled.groupKey?.(view), undefined);
  t.equal(compiled.groupKey?.({ ...view, payload: {} }), undefined, 'a key that does not resolve');
  const signature = createHmac('sha256', 'a-secret-of-routes').update(body).digest('hex');
  t.equal(compiled.verify({ headers: { 'x-webhook-signature': signature }, body, nowMs: 0 }).kind, 'genuine');
  t.equal(compiled.verify({ headers: {}, body, nowMs: 0 }).kind, 'refused');
  t.end();
});

t.test(
  'DUR-2 · SRC-4 · what is kept of the headers of a CloudEvent lets a replay read its body as it was read',
  (t) => {
    const { keptHeaders, body: rule } = compileRoute({ route: { ...plain, sender: 'cloudevents' }, secret: shared });
    const headers = { 'ce-id': '1', 'ce-type': 'a.b', 'content-type': 'application/json', authorization: 'Bearer t' };
    const kept = keptHeaders(headers);
    t.notMatch(kept, { authorization: /./ });
    for (const body of ['{"n":7}', '[1,2]', '"hello"', '7', '<a/>', ''])
      t.match(parseBody(body, kept, rule), { ...parseBody(body, headers, rule), ok: true }, body);
    t.end();
  },
);

t.test('FIL-2 · conditions that cannot be used after all let nothing through', (t) => {
  const compiled = compileRoute({ route: { ...plain, filters: [{ field: 'n' }] }, secret: shared });
  t.equal(compiled.filters.match({ ...view, event: 'push', headers: {}, list: () => undefined }).kind, 'unmatched');
  t.end();
});
