import t from 'tap';
import { createActor } from 'xstate';
import type { ClaimRequest, ClaimVerdict } from '../../../actors/webhook/claim-delivery.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { compileRoute } from '../../../machines/webhook/compile-route.ts';
import type { SignatureHolder } from '../../../machines/webhook/record.ts';
import type { RequestContext, RequestInput } from '../../../machines/webhook/webhook-request.machine.ts';
import type { WorkPools } from '../../../runtime/system/work-pools.ts';
import { type Exchanges, type LivePart, liveRequest, parsedOf } from '../../../runtime/webhook/exchanges.ts';
import { createParts, maxParts, type Settlement } from '../../../runtime/webhook/parts.ts';
import { type RequestPorts, wireRequest } from '../../../runtime/webhook/requests.ts';
import { plainFacts, plainRoute } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

interface Stage {
  readonly items?: readonly JsonObject[];
  readonly isGone?: boolean;
  readonly checksOnly?: boolean;
  readonly signature?: RequestContext['signature'];
  /** Starts the chart of an item. */
  readonly start?: (input: RequestInput, exchanges: Exchanges) => void;
}

function stage({
  items = [],
  isGone = false,
  checksOnly = false,
  signature = { digest: 'sig', isTimed: true },
  start,
}: Stage = {}) {
  const exchanges: Exchanges = new Map();
  const spawned: RequestInput[] = [];
  const claims: { readonly id: string; readonly settled: (verdict: ClaimVerdict) => void }[] = [];
  const settlements: Settlement[] = [];
  const calls: string[] = [];
  const leaving: (() => void)[] = [];
  const requests = {
    spawn: (_: string, input: RequestInput) => {
      if (isGone) return undefined;
      spawned.push(input);
      start?.(input, exchanges);
      return {};
    },
  };
  let ids = 0;
  const pools = { requests } as unknown as WorkPools;
  const turns: (() => void)[] = [];
  const { splitBody, underWay } = createParts({
    exchanges,
    pools: () => pools,
    nextId: () => {
      ids += 1;
      return `k${ids}`;
    },
    nowMs: () => 5,
    claim: ({ event }, settled) => {
      calls.push(`claim ${event.deliveryId}`);
      claims.push({ id: event.deliveryId, settled });
    },
    together: (submitAll) => {
      calls.push('begin');
      submitAll();
      calls.push('end');
    },
    nextTurn: (resume) => turns.push(resume),
  });
  const parent: RequestContext = {
    id: 'k0',
    origin: 'http',
    method: 'POST',
    path: '/webhooks/r',
    receivedAtMs: 0,
    deliveryId: 'd',
    scheme: 'sendgrid',
    signature,
    payload: { items: items as JsonObject[] },
  };
  const live = liveRequest({
    head: { method: 'POST', path: '/webhooks/r', headers: { a: 'b' } },
    readBody() {},
    whenLeft: (left) => void leaving.push(left),
    reply() {},
  });
  if (checksOnly) Object.assign(live, { checksOnly, handedIn: 'the page' });
  splitBody(parent, live, (settlement) => settlements.push(settlement));
  const part = (index: number): LivePart | undefined => exchanges.get(spawned[index]?.id ?? '')?.part;
  const parts = spawned.map((_, index) => part(index));
  const verdicts: string[] = [];
  const ready = (index: number, id: string): void =>
    part(index)?.claim({ event: { deliveryId: id } } as ClaimRequest, (verdict) => {
      verdicts.push(`${id} ${verdict.kind}${'reason' in verdict ? `: ${verdict.reason}` : ''}`);
    });
  /** Takes all turns that are asked for, and counts them. */
  const takeTurns = (): number => {
    let taken = 0;
    for (let resume = turns.shift(); resume !== undefined; resume = turns.shift()) {
      taken += 1;
      resume();
    }
    return taken;
  };
  const again = (): void => splitBody(parent, live, (settlement) => settlements.push(settlement));
  const leave = (): void => {
    for (const left of leaving) left();
  };
  return {
    ...{ exchanges, spawned, parts, part, claims, calls, settlements, verdicts, ready },
    ...{ takeTurns, again, underWay, leave },
  };
}

const three = [{ n: 1 }, { n: 2 }, { n: 3 }];
const accepted = { kind: 'accepted', route: 'r', event: 'e', deliveryId: 'd' } as const;

t.test('SRC-4 · each item of an array is a request of its own that knows its number', (t) => {
  const { spawned, parts, exchanges, settlements } = stage({ items: three });
  t.match(spawned, [{ id: 'k1', origin: 'part', path: '/webhooks/r' }, { id: 'k2' }, { id: 'k3' }]);
  t.match(parts, [
    { index: 0, deliveryId: 'd', scheme: 'sendgrid', signature: { digest: 'sig.0', isTimed: true } },
    { index: 1, signature: { digest: 'sig.1' } },
    { index: 2 },
  ]);
  t.match(exchanges.get('k2'), { body: Buffer.from('{"n":2}'), headers: { a: 'b' } });
  t.same(settlements, []);
  t.end();
});

t.test('DIS-2 · SRC-4 · each item of an array learns that its sender has hung up', (t) => {
  const { exchanges, leave } = stage({ items: three });
  const left: string[] = [];
  for (const id of ['k1', 'k3']) exchanges.get(id)?.exchange.whenLeft?.(() => left.push(id));
  leave();
  t.same(left, ['k1', 'k3']);
  exchanges.get('k2')?.exchange.whenLeft?.(() => left.push('k2'));
  t.same(left, ['k1', 'k3', 'k2'], 'at once where it has left before');

  const long = stage({ items: three });
  const known: number[] = [];
  for (let n = 0; n < 1_000; n += 1) long.exchanges.get('k1')?.exchange.whenLeft?.(() => known.push(n));
  long.leave();
  t.ok(known.length < 1_000, 'a long array delays no other request');
  long.takeTurns();
  t.equal(known.length, 1_000);
  t.end();
});

t.test('SRC-4 · an item may be of any depth, also one that is visited in a later turn', (t) => {
  const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
  const items = [JSON.parse(deep), ...Array.from({ length: 40 }, () => ({})), JSON.parse(deep)] as JsonObject[];
  const { exchanges, spawned, takeTurns } = stage({ items });
  takeTurns();
  for (const key of ['k1', 'k42']) t.ok(exchanges.get(key)?.body.toString() === deep, key);
  t.equal(spawned.length, items.length);
  t.end();
});

t.test('SUB-4 · SRC-4 · each item of an array that is only checked, or handed in, is that too', (t) => {
  const { exchanges } = stage({ items: three, checksOnly: true });
  for (const id of ['k1', 'k2', 'k3']) t.match(exchanges.get(id), { checksOnly: true, handedIn: 'the page' });
  t.end();
});

t.test('SRC-4 · claims wait for all events, are submitted together, and equal ids collapse', (t) => {
  const { parts, ready, calls, claims, verdicts, settlements } = stage({ items: [...three, { n: 4 }] });
  ready(2, 'a');
  ready(0, 'b');
  parts[1]?.answered({ kind: 'ignoredFilter', route: 'r' }, 'filter');
  t.same(calls, [], 'one is still to be judged');
  ready(3, 'b');

  t.same(calls, ['begin', 'claim b', 'claim a', 'end']);
  for (const { settled } of claims) settled({ kind: 'granted', opened: { kind: 'nothing' } });
  t.same(verdicts, ['b duplicate', 'b granted', 'a granted']);
  t.same(settlements, []);
  for (const index of [0, 2]) parts[index]?.answered(accepted);
  parts[3]?.answered({ kind: 'duplicate', deliveryId: 'b' });
  t.same(settlements, [{ outcome: { kind: 'split', accepted: 2, duplicate: 1, ignored: 1 }, reason: '4 events' }]);
  parts[3]?.answered({ kind: 'internal' });
  t.equal(settlements.length, 1, 'only the first answer counts');
  t.end();
});

t.test('SRC-4 · DUR-1 · where one event cannot be judged now none is claimed, and the sender tries again', (t) => {
  const { parts, ready, calls, verdicts, settlements } = stage({ items: three });
  ready(0, 'a');
  parts[1]?.answered({ kind: 'unavailable' }, 'script: could not be started');
  ready(2, 'c');

  t.same(calls, []);
  const reason = 'another event of the same body stopped it: script: could not be started';
  t.same(verdicts, [`a unavailable: ${reason}`, `c unavailable: ${reason}`]);
  for (const index of [0, 2]) parts[index]?.answered({ kind: 'unavailable' }, reason);
  t.same(settlements, [{ outcome: { kind: 'unavailable' }, reason: `event 1 of 3: ${reason}` }]);
  t.end();
});

t.test('SEC-6 · SCA-1 · on a shared journal each item is looked up before all are claimed together', async (t) => {
  const compiled = compileRoute({
    route: { ...plainRoute, allowIdenticalBodies: true },
    secret: { kind: 'shared', secret: 'secret' },
  });
  const own = { deliveryId: 'd0', route: plainRoute.name, profile: plainRoute.profile };
  const staged = async (holders: readonly (SignatureHolder | Error | undefined)[]) => {
    const lookedUp: string[] = [];
    const it = stage({
      items: three,
      signature: { digest: 'sig', isTimed: false },
      start: (input, exchanges) => {
        const ports: Partial<RequestPorts> = {
          exchanges,
          nowMs: () => 5,
          newDeliveryId: () => 'random',
          facts: {
            ...plainFacts(compiled),
            partOf: (id) => exchanges.get(id)?.part,
            parsed: (id, rule) => parsedOf(exchanges.get(id), rule),
          },
          readSignatureHolder: async (digest) => {
            lookedUp.push(digest);
            const holder = holders[lookedUp.length - 1];
            if (holder instanceof Error) throw holder;
            return holder;
          },
          traceparentOf: () => undefined,
          pools: () => ({ open() {} }) as unknown as WorkPools,
        };
        createActor(wireRequest(ports as RequestPorts), { input }).start();
      },
    });
    t.same([lookedUp, it.calls], [['sig.0', 'sig.1', 'sig.2'], []]);
    await turn();
    return it;
  };

  const found = await staged([undefined, { ...own, route: 'other' }, own]);
  t.same(found.calls, ['begin', 'claim d#1', 'claim d#3', 'end'], 'one is a request of another route');
  for (const { settled } of found.claims) settled({ kind: 'granted', opened: { kind: 'nothing' } });
  t.match(found.settlements, [{ outcome: { kind: 'split', accepted: 2, duplicate: 1, ignored: 0 } }]);

  const failed = await staged([undefined, new Error('away'), undefined]);
  t.same(failed.calls, []);
  t.match(failed.settlements, [{ outcome: { kind: 'unavailable' }, reason: /away/ }]);
});

t.test(
  'SRC-4 · an empty array is answered at once; one beyond the room, or of a gateway that stops, is put off',
  (t) => {
    t.match(stage().settlements, [{ outcome: { kind: 'split', accepted: 0, duplicate: 0, ignored: 0 } }]);
    const full = stage({ items: Array.from({ length: maxParts }, () => ({})) });
    full.again();
    t.match(full.settlements, [{ outcome: { kind: 'overloaded' } }], 'events of arrays have a limit of their own');
    const gone = stage({ items: three, isGone: true });
    t.match(gone.settlements, [{ outcome: { kind: 'draining' }, reason: /^event 1 of 3/ }]);
    t.equal(gone.exchanges.size, 0);
    t.end();
  },
);

t.test('SRC-4 · a long array is judged and answered in turns, its claims are submitted in one', (t) => {
  const max = 32;
  const items = Array.from({ length: 320 }, (_, n) => ({ n }));
  const { spawned, part, claims, calls, settlements, verdicts, ready, takeTurns, underWay } = stage({ items });
  t.equal(spawned.length, max, 'other work comes before the rest');
  t.equal(takeTurns(), 9);
  t.equal(spawned.length, 320);
  t.equal(underWay(), 320);

  for (const index of items.keys()) ready(index, `d${index}`);
  t.equal(calls.filter((call) => call === 'begin').length, 1);
  t.equal(claims.length, 320);
  for (const { settled } of claims) settled({ kind: 'granted', opened: { kind: 'nothing' } });
  t.equal(verdicts.length, max, 'nor do all their runs begin in one turn');
  t.equal(takeTurns(), 9);
  t.equal(verdicts.length, 320);
  t.equal(verdicts.at(-1), 'd319 granted');

  for (const index of items.keys()) part(index)?.answered(accepted);
  t.match(settlements, [{ outcome: { kind: 'split', accepted: 320 } }]);
  t.equal(underWay(), 0);
  t.end();
});
