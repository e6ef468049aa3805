import fc from 'fast-check';
import t from 'tap';
import { createLane, type Lane } from '../../../actors/dispatch/lanes.ts';
import type { Pace } from '../../../machines/dispatch/pace.ts';

/** A lane in a time that the spec turns. */
function laneOf(pace: Partial<Pace>) {
  let now = 0;
  let waking: { callback: () => void; atMs: number } | undefined;
  const lane = createLane(
    { concurrency: 2, gapMs: 0, chatGapMs: 0, ...pace },
    {
      nowMs: () => now,
      wake: (callback, waitMs) => {
        const mine = { callback, atMs: now + waitMs };
        waking = mine;
        return () => {
          if (waking === mine) waking = undefined;
        };
      },
    },
  );
  const granted: string[] = [];
  const leave = new Map<string, () => void>();
  return {
    lane,
    granted,
    ask(name: string, chat = name) {
      leave.set(
        name,
        lane.ask(chat, () => void granted.push(name)),
      );
    },
    leave: (name: string) => leave.get(name)?.(),
    /** To the next wake-up, if there is one. */
    turn(): boolean {
      const due = waking;
      if (due === undefined) return false;
      waking = undefined;
      now = due.atMs;
      due.callback();
      return true;
    },
    now: () => now,
  };
}

const load = (lane: Lane) => Object.values(lane.load());

t.test('DLV-4 · so many go at the same time, one of a chat, in the order that they came', (t) => {
  const it = laneOf({});
  it.ask('a1', 'a');
  it.ask('a2', 'a');
  it.ask('b1', 'b');
  it.ask('c1', 'c');
  t.same(it.granted, ['a1', 'b1']);
  it.leave('b1');
  t.same(it.granted, ['a1', 'b1', 'c1']);
  it.leave('a1');
  it.leave('a1');
  t.same(it.granted, ['a1', 'b1', 'c1', 'a2']);
  t.same(load(it.lane), [2, 0]);
  it.ask('d', 'd');
  it.leave('d');
  it.leave('c1');
  t.same(load(it.lane), [1, 0], 'one that was withdrawn is never granted');
  t.end();
});

t.test('DLV-4 · gaps are kept, to the platform and to a chat', (t) => {
  const it = laneOf({ concurrency: 9, gapMs: 100, chatGapMs: 1_000 });
  for (const name of ['a1', 'a2']) it.ask(name, 'a');
  it.ask('b1', 'b');
  t.same(it.granted, ['a1']);
  it.leave('a1');
  t.same(it.granted, ['a1']);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [100, ['a1', 'b1']]);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [1_000, ['a1', 'b1', 'a2']]);
  t.notOk(it.turn(), 'nothing is left to wake for');
  t.end();
});

t.test('DLV-4 · while a platform asks for a pause nobody goes', (t) => {
  const it = laneOf({});
  it.lane.pause(5_000);
  it.ask('a');
  it.ask('b');
  t.same(it.granted, []);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [5_000, ['a', 'b']]);
  it.lane.clear();
  it.leave('a');
  it.ask('c');
  t.same([it.granted, ...load(it.lane)], [['a', 'b', 'c'], 1, 0], 'what was given out before counts no more');
  t.end();
});

t.test('DLV-4 · whatever the pace, everyone has a turn, and none is too early', (t) => {
  const pace = fc.record({
    concurrency: fc.integer({ min: 1, max: 3 }),
    gapMs: fc.constantFrom(0, 10, 100),
    chatGapMs: fc.constantFrom(0, 50, 1_000),
  });
  fc.assert(
    fc.property(pace, fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 30 }), (paced, chats) => {
      const it = laneOf(paced);
      const begun: { chat: string; atMs: number }[] = [];
      const last = new Map<string, number>();
      let running = 0;
      for (const [index, chat] of chats.entries()) it.ask(`${chat}${index}`, chat);
      for (let seen = 0; seen < chats.length; ) {
        if (seen === it.granted.length && !it.turn()) return false;
        for (const name of it.granted.slice(seen)) {
          const index = Number(name.slice(1));
          const chat = name.charAt(0);
          if (index < (last.get(chat) ?? -1)) return false;
          last.set(chat, index);
          begun.push({ chat, atMs: it.now() });
          running += 1;
          if (running > paced.concurrency) return false;
        }
        const fresh = it.granted.slice(seen);
        seen = it.granted.length;
        for (const name of fresh) {
          running -= 1;
          it.leave(name);
        }
      }
      return begun.every(({ chat, atMs }, index) => {
        const before = begun.slice(0, index);
        const sameChat = before.filter((one) => one.chat === chat).at(-1);
        const gap = atMs - (before.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY);
        return gap >= paced.gapMs && atMs - (sameChat?.atMs ?? Number.NEGATIVE_INFINITY) >= paced.chatGapMs;
      });
    }),
  );
  t.end();
});
