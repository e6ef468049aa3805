import t from 'tap';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import {
  type CloseInput,
  type ConnectInput,
  type ConnectionContext,
  type ConnectionEvent,
  type ConnectionInput,
  type ConnectVerdict,
  serverConnectionMachine,
} from '../../../machines/mcp/server-connection.machine.ts';
import { plainConnection as input } from '../../support/records.ts';
import { turn } from '../../support/turns.ts';

const well: ConnectVerdict = { kind: 'connected', era: 'legacy', tools: 2 };
const busy = (chance: number): ConnectVerdict => ({ kind: 'refused', after: 'retry', why: 'busy', chance });

interface Watched {
  readonly clock: SimulatedClock;
  /** What the effects were asked, in order. */
  readonly told: string[];
  send(event: ConnectionEvent): void;
  state(): string;
  context(): ConnectionContext;
  /** Advances the clock, and lets promises settle. */
  pass(ms: number): Promise<void>;
}

/** A connection whose attempts end as told, the last verdict for ever. */
async function connection(given: Partial<ConnectionInput>, ...verdicts: ConnectVerdict[]): Promise<Watched> {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const machine = serverConnectionMachine.provide({
    actors: {
      connectServer: fromPromise<ConnectVerdict, ConnectInput>(() => {
        told.push('connect');
        const [verdict = well, ...more] = verdicts;
        if (more.length > 0) verdicts = more;
        return Promise.resolve(verdict);
      }),
      closeSession: fromPromise<undefined, CloseInput>(() => {
        told.push('close');
        return Promise.resolve(undefined);
      }),
    },
    actions: {
      ping: () => void told.push('ping'),
      reportReached: () => void told.push('reached'),
      reportUnreachable: () => void told.push('unreachable'),
    },
  });
  const actor = createActor(compile(machine), { input: { ...input, ...given }, clock });
  const snapshot = () => actor.getSnapshot() as unknown as { value: string; context: ConnectionContext };
  actor.start();
  await turn();
  return {
    clock,
    told,
    send: (event) => actor.send(event),
    state: () => snapshot().value,
    context: () => snapshot().context,
    async pass(ms) {
      clock.increment(ms);
      await turn();
    },
  };
}

t.test('LIF-4 · a quiet connection is pinged each interval, and not while a call is in flight', async (t) => {
  const server = await connection({ keepaliveMs: 5_000 });
  const pings = () => server.told.filter((word) => word === 'ping').length;

  await server.pass(4_999);
  t.equal(pings(), 0);
  await server.pass(1);
  t.equal(pings(), 1);
  server.send({ type: 'call.began', atMs: 0 });
  await server.pass(10_000);
  t.equal(pings(), 1, 'a call in flight is proof enough');
  server.send({ type: 'call.ended', session: server.context().session, reading: null });
  await server.pass(5_000);
  t.equal(pings(), 2);
  server.send({ type: 'session.closed', session: 1, why: 'no answer to a liveness ping', chance: 0.5 });
  await server.pass(0);
  t.equal(server.state(), 'backingOff', 'a ping without an answer reconnects');
  await server.pass(1_000);
  t.equal(server.state(), 'connected');
});

t.test('LIF-4 · LIF-5 · without intervals and limits nothing is due, for weeks', async (t) => {
  const server = await connection({});
  await server.pass(20 * 86_400_000);
  t.same([server.state(), server.told], ['connected', ['connect', 'reached']]);
});

t.test('LIF-5 · an idle server is put to sleep, a call starts the time anew, and wakes it', async (t) => {
  const server = await connection({ idleTimeoutMs: 60_000 });

  await server.pass(59_999);
  server.send({ type: 'call.began', atMs: 0 });
  await server.pass(100_000);
  t.equal(server.state(), 'connected', 'not while a call is in flight');
  server.send({ type: 'call.ended', session: server.context().session, reading: null });
  await server.pass(59_999);
  t.equal(server.state(), 'connected');
  await server.pass(1);
  t.equal(server.state(), 'lazy');
  t.equal(server.context().tools, 2, 'its tools stay');
  server.send({ type: 'server.wake' });
  await server.pass(0);
  t.equal(server.state(), 'connected');
  t.same(server.told, ['connect', 'reached', 'close', 'connect', 'reached']);
});

t.test('LIF-5 · two calls at once: the time runs from the end of the last', async (t) => {
  const server = await connection({ idleTimeoutMs: 1_000 });
  server.send({ type: 'call.began', atMs: 0 });
  server.send({ type: 'call.began', atMs: 0 });
  server.send({ type: 'call.ended', session: server.context().session, reading: null });
  await server.pass(5_000);
  t.equal(server.state(), 'connected');
  server.send({ type: 'call.ended', session: server.context().session, reading: null });
  await server.pass(1_000);
  t.equal(server.state(), 'lazy');
});

t.test(
  'LIF-5 · an old server is recycled when its time is over, or after the call that is in flight then',
  async (t) => {
    const quiet = await connection({ maxLifetimeMs: 600_000 });
    await quiet.pass(600_000);
    t.equal(quiet.state(), 'lazy');

    const used = await connection({ maxLifetimeMs: 600_000 });
    used.send({ type: 'call.began', atMs: 0 });
    await used.pass(600_000);
    t.equal(used.state(), 'connected');
    used.send({ type: 'call.ended', session: 1, reading: null });
    await used.pass(0);
    t.equal(used.state(), 'lazy');
    used.send({ type: 'server.wake' });
    await used.pass(0);
    await used.pass(599_999);
    t.equal(used.state(), 'connected', 'the new session has a lifetime of its own');
  },
);

t.test('LIF-4 · LIF-5 · LIF-7 · what was due for an old session is not due for the new one', async (t) => {
  const server = await connection({ keepaliveMs: 10_000, idleTimeoutMs: 60_000, maxLifetimeMs: 60_000 });
  const pings = () => server.told.filter((word) => word === 'ping').length;

  await server.pass(9_000);
  server.send({ type: 'session.closed', session: 1, why: 'its command ended', chance: 0 });
  await server.pass(0);
  t.same([server.state(), pings()], ['connected', 0]);
  await server.pass(9_999);
  t.equal(pings(), 0, 'the interval began anew');
  await server.pass(1);
  t.equal(pings(), 1);
  await server.pass(11_001);
  t.equal(server.context().failures, 1, 'half a minute since the first session gives nothing back');
  await server.pass(38_998);
  t.equal(server.state(), 'connected', 'more than a minute since the first session');
  await server.pass(1);
  t.equal(server.state(), 'lazy');
});

t.test('LIF-4 · LIF-5 · a call that an old session brings to its end does not count for the new one', async (t) => {
  const server = await connection({ keepaliveMs: 5_000, idleTimeoutMs: 5_000, maxLifetimeMs: 5_000 });
  server.send({ type: 'call.began', atMs: 0 });
  server.send({ type: 'session.expired', session: 1 });
  await server.pass(0);
  server.send({ type: 'call.began', atMs: 0 });
  server.send({ type: 'call.ended', session: 1, reading: { kind: 'answered' } });
  t.equal(server.context().inFlight, 1);
  await server.pass(20_000);
  t.same([server.state(), server.told.includes('ping')], ['connected', false], 'its own call is in flight');
  server.send({ type: 'call.ended', session: 2, reading: null });
  await server.pass(0);
  t.equal(server.state(), 'lazy', 'its lifetime was over meanwhile');
});

t.test('LIF-7 · waits grow with each failure, are spread by chance, and the budget ends in parked', async (t) => {
  const server = await connection({}, busy(0.5));
  const waits: number[] = [];
  while (server.state() === 'backingOff') {
    const wait = server.context().retryMs;
    waits.push(wait);
    await server.pass(wait - 1);
    t.equal(server.state(), 'backingOff');
    await server.pass(1);
  }
  t.same(waits, [500, 1_000, 2_000, 4_000]);
  t.equal(server.state(), 'parked');
  t.equal(server.told.filter((word) => word === 'connect').length, 5);
  t.equal(server.context().why, 'busy');
});

t.test('LIF-7 · a parked server is tried every five minutes, and a call is one attempt at once', async (t) => {
  const server = await connection({}, busy(0), busy(0), busy(0), busy(0), busy(0), busy(0), busy(0), well);
  while (server.state() === 'backingOff') await server.pass(0);
  const attempts = () => server.told.filter((word) => word === 'connect').length;
  t.same([server.state(), attempts()], ['parked', 5]);

  await server.pass(299_999);
  t.equal(attempts(), 5);
  await server.pass(1);
  t.same([server.state(), attempts()], ['parked', 6]);
  server.send({ type: 'server.wake' });
  await server.pass(0);
  t.same([server.state(), attempts()], ['parked', 7], 'one attempt for the call');
  await server.pass(300_000);
  t.same([server.state(), attempts()], ['connected', 8]);
});

t.test('LIF-7 · a call does not wait for the backoff', async (t) => {
  const server = await connection({}, busy(0.99), well);
  t.equal(server.state(), 'backingOff');
  server.send({ type: 'server.wake' });
  await server.pass(0);
  t.equal(server.state(), 'connected');
});

t.test('LIF-7 · a session that holds for half a minute gives the whole budget back', async (t) => {
  const server = await connection({}, busy(0), busy(0), busy(0), well);
  while (server.state() === 'backingOff') await server.pass(0);
  t.same([server.state(), server.context().failures], ['connected', 3]);
  await server.pass(29_999);
  t.equal(server.context().failures, 3);
  await server.pass(1);
  t.equal(server.context().failures, 0);
});

t.test('LIF-7 · a server that comes and goes uses its budget up all the same', async (t) => {
  const server = await connection({}, well);
  for (let session = 1; session < 5; session += 1) {
    t.equal(server.state(), 'connected');
    await server.pass(1_000);
    server.send({ type: 'session.closed', session, why: 'its command ended', chance: 0 });
    await server.pass(0);
  }
  server.send({ type: 'session.closed', session: 5, why: 'its command ended', chance: 0 });
  t.equal(server.state(), 'parked');
});

t.test('LIF-7 · OAU-8 · what needs a person is not tried again by time or by calls', async (t) => {
  for (const after of ['failed', 'needsLogin'] as const) {
    const server = await connection({}, { kind: 'refused', after, why: 'HTTP 403', chance: 0 }, well);
    await server.pass(86_400_000);
    server.send({ type: 'server.wake' });
    await server.pass(0);
    t.equal(server.state(), after);
    t.same(server.told, ['connect', 'unreachable', 'unreachable'], 'the call hears it at once');
    server.send({ type: 'server.connect' });
    await server.pass(0);
    t.equal(server.state(), 'connected', 'a person may try');
  }
});

t.test('OAU-8 · where the refusal of a token may pass, it is tried from time to time, and not by calls', async (t) => {
  const refusal = { kind: 'refused', after: 'needsLogin', why: 'it refuses its token', chance: 0 } as const;
  const server = await connection({}, { ...refusal, waitMs: 300_000 }, refusal, well);
  await server.pass(299_999);
  server.send({ type: 'server.wake' });
  await server.pass(0);
  t.same([server.state(), server.told], ['needsLogin', ['connect', 'unreachable', 'unreachable']]);
  await server.pass(1);
  t.same([server.state(), server.told.at(-2)], ['needsLogin', 'connect'], 'and then refused for good');
  await server.pass(86_400_000);
  t.equal(server.state(), 'needsLogin');
});

t.test(
  'LIF-7 · a permanent error after a session parks the server: a slow probe, and an attempt for each call',
  async (t) => {
    const gone: ConnectVerdict = { kind: 'refused', after: 'parked', why: 'HTTP 404', chance: 0 };
    const attempts = (server: Watched) => server.told.filter((word) => word === 'connect').length;
    for (const begin of ['connecting', 'lazy'] as const) {
      const server = await connection({ begin }, ...(begin === 'lazy' ? [] : [well]), gone, gone, well);
      if (begin === 'connecting') server.send({ type: 'session.expired', session: 1 });
      else server.send({ type: 'server.wake' });
      await server.pass(0);
      const first = attempts(server);
      t.same([server.state(), server.context().why, server.context().failures], ['parked', 'HTTP 404', 0], begin);
      server.send({ type: 'server.wake' });
      await server.pass(0);
      t.same([server.state(), attempts(server)], ['parked', first + 1], 'one attempt for the call');
      await server.pass(300_000);
      t.equal(server.state(), 'connected', 'the probe finds it again');
    }
  },
);

t.test('LIF-1 · LIF-9 · a stop closes the session and ends, whatever was due', async (t) => {
  const server = await connection({ keepaliveMs: 5_000, idleTimeoutMs: 5_000, maxLifetimeMs: 5_000 });
  server.send({ type: 'server.stop', why: 'the gateway stops' });
  await server.pass(0);
  t.equal(server.state(), 'stopped');
  await server.pass(10_000);
  t.same(server.told, ['connect', 'reached', 'close']);
});

t.test(
  'LIF-7 · a call that loses a session which has answered others never parks a server; one that answers nothing does',
  async (t) => {
    const mute = await connection({}, well);
    for (let failures = 1; failures <= 5; failures += 1) {
      mute.send({ type: 'call.began', atMs: 0 });
      mute.send({ type: 'session.closed', session: mute.context().session, why: 'it died', chance: 0.5 });
      t.same([mute.state(), mute.context().failures], [failures === 5 ? 'parked' : 'backingOff', failures]);
      mute.send({ type: 'server.wake' });
      await turn();
    }

    const server = await connection({}, well);
    for (let round = 0; round < 8; round += 1) {
      server.send({ type: 'call.began', atMs: 0 });
      server.send({ type: 'call.ended', session: server.context().session, reading: { kind: 'answered' } });
      server.send({ type: 'call.began', atMs: 0 });
      server.send({ type: 'session.closed', session: server.context().session, why: 'it died', chance: 0.5 });
      t.same([server.state(), server.context().failures, server.context().retryMs], ['backingOff', 0, 500]);
      server.send({ type: 'server.wake' });
      await turn();
      t.equal(server.state(), 'connected');
    }
  },
);

t.test('LIF-7 · what a session answered speaks for no later one, and only a call loses it for nothing', async (t) => {
  const server = await connection({}, well);
  const answer = (): void => {
    server.send({ type: 'call.began', atMs: 0 });
    server.send({ type: 'call.ended', session: server.context().session, reading: { kind: 'answered' } });
  };
  const lose = async (): Promise<void> => {
    server.send({ type: 'session.closed', session: server.context().session, why: 'it died', chance: 0 });
    server.send({ type: 'server.wake' });
    await turn();
  };
  answer();
  await lose();
  t.equal(server.context().failures, 1, 'no call was under way');
  answer();
  server.send({ type: 'call.began', atMs: 0 });
  await lose();
  t.equal(server.context().failures, 1, 'a call lost what had answered others');
  server.send({ type: 'call.began', atMs: 0 });
  await lose();
  t.equal(server.context().failures, 2, 'the new session had answered nothing');
});

t.test('LIF-7 · a person who reloads a server while its session is closed gives all attempts back', async (t) => {
  const server = await connection({}, busy(0), busy(0), well);
  while (server.state() === 'backingOff') await server.pass(0);
  server.send({ type: 'credentials.changed' });
  t.same([server.state(), server.context().failures], ['recycling', 2]);
  server.send({ type: 'server.connect' });
  await turn();
  t.same([server.state(), server.context().failures], ['connected', 0]);
});

t.test(
  'LIF-8 · LIF-12 · a person who connects a server closes its breaker and has its failures forgotten',
  async (t) => {
    const open = { kind: 'open', untilMs: 90_000 } as const;
    const trip = async (): Promise<Watched> => {
      const server = await connection({ breakerLimits: { failures: 1, resetMs: 90_000 } }, well, busy(0), well);
      server.send({ type: 'call.began', atMs: 0 });
      const reading = { kind: 'transportFailed', nowMs: 0 } as const;
      server.send({ type: 'call.ended', session: server.context().session, reading });
      t.same(server.context().breaker, open);
      return server;
    };
    const connected = await trip();
    connected.send({ type: 'server.connect' });
    t.same([connected.state(), connected.context().breaker.kind], ['recycling', 'closed']);
    t.equal(connected.context().closing, 'it was reloaded', 'the calls under way hear why');
    connected.send({ type: 'call.ended', session: connected.context().session, reading: null });
    t.equal(connected.context().breaker.kind, 'closed', 'what the reload cut off says nothing of the server');

    const away = await trip();
    away.send({ type: 'session.closed', session: away.context().session, why: 'gone', chance: 0 });
    away.send({ type: 'server.wake' });
    await turn();
    t.same([away.state(), away.context().failures, away.context().breaker], ['backingOff', 2, open]);
    away.send({ type: 'server.connect' });
    t.same([away.state(), away.context().failures, away.context().breaker.kind], ['connecting', 0, 'closed']);
  },
);
