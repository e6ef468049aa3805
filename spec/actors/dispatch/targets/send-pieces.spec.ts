import t from 'tap';
import { sendPieces } from '../../../../actors/dispatch/targets/send-pieces.ts';
import { refused, type SendOutcome } from '../../../../machines/dispatch/send-outcome.ts';

const arrived = (messageId?: string): SendOutcome =>
  messageId === undefined ? { kind: 'delivered' } : { kind: 'delivered', messageId };
const limited = (retryAfterMs: number): SendOutcome => ({ kind: 'rateLimited', retryAfterMs, reason: 'slow down' });

/** Sends three pieces to a platform that gives these answers in turn. */
async function send(
  answers: readonly SendOutcome[],
  sent?: { readonly pieces: number; readonly of: number; readonly messageId?: string },
  abortsAfter = Number.POSITIVE_INFINITY,
  stopsAt?: number,
) {
  const pieces: string[] = [];
  const pauses: number[] = [];
  const controller = new AbortController();
  const paced: string[] = [];
  const outcome = await sendPieces(
    ['a', 'b', 'c'],
    {
      sent,
      signal: controller.signal,
      pace: {
        turn: async (): Promise<undefined> => {
          paced.push(`before ${pieces.length + 1}`);
          if (stopsAt === pieces.length + 1) controller.abort();
        },
        arrived: () => {},
        limited: (forMs) => void paced.push(`limited ${forMs}`),
      },
      wait: async (ms) => {
        pauses.push(ms);
        if (pauses.length >= abortsAfter) controller.abort();
      },
    },
    async (piece, index) => {
      t.equal(piece, ['a', 'b', 'c'][index]);
      pieces.push(piece);
      return answers[pieces.length - 1] ?? arrived();
    },
  );
  return { outcome, pieces: pieces.join(''), pauses, paced };
}

t.test('DLV-4 · the pieces go one after the other, and the first one’s id is the text’s', async (t) => {
  t.same(await send([arrived('m1'), arrived('m2'), arrived('m3')]), {
    outcome: arrived('m1'),
    pieces: 'abc',
    pauses: [],
    paced: ['before 2', 'before 3'],
  });
  t.same((await send([])).outcome, arrived());
});

t.test('DLV-4 · a later try begins with the first piece that has not arrived', async (t) => {
  const again = await send([], { pieces: 2, of: 3, messageId: 'm1' });
  t.same([again.pieces, again.outcome], ['c', arrived('m1')]);
  const otherwise = await send([], { pieces: 2, of: 4 });
  t.same([otherwise.pieces, otherwise.outcome.kind], ['', 'refused'], 'a text that is cut otherwise is not mixed');
});

t.test('DLV-4 · a failure says how far the text came; before the first piece it is the platform’s own', async (t) => {
  const gone = refused('permanent', 'gone');
  t.same((await send([gone])).outcome, gone);
  const middle = await send([arrived('m1'), gone]);
  t.match(middle.outcome, { kind: 'refused', reason: 'gone', partly: { pieces: 1, of: 3, messageId: 'm1' } });
  t.equal(middle.pieces, 'ab');
});

t.test(
  'DLV-4 · a short pause is waited for in the middle of a text, a long one or one at its head is not',
  async (t) => {
    const short = await send([arrived('m1'), limited(2_000), limited(0), arrived()]);
    t.same([short.pieces, short.pauses, short.outcome.kind], ['abbbc', [2_000, 1_000], 'delivered']);
    const head = await send([limited(10)]);
    t.same([head.pieces, head.pauses, head.outcome.kind], ['a', [], 'rateLimited']);
    const exact = await send([arrived(), limited(30_000)]);
    t.same([exact.pieces, exact.pauses], ['abbc', [30_000]]);
    const long = await send([arrived(), limited(30_001)]);
    t.same([long.pieces, long.pauses, long.outcome.kind], ['ab', [], 'rateLimited']);
    const added = await send([arrived(), limited(20_000), arrived(), limited(20_000)]);
    t.same([added.pieces, added.pauses, added.outcome.kind], ['abbc', [20_000], 'rateLimited'], 'all pauses together');
    const stopped = await send([arrived(), limited(1_000)], undefined, 1);
    t.same([stopped.pieces, stopped.outcome.kind], ['ab', 'rateLimited']);
  },
);

t.test(
  'DLV-4 · each further piece has its turn by the platform’s pace, and a pause holds for the others',
  async (t) => {
    t.same((await send([], { pieces: 2, of: 3 })).paced, [], 'the first of a try has its turn already');
    const limitedOnce = await send([arrived(), limited(2_000)]);
    t.same(limitedOnce.paced, ['before 2', 'limited 2000', 'before 3', 'before 4']);
    t.same((await send([arrived(), limited(90_000)])).paced, ['before 2', 'limited 90000']);
    const stopped = await send([arrived('m1')], undefined, undefined, 2);
    t.match([stopped.pieces, stopped.outcome], ['a', { kind: 'transient', partly: { pieces: 1, of: 3 } }]);
  },
);
