import t from 'tap';
import {
  createPieceTarget,
  type Message,
  type TargetPorts,
  type Wire,
} from '../../../../actors/dispatch/targets/platform-target.ts';
import { refused, type SendOutcome, transient, type Undelivered } from '../../../../machines/dispatch/send-outcome.ts';
import { never, requestOf } from '../../../conformance/target.ts';

const settings = { enabled: true, timeoutMs: 1, options: {} };
const limited = (retryAfterMs: number): Undelivered => ({ kind: 'rateLimited', retryAfterMs, reason: 'slow down' });
const extra = { chat_id: 'c' };
const three = 'x'.repeat(100);

/** A target whose platform answers from a list, then takes everything. */
function fake(answers: readonly SendOutcome[], change: Partial<Wire> = {}, abort?: AbortController, now = () => 0) {
  const left = [...answers];
  const sent: Message[] = [];
  const waits: number[] = [];
  const ports: TargetPorts = {
    now,
    random: () => 0,
    wait: (ms) => {
      waits.push(ms);
      abort?.abort();
      return Promise.resolve();
    },
  };
  const wire: Wire = {
    name: 'fake',
    limit: { max: 40, unit: 'utf16' },
    maxPieces: 3,
    send: (message) => {
      sent.push(message);
      return Promise.resolve(left.shift() ?? { kind: 'delivered', messageId: `m${sent.length}` });
    },
    verify: () => Promise.resolve({ kind: 'unknown', reason: 'lost' }),
    ...change,
  };
  return { target: createPieceTarget(wire, settings, ports), sent, waits };
}

const ok: SendOutcome = { kind: 'delivered', messageId: 'm1' };

t.test('DLV-4 · pauses between pieces are taken as long as they come to half a minute together', async (t) => {
  const short = fake([ok, limited(10_000), limited(0), ok, limited(15_000)]);
  t.match(await short.target.deliver(requestOf(three, extra), never), { kind: 'delivered', messageId: 'm1' });
  t.same(short.waits, [10_000, 1_000, 15_000]);

  const long = fake([ok, limited(20_000), ok, limited(20_000)]);
  t.match(await long.target.deliver(requestOf(three, extra), never), {
    kind: 'rateLimited',
    retryAfterMs: 20_000,
    partly: { pieces: 2, of: 3, messageId: 'm1' },
    reason: 'fake: slow down (piece 3 of 3; those before were delivered, the first as m1)',
  });

  const endless = fake([ok, ...Array.from({ length: 99 }, () => limited(0))]);
  t.match(await endless.target.deliver(requestOf(three, extra), never), { kind: 'rateLimited', partly: { pieces: 1 } });
  t.equal(endless.waits.length, 30);
});

t.test('DUR-1 · a delivery that is stopped in a pause ends there', async (t) => {
  const stop = new AbortController();
  const { target, sent } = fake([ok, limited(5_000)], {}, stop);

  t.match(await target.deliver(requestOf(three, extra), stop.signal), {
    kind: 'rateLimited',
    partly: { pieces: 1, of: 3 },
  });
  t.equal(sent.length, 2);
});

t.test('DLV-2 · DUR-1 · what has begun to arrive goes on at its place, unless it names one of its own', async (t) => {
  const { target, sent } = fake([]);
  for (const own of [{}, extra]) await target.deliver({ ...requestOf('x', own), begunAt: 'earlier' }, never);
  t.same(
    sent.map(({ chat }) => chat),
    ['earlier', 'c'],
  );
});

t.test('IDM-1 · every piece has a key of its own, the same each time', async (t) => {
  const one = fake([]);
  await one.target.deliver(requestOf(three, extra), never);
  await one.target.deliver(requestOf(three, extra), never);
  await one.target.deliver(requestOf(three, { chat_id: 'd' }), never);
  await one.target.deliver(requestOf(three, extra, 'other'), never);
  const keys = one.sent.map(({ key }) => key);

  t.same(keys.slice(0, 3), keys.slice(3, 6));
  t.equal(new Set(keys).size, 9);
  t.ok(keys.every((key) => /^[\w-]{32}$/.test(key)));
});

t.test('IDM-1 · an id that is accepted again after its hour makes another message of the same text', async (t) => {
  const { target, sent } = fake([]);
  for (const queuedAtMs of [7_200_000, 7_200_001, 10_800_001])
    await target.deliver({ ...requestOf('hello', extra), queuedAtMs }, never);
  const [first, soon, later] = sent.map(({ key }) => key);

  t.equal(soon, first);
  t.not(later, first);
});

t.test(
  'DLV-4 · a delivery that is tried again goes on after the pieces that arrived, and sends none of them twice',
  async (t) => {
    const { target, sent } = fake([ok, limited(60_000)]);
    const first = await target.deliver(requestOf(three, extra), never);
    t.match(first, { kind: 'rateLimited', partly: { pieces: 1, of: 3, messageId: 'm1' } });
    if (first.kind !== 'rateLimited' || first.partly === undefined) return;

    t.match(await target.deliver({ ...requestOf(three, extra), sent: first.partly }, never), {
      kind: 'delivered',
      messageId: 'm1',
    });

    t.same(
      sent.map(({ index }) => index),
      [0, 1, 1, 2],
    );
    t.equal(sent.map(({ text }) => text).join('').length, 40 + 40 + 40 + 20);
    t.match(await target.deliver({ ...requestOf('short', extra), sent: first.partly }, never), {
      kind: 'refused',
      reason: /is cut otherwise/,
    });
  },
);

t.test('DUR-1 · only a platform that knows a message again is asked once more', async (t) => {
  const lost: SendOutcome = { kind: 'unknown', reason: 'lost' };
  for (const [change, sent, outcome] of [
    [{}, 1, { kind: 'unknown' }],
    [{ deduplicatesForMs: 1_000 }, 2, { kind: 'delivered' }],
    [{ deduplicatesForMs: 1_000, knowsAgain: () => false }, 1, { kind: 'unknown' }],
  ] as const) {
    const one = fake([lost], change);
    t.match(await one.target.deliver(requestOf('hello', extra), never), outcome);
    t.equal(one.sent.length, sent);
  }
});

t.test('DUR-1 · the answer to the second request removes no doubt about the first', async (t) => {
  const lost: SendOutcome = { kind: 'unknown', reason: 'lost' };
  const no = refused('forbidden', 'no');
  for (const again of [no, transient('away'), limited(5_000)]) {
    const { target, sent } = fake([lost, again], { deduplicatesForMs: 60_000 });
    t.match(await target.deliver(requestOf('hello', extra), never), {
      ...again,
      unsure: true,
      reason: `fake: ${again.reason}; an earlier request got no answer and may have arrived`,
    });
    t.equal(sent.length, 2);
  }
  t.notOk(
    'unsure' in (await fake([no], { deduplicatesForMs: 60_000 }).target.deliver(requestOf('hello', extra), never)),
  );

  const middle = fake([ok, lost, limited(1_000), no], { deduplicatesForMs: 60_000 });
  t.match(await middle.target.deliver(requestOf(three, extra), never), {
    kind: 'refused',
    unsure: true,
    partly: { pieces: 1, of: 3 },
  });
});

t.test('DLV-4 · a target’s own mistake is an outcome too, and quotes nothing', async (t) => {
  const broken = fake([], {
    send: () => Promise.reject(new Error('secret')),
    verify: () => Promise.reject(new Error('secret')),
  });

  t.same(await broken.target.deliver(requestOf('hello', extra), never), {
    kind: 'unknown',
    reason: 'fake: the target’s own code failed',
  });
  t.same(await broken.target.verify(never), { kind: 'transient', reason: 'fake: the target’s own code failed' });
  t.same(await fake([]).target.verify(never), { kind: 'transient', reason: 'fake: lost' });
});

t.test('DUR-1 · a message is not sent again once a pause has outlasted the memory of the platform', async (t) => {
  let nowMs = 0;
  const lost: SendOutcome = { kind: 'unknown', reason: 'lost' };
  const { target, sent } = fake([lost], { deduplicatesForMs: 60_000 }, undefined, () => nowMs);
  const turn = async (): Promise<undefined> => {
    nowMs = 60_000;
  };
  const pace = { turn, arrived: () => {}, limited: () => {} };

  t.match(await target.deliver({ ...requestOf('hello', extra), pace }, never), { kind: 'unknown' });

  t.equal(sent.length, 1);
});

t.test('DLV-4 · a message that is asked for again waits for its turn like any other', async (t) => {
  const { target, sent } = fake([{ kind: 'unknown', reason: 'lost' }], { deduplicatesForMs: 60_000 });
  const turns: number[] = [];
  const pace = { turn: async () => void turns.push(sent.length), arrived: () => {}, limited: () => {} };

  t.match(await target.deliver({ ...requestOf('hello', extra), pace }, never), { kind: 'delivered' });

  t.same([turns, sent.length], [[1], 2]);
});

t.test('DLV-4 · a text that is far over the limit is refused by its length, and not read', async (t) => {
  const read: number[] = [];
  const inert = (text: string): string => {
    read.push(text.length);
    return text;
  };
  const { target, sent } = fake([], { inert });
  for (const [length, is] of [
    [120, 'delivered'],
    [480, 'refused'],
    [481, 'refused'],
    [9_000_000, 'refused'],
  ] as const)
    t.match(await target.deliver(requestOf('x'.repeat(length), extra), never), {
      kind: is,
      ...(is === 'refused' && {
        class: 'tooLong',
        reason: `fake: a text of ${length} characters is too long; 3 messages of 40 are sent at most`,
      }),
    });
  t.same(read, [120, 480]);
  t.equal(sent.length, 3);
});
