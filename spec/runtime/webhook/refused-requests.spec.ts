import t from 'tap';
import type { ProfileName, RouteName } from '../../../machines/base/names.ts';
import type { Route } from '../../../machines/config/route.ts';
import type { EventRecord } from '../../../machines/webhook/record.ts';
import type { OutcomeKind } from '../../../machines/webhook/reply.ts';
import {
  createRefusedRequests,
  maxInRing,
  maxRemembered,
  maxRows,
  type RefusedFrom,
} from '../../../runtime/webhook/refused-requests.ts';
import { plainEvent } from '../../support/records.ts';

interface Given {
  readonly at: number;
  /** Absent: a path that is no route's. */
  readonly route?: string;
  readonly path?: string;
  readonly kind?: OutcomeKind;
  readonly reason?: string;
  readonly address?: string;
  readonly id?: string;
}

const keyAt = (at: number): string => `k${String(at).padStart(6, '0')}`;

function stage() {
  const refused = createRefusedRequests();
  const add = ({ at, route, path = '/webhooks/x', kind = 'badSignature', address = '192.0.2.1', ...given }: Given) => {
    const event: EventRecord = {
      ...plainEvent,
      deliveryId: given.id ?? `d${at}`,
      route: route ?? path,
      status: 'refused',
      reason: given.reason,
      receivedAtMs: at,
      outcome: kind,
    };
    const from = {
      route:
        route === undefined ? undefined : ({ name: route as RouteName, profile: 'default' as ProfileName } as Route),
      outcome: { kind },
      reason: given.reason,
      address,
    } as RefusedFrom;
    refused.add(keyAt(at), event, from);
  };
  const rows = () => [...refused.newestFirst()].map(({ key, event, alike }) => [key, event.route, alike?.count ?? 1]);
  return { refused, add, rows };
}

t.test('SEC-8 · equal refusals of one address are one row, found by its newest, its first and its latest ids', (t) => {
  const { refused, add, rows } = stage();
  for (let at = 0; at < 3_000; at += 1) add({ at, route: 'gh', reason: 'the signature does not match' });

  t.same(rows(), [[keyAt(2_999), 'gh', 3_000]]);
  const alike = { count: 3_000, firstKey: keyAt(0), firstAtMs: 0, lastAtMs: 2_999 };
  const known = [2_999, 2_998, 2_999 - maxRemembered + 1, 0];
  for (const at of known) {
    for (const id of [keyAt(at), `d${at}`]) {
      t.match(refused.withId(id), [{ key: keyAt(at), event: { deliveryId: `d${at}`, receivedAtMs: at }, alike }], id);
    }
  }
  for (const at of [1, 2_999 - maxRemembered]) t.same(refused.withId(`d${at}`), [], `d${at}`);
  t.end();
});

t.test('SEC-8 · what distinguishes rows, and what does not', (t) => {
  const one: Given = { at: 1, route: 'gh', reason: 'the timestamp is 301 s from the clock; 300 s are allowed' };
  const cases: readonly (readonly [what: string, other: Partial<Given>, rows: number])[] = [
    ['the same', {}, 1],
    ['a second later', { reason: 'the timestamp is 302 s from the clock; 300 s are allowed' }, 1],
    ['another id', { id: 'theirs' }, 1],
    ['another address', { address: '192.0.2.2' }, 2],
    ['another reason', { reason: 'no signature matches' }, 2],
    ['another route', { route: 'gl' }, 2],
    ['another outcome', { kind: 'rateLimited' }, 2],
  ];
  for (const [what, other, count] of cases) {
    const { add, rows } = stage();
    add(one);
    add({ ...one, ...other, at: 2 });
    t.equal(rows().length, count, what);
  }

  const lost = stage();
  lost.add({ at: 1, kind: 'methodNotAllowed', reason: 'GET' });
  lost.add({ at: 2, kind: 'methodNotAllowed', reason: 'PUT' });
  lost.add({ at: 3, kind: 'methodNotAllowed', path: '/webhooks/y', reason: 'PUT' });
  t.same(lost.rows(), [
    [keyAt(3), '/webhooks/y', 1],
    [keyAt(2), '/webhooks/x', 2],
  ]);
  const network = stage();
  network.add({ at: 1, address: '2001:db8::1' });
  network.add({ at: 2, address: '2001:db8:0:0:ffff::2' });
  t.equal(network.rows().length, 1, 'an IPv6 network is one sender');
  t.end();
});

t.test('SEC-8 · many addresses push out the oldest of their own ring alone', (t) => {
  const { add, rows } = stage();
  add({ at: 1, route: 'gh', reason: 'the signature does not match' });
  add({ at: 2, route: 'gl', reason: 'no recognised signature header' });
  add({ at: 3 });
  for (let at = 4; at < 3_000; at += 1) {
    add({ at, route: 'gh', reason: 'no recognised signature header', address: `198.51.${at >> 8}.${at & 255}` });
  }

  t.same(rows().slice(-3), [
    [keyAt(3), '/webhooks/x', 1],
    [keyAt(2), 'gl', 1],
    [keyAt(1), 'gh', 1],
  ]);
  t.equal(rows().length, maxInRing + 3);
  t.end();
});

t.test('SEC-8 · one address with many paths pushes out its own rows, not those of another', (t) => {
  const { add, rows } = stage();
  add({ at: 1, kind: 'unknownRoute', path: '/webhooks/githb', address: '203.0.113.9' });
  for (let at = 2; at < 3_000; at += 1) add({ at, kind: 'unknownRoute', path: `/webhooks/${at}` });

  t.equal(rows().length, maxInRing);
  t.same(rows().at(-1), [keyAt(1), '/webhooks/githb', 1]);
  t.end();
});

t.test('SEC-8 · all rows have a bound, and the fullest ring gives way', (t) => {
  const { refused, add, rows } = stage();
  add({ at: 1, route: 'lonely' });
  for (let at = 2; at < 3 * maxRows; at += 1) {
    add({ at, route: `r${Math.floor(at / maxInRing)}`, address: `198.51.${at >> 8}.${at & 255}` });
  }

  t.same([maxInRing, maxRows], [50, 2_000]);
  t.equal(rows().length, maxRows);
  t.same(rows().at(-1), [keyAt(1), 'lonely', 1]);
  t.same(refused.withId('d1').length, 1);
  const keys = rows().map(([key]) => key);
  t.same(keys, [...keys].sort().reverse(), 'newest first');
  t.end();
});

t.test('SEC-8 · a listing stops where its reader does, and begins before a key', (t) => {
  const { refused, add } = stage();
  for (const at of [5, 1, 4, 2, 3]) add({ at, address: `192.0.2.${at}` });

  const keysOf = (before?: string) => [...refused.newestFirst(before)].map(({ key }) => key);
  t.same(keysOf(), [5, 4, 3, 2, 1].map(keyAt));
  t.same(keysOf(keyAt(3)), [2, 1].map(keyAt));
  t.same(keysOf(keyAt(1)), []);
  const [newest] = refused.newestFirst();
  t.equal(newest?.key, keyAt(5));
  t.end();
});

t.test('SEC-8 · texts that a sender wrote are kept short', (t) => {
  const { refused, add } = stage();
  const long = 'ä'.repeat(9_000);
  add({ at: 1, path: `/webhooks/${long}`, id: long, reason: long });

  const [row] = refused.newestFirst();
  t.same([row?.event.route.length, row?.event.deliveryId.length, row?.event.reason?.length], [200, 200, 600]);
  t.end();
});
