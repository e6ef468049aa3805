import t from 'tap';
import type { CallOutcome } from '../../../actors/mcp/call-outcome.ts';
import { createCallQueues } from '../../../actors/mcp/call-queues.ts';
import { openRemoteSession } from '../../../actors/mcp/remote-session.ts';
import type { Listing, Session, Settle } from '../../../actors/mcp/session.ts';
import type { JournalKeeper } from '../../../actors/store/keeper.ts';
import type { Neighbours } from '../../../actors/store/postgres-neighbours.ts';
import { createPlacement, type Placement, placed } from '../../../runtime/mcp/placement.ts';
import { createRelay } from '../../../runtime/mcp/relay.ts';
import { diskFull, openTwoKeepers, turn } from '../../support/keeper.ts';

interface Gateway {
  readonly placement: Placement;
  /** A beat of everything that looks again and again. */
  readonly beat: () => void;
  readonly keeper: { isOpen: boolean; isSure: boolean; isFull: boolean };
  /** The connection of its session is lost. */
  readonly lose: () => void;
  readonly session: string;
}

/** Two gateways of one journal that ask each other. */
async function startTwo(): Promise<readonly [Gateway, Gateway]> {
  const keepers = await openTwoKeepers();
  await keepers[1].beat();
  const gateways: Gateway[] = [];
  const neighbours: Neighbours = {
    listen: async () => {},
    close: async () => {},
    all: async () =>
      gateways.map(({ session }, nth) => ({ node: `gateway-${nth}`, session, isLeader: false, silentMs: 0 })),
    ask: async (to, question) => gateways.find(({ session }) => session === to)?.placement.answer(question),
  };
  for (const inner of keepers) {
    const state = { isOpen: true, isSure: true, isFull: false };
    const beats = new Set<() => void>();
    const listeners = new Set<Parameters<JournalKeeper['heard']>[0]>();
    const keeper: JournalKeeper = {
      ...inner,
      session: () => (state.isOpen ? inner.session() : undefined),
      isSure: () => state.isSure,
      heard(listener) {
        listeners.add(listener);
        const stop = inner.heard(listener);
        return () => listeners.delete(listener) && stop();
      },
      commit: async (writes) => (state.isFull ? { kind: 'unavailable', fault: diskFull } : inner.commit(writes)),
    };
    gateways.push({
      placement: createPlacement({
        keeper,
        neighbours: async () => neighbours,
        every: (callback, waitMs) => {
          if (waitMs % 1_000 !== 0) throw new Error(`there is no beat of ${waitMs} ms`);
          beats.add(callback);
          return () => beats.delete(callback);
        },
      }),
      beat: () => [...beats].map((each) => each()),
      keeper: state,
      lose() {
        state.isSure = false;
        for (const heard of listeners) heard('lost');
      },
      session: inner.session() ?? '',
    });
  }
  const [one, other] = gateways;
  if (one === undefined || other === undefined) throw new Error('two keepers make two gateways');
  return [one, other];
}

const { signal } = new AbortController();
const never = (): void => {
  throw new Error('the lock is lost');
};

async function here({ placement }: Gateway, lost = never): Promise<() => void> {
  const place = await placement.seek('default', 's', { lost, signal });
  if (place.kind !== 'here') throw new Error(`it is at ${place.node}`);
  return place.leave;
}

async function there({ placement }: Gateway) {
  const place = await placement.seek('default', 's', { lost: never, signal });
  if (place.kind !== 'there') throw new Error('it is here');
  return place;
}

t.test('SCA-1 · a server is at one gateway, and goes to the next that wants it when it is released', async (t) => {
  const [one, other] = await startTwo();
  const leave = await here(one);
  t.equal((await there(other)).node, 'gateway-0');
  t.equal(
    (await other.placement.seek('work', 's', { lost: never, signal })).kind,
    'here',
    'another profile has another server',
  );
  const leaveAgain = await here(one);
  leave();
  leave();
  await turn();
  t.equal((await there(other)).node, 'gateway-0', 'an earlier session that ends late takes nothing from its follower');
  leaveAgain();
  const late = await here(one);
  await turn();
  t.equal((await there(other)).node, 'gateway-0', 'what is wanted again at once stays');
  late();
  await turn();
  await here(other);
  t.equal((await there(one)).node, 'gateway-1');
});

t.test('SCA-1 · LIF-1 · a server of a gateway that starts waits ten seconds for its journal', async (t) => {
  const [one] = await startTwo();
  one.keeper.isOpen = false;
  let found: string | undefined;
  const seeking = one.placement.seek('default', 's', { lost: never, signal }).then(({ kind }) => {
    found = kind;
  });
  one.beat();
  await turn();
  t.equal(found, undefined);
  one.keeper.isOpen = true;
  one.beat();
  await seeking;
  t.equal(found, 'here');

  one.keeper.isOpen = false;
  const stopped = one.placement.seek('default', 'other', { lost: never, signal: AbortSignal.abort() });
  const inVain = one.placement.seek('default', 'other', { lost: never, signal });
  one.beat();
  await t.rejects(stopped, /the journal is not open/);
  for (let seconds = 1; seconds < 10; seconds += 1) one.beat();
  await t.rejects(inVain, /the journal is not open/);
});

t.test(
  'SCA-1 · SCA-2 · a gateway that may have lost its session releases a server before another connects it',
  async (t) => {
    const [one, other] = await startTwo();
    let lost = 0;
    const leave = await here(one, () => {
      lost += 1;
      leave();
    });
    one.beat();
    t.equal(lost, 0);
    one.keeper.isSure = false;
    one.beat();
    one.beat();
    t.equal(lost, 1);
    await turn();
    await t.rejects(
      one.placement.seek('default', 's', { lost: never, signal }),
      /another gateway may have taken it/,
      'nor has it back',
    );
    one.keeper.isSure = true;
    one.beat();
    await turn();
    t.equal((await one.placement.seek('default', 's', { lost: never, signal })).kind, 'here');
    t.equal((await there(other)).node, 'gateway-0');
  },
);

t.test('SCA-1 · SCA-2 · a gateway that loses its session waits for no beat to give a server up', async (t) => {
  const [one] = await startTwo();
  // The product's own timer keeps no process alive.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const lost = new Promise((resolve) => void here(one, () => resolve('lost')).then(one.lose));
  t.equal(await lost, 'lost');
});

t.test('SCA-1 · DUR-1 · what cannot be given back is given back once the journal can be written', async (t) => {
  const [one, other] = await startTwo();
  const leave = await here(one);
  one.keeper.isFull = true;
  leave();
  await turn();
  one.beat();
  await turn();
  t.equal((await there(other)).node, 'gateway-0');
  one.keeper.isFull = false;
  one.beat();
  await turn();
  await here(other);
  one.beat();
  await turn();
  t.equal((await there(one)).node, 'gateway-1', 'once');
});

t.test('SCA-1 · a session ends before its lock is given back', async (t) => {
  const steps: string[] = [];
  const session = { close: async () => void steps.push('closed'), retire: async () => void steps.push('retired') };
  const own = placed(session as unknown as Session, () => void steps.push('left'));
  await own.close();
  await own.retire();
  t.same(steps, ['closed', 'left', 'retired', 'left']);
});

t.test(
  'SCA-1 · what a gateway asks of a server goes to the gateway that has it, and its answer comes back',
  async (t) => {
    const [one, other] = await startTwo();
    const settles: Settle[] = [];
    const seen: unknown[] = [];
    const told: unknown[] = [];
    let listing: Listing | undefined = { tools: [{ name: 'a' }], capabilities: { tools: {} } };
    const begin =
      (kind: string): Session['call'] =>
      (name, args, { traceparent }, settle) => {
        seen.push([kind, name, args, traceparent]);
        settles.push(settle);
        return () => settle({ kind: 'cancelled' });
      };
    const session = {
      era: 'legacy',
      call: begin('call'),
      callUtility: begin('utility'),
      ask: begin('offer'),
    } as Partial<Session> as Session;
    const tool = (name: string, kind: 'tool' | 'utility', annotations = {}) => ({
      server: 's',
      tool: name,
      kind,
      definition: { annotations },
    });
    const tools = [
      tool('echo', 'tool'),
      tool('slow', 'tool'),
      tool('look', 'tool', { readOnlyHint: true }),
      tool('list_resources', 'utility'),
    ];
    let settings = { parallel: true, trust: 'full' };
    const lost: unknown[] = [];
    const connection = { getSnapshot: () => ({ context: { session: 7 } }), send: (event: unknown) => told.push(event) };
    one.placement.answerBy(
      createRelay({
        sessions: {
          get: () => (listing === undefined ? undefined : session),
          lose: (key, how) => void lost.push([key, how.kind]),
        },
        registry: () => ({ listing: () => listing, all: () => tools as never }),
        settings: () => settings as never,
        connections: () => ({ get: () => connection }) as never,
        queues: createCallQueues(),
        steadyMs: () => 5,
        log: { log: () => {}, warnOnce: () => {} },
      }),
    );
    const leave = await here(one);
    const place = await there(other);
    const facts: unknown[] = [];
    const opened = await openRemoteSession(
      { ...place, settings: { connectTimeoutMs: 9, idleTimeoutMs: 0, trust: 'full' } },
      {
        closed: (why) => facts.push(why),
        expired: () => facts.push('expired'),
        listChanged: (lists) => facts.push(lists),
        logged: () => {},
      },
    );
    if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
    const remote = opened.session;
    t.same(opened.listing, listing);
    t.equal(remote.era, 'legacy');

    const outcomes: CallOutcome[] = [];
    const settle: Settle = (outcome) => outcomes.push(outcome);
    remote.call('echo', { text: 'x' }, { traceparent: 't' }, settle);
    remote.callUtility('list_resources', {}, {}, settle);
    remote.ask('resources/read', { uri: 'u' }, {}, settle);
    await turn();
    t.same(seen, [
      ['call', 'echo', { text: 'x' }, 't'],
      ['utility', 'list_resources', {}, undefined],
      ['offer', 'resources/read', { uri: 'u' }, undefined],
    ]);
    for (const [nth, one] of settles.splice(0).entries()) one({ kind: 'result', result: { nth } });
    await turn();
    t.same(
      outcomes.splice(0),
      [0, 1, 2].map((nth) => ({ kind: 'result', result: { nth } })),
    );
    t.same(told.slice(0, 1), [{ type: 'call.began', atMs: 5 }]);
    t.same(told.slice(-1), [{ type: 'call.ended', session: 7, reading: null }], 'so that it does not sleep meanwhile');

    const refused = async (name: string) => {
      remote.call(name, {}, {}, settle);
      await turn();
      return outcomes.splice(0);
    };
    t.match(await refused('hidden'), [{ kind: 'refused', message: /registers no tool "hidden"/ }], 'FLT-1');
    settings = { parallel: true, trust: 'untrusted' };
    t.match(await refused('echo'), [{ kind: 'refused', message: /trusts it less/ }], 'TRU-1: nobody was asked');
    remote.call('look', {}, {}, settle);
    await turn();
    settles.splice(0)[0]?.({ kind: 'result', result: {} });
    await turn();
    t.match(outcomes.splice(0), [{ kind: 'result' }], 'what only reads needs nobody');

    settings = { parallel: false, trust: 'full' };
    seen.length = 0;
    for (const text of ['first', 'second', 'third']) remote.call('echo', { text }, {}, settle);
    await turn();
    t.equal(seen.length, 1, 'LIF-11: one at a time, whoever calls');
    while (outcomes.length < 3) {
      settles.splice(0)[0]?.({ kind: 'result', result: {} });
      await turn();
    }
    t.equal(seen.length, 3);
    outcomes.length = 0;
    for (const [kind, how] of [
      ['expired', 'expired'],
      ['unauthorized', 'broken'],
    ] as const) {
      remote.call('echo', {}, {}, settle);
      await turn();
      settles.splice(0)[0]?.({ kind });
      await turn();
      t.match(outcomes.splice(0), [{ kind }]);
      t.same(lost.splice(0), [['s', how]], 'the connection there learns of it');
    }

    const cancel = remote.call('slow', {}, {}, settle);
    await turn();
    cancel();
    cancel();
    await turn();
    t.same(outcomes.splice(0), [{ kind: 'cancelled' }]);
    t.equal(told.length % 2, 0, 'the call there has ended too');

    other.beat();
    await turn();
    t.same(facts, [], 'nothing has changed');
    listing = { tools: [{ name: 'a' }, { name: 'b' }], capabilities: { tools: {} } };
    other.beat();
    await turn();
    t.same(facts.splice(0), [['tools']]);
    t.same(await remote.list(new AbortController().signal), listing);
    other.beat();
    await turn();
    t.same(facts, []);

    leave();
    await turn();
    remote.call('echo', {}, {}, settle);
    await turn();
    t.match(outcomes.splice(0), [{ kind: 'lost', dispatched: false, why: /gateway "gateway-0" has it no more/ }]);
    t.match(facts.splice(0), [/has it no more/], 'its connection is lost, once');
    remote.call('echo', {}, {}, settle);
    t.match(outcomes, [{ kind: 'lost', dispatched: false }]);
    other.beat();
    await turn();
    t.same(facts, []);
    await remote.close();

    await here(one);
    const again = await openRemoteSession(
      { ...(await there(other)), settings: { connectTimeoutMs: 9, idleTimeoutMs: 0, trust: 'full' } },
      { closed: () => {}, expired: () => {}, listChanged: () => {}, logged: () => {} },
    );
    if (again.kind !== 'opened') throw new Error(JSON.stringify(again));
    outcomes.length = 0;
    told.length = 0;
    again.session.call('echo', {}, {}, settle);
    await turn();
    t.match(told, [{ type: 'call.began' }]);
    await again.session.close('it was disabled');
    t.same(
      outcomes,
      [{ kind: 'lost', dispatched: true, why: 'it was disabled', closedHere: true }],
      'a call hears of it',
    );
    await turn();
    t.match(told.slice(1), [{ type: 'call.ended' }], 'LIF-3: and has ended there too');
  },
);

t.test('SCA-1 · a gateway that ends, or gives no answer, differs from a database that is away', async (t) => {
  const answers: (() => Promise<never> | null | undefined | string)[] = [];
  let look = (): void => {};
  const open = async (sleeps = false) => {
    const facts: string[] = [];
    answers.push(() => ({ era: 'legacy', listing: { tools: [], capabilities: {} }, stamp: '1' }) as never);
    const opened = await openRemoteSession(
      {
        node: 'g',
        ask: async () => (await answers.shift()?.()) as never,
        onLook: (given) => {
          look = given;
          return () => {};
        },
        settings: { connectTimeoutMs: 9, idleTimeoutMs: sleeps ? 1 : 0, trust: 'full' },
      },
      { closed: (why) => facts.push(why), expired: () => {}, listChanged: () => {}, logged: () => {} },
    );
    if (opened.kind !== 'opened') throw new Error('not opened');
    return { session: opened.session, facts };
  };
  const away = async () => {
    throw new Error('away');
  };
  const { session, facts } = await open();
  answers.push(away);
  look();
  await turn();
  t.same(facts, []);
  answers.push(away);
  const outcomes: CallOutcome[] = [];
  session.call('a', {}, {}, (outcome) => outcomes.push(outcome));
  await turn();
  t.same(outcomes, [{ kind: 'lost', dispatched: true, why: 'away' }], 'nobody knows whether it ran');
  answers.push(() => undefined);
  look();
  await turn();
  t.match(facts, [/gateway "g", which had it, gives no answer/]);

  const sleeping = await open(true);
  answers.push(() => null);
  t.equal(await sleeping.session.ping(), undefined, 'one that may sleep is not lost because it does');
  const awake = await open();
  answers.push(() => null);
  t.match(await awake.session.ping(), /has it no more/);

  for (const [answer, why] of [
    [() => undefined, /gives no answer/],
    [() => null, /not connected at gateway "g"/],
    [away, /away/],
  ] as const) {
    answers.push(answer);
    const ports = { node: 'g', ask: async () => (await answers.shift()?.()) as never, onLook: () => () => {} };
    const opened = await openRemoteSession(
      { ...ports, settings: { connectTimeoutMs: 9, idleTimeoutMs: 0, trust: 'full' } },
      { closed: () => {}, expired: () => {}, listChanged: () => {}, logged: () => {} },
    );
    t.match(opened, { kind: 'failed', failures: [{ kind: 'otherGateway', message: why }] });
  }
});
