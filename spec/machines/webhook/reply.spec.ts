import t from 'tap';
import { type Outcome, replyTo, statusOf } from '../../../machines/webhook/reply.ts';

t.test('DIS-1 · DIS-2 · IDM-1 · RTE-2 · the table of replies', (t) => {
  const named = { route: 'r', event: 'e', deliveryId: 'd' };
  const all = { route: 'r', event: 'e', delivery_id: 'd' };
  const rows: readonly (readonly [Outcome, number, object])[] = [
    [{ kind: 'tooLarge' }, 413, { error: 'Payload too large' }],
    [{ kind: 'tooLarge', why: 'at most 7 events' }, 413, { error: 'Payload too large: at most 7 events' }],
    [{ kind: 'unknownRoute' }, 404, { error: 'Unknown route' }],
    [{ kind: 'routeDisabled' }, 403, { error: 'Route disabled' }],
    [{ kind: 'badSignature' }, 401, { error: 'Invalid signature' }],
    [{ kind: 'badBody' }, 400, { error: 'Cannot parse body' }],
    [{ kind: 'rateLimited', retryAfterSeconds: 7 }, 429, { error: 'Rate limit exceeded' }],
    [{ kind: 'ignoredEvent', event: 'e' }, 200, { status: 'ignored', event: 'e' }],
    [{ kind: 'ignoredFilter', route: 'r' }, 200, { status: 'ignored', reason: 'filter', route: 'r' }],
    [{ kind: 'ignoredScript', route: 'r' }, 200, { status: 'ignored', reason: 'script', route: 'r' }],
    [{ kind: 'ignoredScriptFailed', route: 'r' }, 200, { status: 'ignored', reason: 'script', route: 'r' }],
    [{ kind: 'duplicate', deliveryId: 'd' }, 200, { status: 'duplicate', delivery_id: 'd' }],
    [{ kind: 'accepted', ...named }, 202, { status: 'accepted', ...all }],
    [
      { kind: 'split', accepted: 2, duplicate: 1, ignored: 0 },
      202,
      { status: 'accepted', accepted: 2, duplicate: 1, ignored: 0 },
    ],
    [
      { kind: 'split', accepted: 0, duplicate: 1, ignored: 3 },
      200,
      { status: 'duplicate', accepted: 0, duplicate: 1, ignored: 3 },
    ],
    [
      { kind: 'split', accepted: 0, duplicate: 0, ignored: 0 },
      200,
      { status: 'ignored', accepted: 0, duplicate: 0, ignored: 0 },
    ],
    [{ kind: 'coalesced', ...named }, 202, { status: 'coalesced', ...all }],
    [{ kind: 'cron', ...named }, 202, { status: 'accepted', ...all }],
    [
      { kind: 'delivered', route: 'r', target: 't', deliveryId: 'd' },
      200,
      { status: 'delivered', route: 'r', target: 't', delivery_id: 'd' },
    ],
    [{ kind: 'deliveryFailed' }, 502, { error: 'Delivery failed' }],
    [{ kind: 'pending' }, 503, { error: 'Delivery in progress' }],
    [{ kind: 'unavailable' }, 503, { error: 'Service unavailable' }],
    [{ kind: 'overloaded' }, 503, { error: 'Service unavailable' }],
    [{ kind: 'draining' }, 503, { error: 'Service unavailable' }],
    [{ kind: 'methodNotAllowed' }, 405, { error: 'Method not allowed' }],
    [{ kind: 'internal' }, 500, { error: 'Internal error' }],
  ];
  for (const [outcome, status, body] of rows) {
    const reply = replyTo(outcome);
    t.same([reply.status, JSON.parse(reply.body)], [status, body], outcome.kind);
    t.equal(statusOf(outcome), status, `${outcome.kind}, without its body`);
  }
  t.equal(replyTo({ kind: 'rateLimited', retryAfterSeconds: 7 }).headers?.['retry-after'], '7');
  for (const kind of ['pending', 'unavailable', 'overloaded', 'draining'] as const)
    t.equal(replyTo({ kind }).headers?.['retry-after'], '5', kind);
  t.equal(replyTo({ kind: 'methodNotAllowed' }).headers?.allow, 'POST');
  t.end();
});
