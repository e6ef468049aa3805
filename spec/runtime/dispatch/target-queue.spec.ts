import t from 'tap';
import { sendPieces } from '../../../actors/dispatch/targets/send-pieces.ts';
import { paceOf } from '../../../machines/dispatch/pace.ts';
import { createTargetQueue } from '../../../runtime/dispatch/target-queue.ts';
import { turnedTime } from '../../support/turned-time.ts';

/** The wall's clock stands far from the steady one, as it does. */
const wallMs = 1_700_000_000_000;

function queueOf(gapMs = 0) {
  const time = turnedTime();
  const queue = createTargetQueue(
    { concurrency: 2, gapMs, chatGapMs: 0 },
    { ...time, nowMs: () => wallMs + time.steadyMs() },
  );
  return { ...time, queue };
}

t.test('DLV-4 · a pause is shown in wall-clock time and with the platform’s reason', async (t) => {
  const { queue, turn } = queueOf();
  t.equal(queue.pauseNow(), undefined);
  let granted = false;

  queue.pauseFor(2_000, 'slow down');
  queue.ask('general', () => {
    granted = true;
  });

  t.same(queue.pauseNow(), { untilMs: wallMs + 2_000, reason: 'slow down' });
  t.equal(granted, false);
  turn();
  t.equal(granted, true);
  t.equal(queue.pauseNow(), undefined);
});

t.test('DLV-4 · what arrives ends the pause only where it was begun after the platform asked', async (t) => {
  const { queue, turn, steadyMs } = queueOf(1_000);
  queue.ask('one', () => {});
  queue.ask('two', () => {});
  turn();
  const beganMs = steadyMs();
  t.equal(beganMs, 1_000);

  queue.pauseFor(60_000, 'slow down');
  queue.arrived(beganMs);
  t.same(queue.pauseNow(), { untilMs: wallMs + beganMs + 60_000, reason: 'slow down' });

  queue.arrived(beganMs + 1);
  t.equal(queue.pauseNow(), undefined);
});

t.test('DLV-4 · each piece of a text keeps to the pace, and to a pause that one of them meets', async (t) => {
  const { queue, turn, steadyMs } = queueOf(1_000);
  queue.ask('general', () => {});
  const { turn: nextPiece, limited } = queue.pieces('general');
  const { signal } = new AbortController();

  const second = nextPiece(signal).then(() => steadyMs());
  turn();
  t.equal(await second, 1_000);

  limited(5_000);
  t.match(queue.pauseNow(), { untilMs: wallMs + 6_000, reason: /in the middle of a text/ });
  const third = nextPiece(signal).then(() => steadyMs());
  turn();
  t.equal(await third, 6_000);
});

t.test('DLV-4 · the first piece of a text that a person retries ends the pause for the others', async (t) => {
  const { queue, turn, steadyMs } = queueOf(1_000);
  queue.ask('other', () => {})();
  queue.pauseFor(3_600_000, 'slow down');
  let granted = false;
  queue.ask('general', () => {
    granted = true;
  });
  queue.probe();
  turn();
  t.equal(granted, true);

  const sentMs: number[] = [];
  const { signal } = new AbortController();
  const sending = { sent: undefined, wait: () => Promise.resolve(), signal, pace: queue.pieces('general') };
  const outcome = sendPieces(['1', '2'], sending, async () => {
    sentMs.push(steadyMs());
    return { kind: 'delivered' };
  });
  for (let steps = 0; steps < 50; steps += 1) await Promise.resolve();
  turn();

  t.match(await outcome, { kind: 'delivered' });
  t.same(sentMs, [1_000, 2_000]);
});

t.test('DLV-4 · a text does not wait in its middle for a long pause that another one meets', async (t) => {
  const { queue, turn } = queueOf(1_000);
  queue.ask('general', () => {});
  const { signal } = new AbortController();
  const sending = { sent: undefined, wait: () => Promise.resolve(), signal, pace: queue.pieces('general') };
  let ended: unknown;
  void sendPieces(['1', '2', '3'], sending, async () => ({ kind: 'delivered', messageId: 'm1' })).then((outcome) => {
    ended = outcome;
  });
  const settle = async (): Promise<void> => {
    for (let steps = 0; steps < 50; steps += 1) await Promise.resolve();
  };

  await settle();
  queue.pauseFor(30_000, 'slow down');
  turn();
  turn();
  await settle();
  t.equal(ended, undefined, 'a short one is waited for');
  queue.pauseFor(3_600_000, 'slow down');
  await settle();

  t.match(ended, { kind: 'rateLimited', retryAfterMs: 3_600_000, ofChat: true, partly: { pieces: 2, of: 3 } });
});

t.test('DLV-4 · a piece of a dropped text does not wait, and takes no other’s turn', async (t) => {
  const { queue, turn } = queueOf(1_000);
  const leave = queue.ask('general', () => {});
  const { turn: nextPiece } = queue.pieces('general');

  const given = new AbortController();
  const piece = nextPiece(given.signal);
  given.abort();
  await piece;
  await nextPiece(AbortSignal.abort());

  leave();
  let granted = false;
  queue.ask('general', () => {
    granted = true;
  });
  turn();
  t.equal(granted, true);
});

t.test('DLV-4 · long texts beside each other keep to a platform’s bound by their messages', async (t) => {
  for (const [target, perMinute, chats] of [
    ['dingtalk', 20, 9],
    ['wecom', 30, 1],
    ['slack', 60, 1],
  ] as const) {
    const time = turnedTime();
    const queue = createTargetQueue(paceOf(target, {}), { ...time, nowMs: time.steadyMs });
    const sentMs: number[] = [];
    const { signal } = new AbortController();
    const pieces = ['1', '2', '3', '4', '5'];
    const texts = Array.from({ length: 9 }, async (_, number) => {
      const chat = `chat ${number % chats}`;
      let leave = (): void => {};
      await new Promise<void>((granted) => {
        leave = queue.ask(chat, granted);
      });
      const wait = () => Promise.resolve();
      const outcome = await sendPieces(
        pieces,
        { sent: undefined, wait, signal, pace: queue.pieces(chat) },
        async () => {
          sentMs.push(time.steadyMs());
          return { kind: 'delivered' };
        },
      );
      t.equal(outcome.kind, 'delivered');
      leave();
    });
    const all = Promise.all(texts);
    while (sentMs.length < 45) {
      for (let steps = 0; steps < 50; steps += 1) await Promise.resolve();
      if (sentMs.length < 45) t.ok(time.turn(), 'time passes for what waits');
    }
    await all;

    const inMinute = sentMs.map((fromMs) => sentMs.filter((ms) => ms >= fromMs && ms < fromMs + 60_000).length);
    t.ok(Math.max(...inMinute) <= perMinute, `${target}: ${Math.max(...inMinute)} in the fullest minute`);
  }
});
