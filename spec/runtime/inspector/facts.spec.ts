import t from 'tap';
import { factsOf, reasonOf } from '../../../runtime/inspector/facts.ts';
import { fc } from '../../support/property.ts';

t.test('INS-1 · what an actor works on is read from its context, at the top or in its record', (t) => {
  const rows: readonly (readonly [string, unknown, object])[] = [
    [
      'a request',
      {
        id: 'k1',
        origin: 'http',
        path: '/webhooks/x',
        route: { name: 'x', secret: 's' },
        profile: 'work',
        event: 'push',
        deliveryId: 'd',
      },
      { profile: 'work', route: 'x', event: 'push', delivery: 'd', key: 'k1' },
    ],
    [
      'a run',
      { key: 'r1', record: { eventKey: 'k2', route: 'x', profile: 'default', attempt: 2, status: 'running' } },
      { profile: 'default', route: 'x', attempt: 2, key: 'k2' },
    ],
    [
      'a delivery',
      {
        key: 'r1',
        record: { eventKey: 'k2', deliveryId: 'd', route: 'x', profile: 'default', event: 'push', target: 'sms' },
      },
      { profile: 'default', route: 'x', event: 'push', delivery: 'd', target: 'sms', key: 'k2' },
    ],
    [
      'a burst',
      { key: 'default/x/g', profile: 'default', route: 'x', burst: { count: 3, latestEventKey: 'k9' } },
      { profile: 'default', route: 'x', waiting: 3, key: 'k9' },
    ],
    [
      'a connection',
      { server: 'files', profile: 'default', transport: 'stdio', tools: 4, failures: 2, inFlight: 1 },
      { profile: 'default', server: 'files', attempt: 2, tools: 4, waiting: 1 },
    ],
    [
      'a call',
      {
        id: '7',
        profile: 'default',
        name: 'mcp__files__read',
        server: 'files',
        tool: 'read',
        caller: 'run',
        run: 'r1',
        tries: 1,
      },
      { profile: 'default', server: 'files', tool: 'mcp__files__read', by: 'run', attempt: 1, key: 'r1' },
    ],
    ['a pool', { name: 'requests', size: 2, spawned: 9, finished: 7, crashed: 0 }, { size: 2 }],
    [
      'a platform',
      { profile: 'default', target: 'slack', name: 'team_chat_a' },
      { profile: 'default', target: 'team_chat_a' },
    ],
    ['nothing', null, {}],
  ];
  for (const [name, context, facts] of rows) t.same(factsOf(context), facts, name);
  t.end();
});

t.test('INS-1 · why an actor is as it is comes from its own words', (t) => {
  t.equal(reasonOf({ why: 'connection refused' }), 'connection refused');
  t.equal(reasonOf({ fault: { code: 'timed_out', message: 'no answer' } }), 'no answer');
  t.equal(reasonOf({ record: { reason: 'target said no' } }), 'target said no');
  t.equal(reasonOf({ why: null, reason: '' }), undefined);
  t.end();
});

t.test('INS-1 · no context can break the reading of it', (t) => {
  fc.assert(
    fc.property(fc.anything(), (context) => {
      for (const value of Object.values(factsOf(context)))
        if (typeof value !== 'string' && typeof value !== 'number') return false;
      return ['string', 'undefined'].includes(typeof reasonOf(context));
    }),
  );
  t.end();
});
