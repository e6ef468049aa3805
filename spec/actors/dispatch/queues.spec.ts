import t from 'tap';
import { createQueue, type Queue } from '../../../actors/dispatch/queues.ts';
import type { Pace } from '../../../machines/dispatch/pace.ts';
import { isLinear } from '../../support/linear.ts';
import { fc } from '../../support/property.ts';
import { turnedTime } from '../../support/turned-time.ts';

/** A queue in a time that the spec turns. */
function queueOf(pace: Partial<Pace>) {
  const time = turnedTime();
  const queue = createQueue({ concurrency: 2, gapMs: 0, chatGapMs: 0, ...pace }, time);
  const granted: string[] = [];
  const leave = new Map<string, () => void>();
  return {
    queue,
    granted,
    ask(name: string, chat = name, isWaitedFor = false) {
      leave.set(
        name,
        queue.ask(chat, () => void granted.push(name), { name, isWaitedFor }),
      );
    },
    next: (name: string, chat = name) => queue.next(chat, () => void granted.push(name)),
    leave: (name: string) => leave.get(name)?.(),
    turn: time.turn,
    now: time.steadyMs,
  };
}

const load = (queue: Queue) => Object.values(queue.load());

t.test('DLV-4 · so many go at the same time, one of a chat, in the order that they came', (t) => {
  const it = queueOf({});
  it.ask('a1', 'a');
  it.ask('a2', 'a');
  it.ask('b1', 'b');
  it.ask('c1', 'c');
  t.same(
    [it.granted, load(it.queue)],
    [
      ['a1', 'b1'],
      [2, 2],
    ],
  );
  it.leave('b1');
  t.same(it.granted, ['a1', 'b1', 'c1']);
  it.leave('a1');
  it.leave('a1');
  t.same(it.granted, ['a1', 'b1', 'c1', 'a2']);
  t.same(load(it.queue), [2, 0]);
  it.ask('d', 'd');
  it.leave('d');
  it.leave('c1');
  t.same(load(it.queue), [1, 0], 'one that was withdrawn is never granted');
  t.end();
});

t.test('DLV-4 · gaps are kept, to the platform and to a chat', (t) => {
  const it = queueOf({ concurrency: 9, gapMs: 100, chatGapMs: 1_000 });
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

t.test('DLV-4 · each message of one that has its place keeps to the pace, before those who have not begun', (t) => {
  const it = queueOf({ gapMs: 100, chatGapMs: 1_000 });
  it.ask('a');
  it.ask('b');
  it.ask('c');
  it.next('a, 2nd', 'a');
  t.same(it.granted, ['a']);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [100, ['a', 'b']]);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [1_000, ['a', 'b', 'a, 2nd']], 'both places are taken; a message of theirs goes');
  it.next('a, 3rd', 'a')();
  it.leave('a');
  t.ok(it.turn());
  t.same([it.now(), it.granted], [1_100, ['a', 'b', 'a, 2nd', 'c']], 'one that was withdrawn is never granted');
  t.end();
});

t.test('DLV-4 · the next message of a chat goes though nothing else waits there any more', (t) => {
  const it = queueOf({ chatGapMs: 1_000 });
  for (const name of ['a1', 'a2']) it.ask(name, 'a');
  it.next('a1, 2nd', 'a');
  it.leave('a2');
  t.ok(it.turn());
  t.same(it.granted, ['a1', 'a1, 2nd']);
  t.end();
});

t.test('DLV-4 · a chat that is kept for one has no turn for another before it is released', (t) => {
  const it = queueOf({ concurrency: 9 });
  it.ask('a1', 'a');
  it.ask('a2', 'a');
  it.queue.hold('a', 'a1');
  it.leave('a1');
  t.match(it.queue.heldFor('a'), { name: 'a1' });
  t.equal(it.queue.heldFor('b'), undefined);
  it.ask('b1', 'b');
  t.same(it.granted, ['a1', 'b1'], 'the other chats go on');
  it.ask('a1', 'a');
  t.same(it.granted, ['a1', 'b1', 'a1'], 'the one that comes back goes first');
  it.leave('a1');
  t.same(it.granted.length, 3);
  it.queue.release('a1');
  t.equal(it.queue.heldFor('a'), undefined);
  t.same(it.granted, ['a1', 'b1', 'a1', 'a2']);
  it.queue.release('unknown');
  t.end();
});

t.test('DLV-4 · another pace holds from then on, and shortens what was waited for at the old one', (t) => {
  const it = queueOf({ concurrency: 9, gapMs: 60_000, chatGapMs: 60_000 });
  for (const name of ['a1', 'a2']) it.ask(name, 'a');
  it.ask('b1', 'b');
  it.leave('a1');
  it.queue.pause(900_000);
  it.queue.adjust({ concurrency: 1, gapMs: 100, chatGapMs: 1_000 });
  t.ok(it.turn());
  t.same([it.now(), it.granted], [100, ['a1', 'b1']]);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [1_000, ['a1', 'b1']], 'one at a time');
  it.leave('b1');
  t.same(it.granted, ['a1', 'b1', 'a2']);
  t.end();
});

t.test(
  'CON-2 · DLV-4 · a run that waits when the gateway stops is left to the next start, and none overtakes it',
  (t) => {
    const it = queueOf({ concurrency: 9 });
    for (const name of ['a1', 'a2', 'a3']) it.ask(name, 'a');
    it.queue.park();
    it.leave('a1');
    t.same(it.granted, ['a1'], 'a2 and a3 stay where they are');
    it.ask('a4', 'a');
    it.ask('b1', 'b');
    it.ask('b2', 'b');
    it.leave('b1');
    t.same(it.granted, ['a1', 'b1', 'b2'], 'what comes while it stops waits only where another one was left');
    it.ask('a5', 'a', true);
    it.ask('a6', 'a');
    for (const name of ['a2', 'a3', 'a4', 'a5']) it.leave(name);
    t.same(it.granted.slice(3), ['a2', 'a3', 'a4', 'a5', 'a6'], 'what is waited for has those before it sent first');
    t.end();
  },
);

t.test('CON-2 · DLV-4 · in a chat where somebody is waited for, those before it go on', (t) => {
  const it = queueOf({ concurrency: 9 });
  for (const name of ['a1', 'a2']) it.ask(name, 'a');
  it.ask('a3', 'a', true);
  it.ask('a4', 'a');
  it.queue.park();
  for (const name of ['a1', 'a2', 'a3']) it.leave(name);
  t.same(it.granted, ['a1', 'a2', 'a3']);
  // A text of which a part has arrived keeps its chat; it goes on where another one waits for its end.
  it.ask('h1', 'h');
  it.queue.hold('h', 'h1');
  it.leave('h1');
  it.ask('h2', 'h', true);
  it.ask('h1', 'h');
  it.queue.park();
  it.queue.release('h1');
  it.leave('h1');
  t.same(it.granted.slice(3), ['h1', 'h1', 'h2']);
  it.ask('i1', 'i');
  it.queue.hold('i', 'i1');
  it.ask('i2', 'i');
  it.queue.park();
  it.leave('i1');
  it.ask('i1', 'i');
  t.same(it.granted.splice(6), ['i1', 'i1'], 'nor does it stay where the next one stays');
  it.queue.clear();
  it.ask('a5', 'a');
  it.ask('a6', 'a');
  it.leave('a5');
  t.same(it.granted.slice(6), ['a5', 'a6'], 'a new gateway begins anew');
  t.end();
});

t.test('CON-2 · DLV-4 · once no sender waits any more, those that were released for it stay', (t) => {
  const it = queueOf({ concurrency: 9 });
  for (const name of ['a1', 'a2', 'a3']) it.ask(name, 'a');
  it.ask('a4', 'a', true);
  it.queue.park();
  it.leave('a4');
  it.leave('a1');
  t.same(it.granted, ['a1']);
  t.end();
});

t.test('DLV-4 · while a platform asks for a pause, no delivery is sent', (t) => {
  const it = queueOf({});
  it.queue.pause(5_000);
  it.ask('a');
  it.ask('b');
  t.same(it.granted, []);
  t.ok(it.turn());
  t.same([it.now(), it.granted], [5_000, ['a', 'b']]);
  it.queue.clear();
  it.leave('a');
  it.ask('c');
  t.same([it.granted, ...load(it.queue)], [['a', 'b', 'c'], 1, 0], 'what was given out before counts no more');
  t.end();
});

t.test('DLV-4 · a person may have one go in spite of a pause, and what is taken ends it', (t) => {
  const it = queueOf({});
  it.queue.pause(5_000);
  it.ask('a');
  it.ask('b');
  it.queue.probe();
  it.queue.probe();
  t.same([it.granted, it.queue.pausedUntilMs()], [['a'], 5_000], 'one, and no other while it is on its way');
  it.queue.pause(7_000);
  it.leave('a');
  t.same([it.granted, it.queue.pausedUntilMs()], [['a'], 7_000]);
  it.queue.resume();
  t.same([it.granted, it.queue.pausedUntilMs()], [['a', 'b'], undefined]);
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
      const it = queueOf(paced);
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

t.test('DLV-4 · a chat is kept for one that is tried again, for a bounded time', (t) => {
  const it = queueOf({ concurrency: 9 });
  it.ask('a1', 'a');
  it.ask('a2', 'a');
  it.queue.hold('a', 'a1', 5_000);
  it.queue.hold('a', 'a2', 9_000);
  it.leave('a1');
  t.same(it.granted, ['a1'], 'a chat is kept for one at a time');
  t.ok(it.turn());
  t.same([it.now(), it.granted], [5_000, ['a1', 'a2']], 'the next passes when the time is over');
  it.queue.hold('a', 'a1', 4_000);
  it.ask('a3', 'a');
  it.leave('a2');
  t.same(it.granted, ['a1', 'a2', 'a3'], 'a time that is over keeps nothing');
  it.queue.hold('a', 'a3', 9_000);
  it.queue.hold('b', 'a3', 9_000);
  it.ask('a4', 'a');
  it.leave('a3');
  t.same(it.granted.at(-1), 'a4', 'a delivery keeps one chat');
  t.end();
});

t.test('DLV-4 · one whose time is over neither goes past the one that a chat is kept for, nor ends that', (t) => {
  const it = queueOf({ concurrency: 1 });
  it.ask('x');
  it.queue.hold('a', 'a1', 4_000);
  it.ask('a1', 'a');
  it.queue.pause(5_000);
  it.next('x, 2nd', 'x');
  t.ok(it.turn());
  it.queue.hold('a', 'a2', 9_000);
  it.leave('x');
  t.same(it.granted, ['x', 'x, 2nd']);
  it.queue.release('a1');
  t.match(it.queue.heldFor('a'), { name: 'a2' });
  t.end();
});

t.test('DLV-4 · what it costs to keep chats grows with their number', (t) => {
  const keep = (size: number) => () => {
    const { queue } = queueOf({ concurrency: 9 });
    for (let chat = 0; chat < size; chat += 1) queue.hold(`c${chat}`, `d${chat}`, 5_000);
  };
  t.ok(isLinear(keep, 1_000));
  t.end();
});

t.test('DLV-4 · SRC-4 · many chats with a text each take time in proportion to their number', (t) => {
  const oneByOne = (pace: Partial<Pace>) => (size: number) => () => {
    const it = queueOf(pace);
    for (let number = 0; number < size; number += 1) it.ask(`${number}`);
    for (let number = 0; number < size; number += 1) it.leave(`${number}`);
  };
  // A set steps over what was deleted at its front, which would count with tens of thousands.
  t.ok(isLinear(oneByOne({}), 200), 'where all places are taken');
  t.ok(isLinear(oneByOne({ gapMs: 1_000 }), 200), 'where the platform wants a gap');
  t.end();
});

t.test('DLV-4 · SRC-4 · many direct texts of one chat take time in proportion to their number', (t) => {
  const askAll = (size: number) => () => {
    const it = queueOf({});
    for (let number = 0; number < size; number += 1) it.ask(`${number}`, 'one', true);
  };
  t.ok(isLinear(askAll, 1_000));
  t.end();
});
