import t from 'tap';
import { batchPrompt, compileCoalesceKey, joinBatch, promptWithNote } from '../../../machines/webhook/coalesce.ts';
import { fc } from '../../support/property.ts';

t.test('COA-1 · a key is a field or a template; one that does not resolve groups nothing', (t) => {
  const key = (text: string, payload = {}): string | undefined => compileCoalesceKey(text)({ payload, eventType: 'e' });
  t.equal(key('a.b', { a: { b: 7 } }), '7');
  t.equal(key('a.b', { a: {} }), undefined);
  t.equal(key('a', { a: null }), undefined);
  t.equal(key('a', { a: '' }), undefined);
  t.equal(key('{a}-{event_type}', { a: 1 }), '1-e');
  t.equal(key('{a}-{b}', { a: 1 }), undefined);
  t.equal(key('{a}-{b}', { a: 1, b: '' }), undefined, 'as an empty field of a form');
  t.equal(key('event_type'), 'e');
  t.end();
});

t.test('COA-1 · long keys that differ anywhere stay apart, and none is longer than what a record holds', (t) => {
  const payloadOf = (tail: string) => ({
    list: [...Array.from({ length: 900 }, (_, index) => index), tail],
    text: 'é'.repeat(5_000) + tail,
  });
  for (const written of ['list', 'text', '{list}', 'x{text}', '{__raw__}']) {
    const read = compileCoalesceKey(written);
    const key = (tail: string): string => read({ payload: payloadOf(tail), eventType: 'e' }) ?? '';
    t.not(key('a'), key('b'), written);
    t.equal(key('a'), key('a'), written);
    t.ok(key('a').length < 2_000, `${written} is ${key('a').length} long`);
  }
  const read = compileCoalesceKey('text');
  const lengthOf = (length: number) => read({ payload: { text: 'x'.repeat(length) }, eventType: 'e' })?.length ?? 0;
  t.equal(lengthOf(2_000), 2_000);
  t.ok(lengthOf(2_001) < 2_000, 'a longer one is shortened');
  const short = compileCoalesceKey('list')({ payload: { list: ['a', 1] }, eventType: 'e' });
  t.equal(short, '["a",1]', 'a short one stands as it is');
  t.end();
});

t.test('COA-1 · a batch settles after quiet, at the latest at the cap from its first event', (t) => {
  const times = fc.array(fc.integer({ min: 0, max: 100_000 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(
      times,
      fc.integer({ min: 1, max: 50_000 }),
      fc.integer({ min: 1, max: 80_000 }),
      (drawn, windowMs, maxWaitMs) => {
        const sorted = [...drawn].sort((one, other) => one - other);
        let burst: ReturnType<typeof joinBatch> | undefined;
        for (const [index, nowMs] of sorted.entries())
          burst = joinBatch(burst, { eventKey: `e${index}`, nowMs, windowMs, maxWaitMs });
        const [first = 0] = sorted;
        const last = sorted.at(-1) ?? 0;
        return (
          burst?.id === 'e0' &&
          burst.count === sorted.length &&
          burst.latestEventKey === `e${sorted.length - 1}` &&
          burst.dueAtMs === Math.min(last + windowMs, first + maxWaitMs)
        );
      },
    ),
  );
  t.end();
});

t.test('COA-1 · the cap holds also where the clock was set back since the first event', (t) => {
  const rules = { windowMs: 30_000, maxWaitMs: 60_000 };
  let burst = joinBatch(undefined, { eventKey: 'a', nowMs: 3_600_000, ...rules });
  for (const nowMs of [0, 20_000, 40_000, 59_000]) burst = joinBatch(burst, { eventKey: `e${nowMs}`, nowMs, ...rules });
  t.match(burst, { id: 'a', count: 5, dueAtMs: 60_000 });
  t.end();
});

t.test('COA-2 · the note says how many earlier events were superseded', (t) => {
  t.equal(promptWithNote('p', 1), 'p');
  t.match(promptWithNote('p', 2), /^p\n\n.*1 earlier event was superseded/);
  t.match(promptWithNote('p', 5), /4 earlier events were superseded/);
  t.end();
});

t.test('COA-1 · a batch whose run gets all events keeps the keys of the newest, in order', (t) => {
  const joined = (length: number) => {
    let burst: ReturnType<typeof joinBatch> | undefined;
    for (let n = 1; n <= length; n += 1)
      burst = joinBatch(burst, { eventKey: `e${n}`, nowMs: n, windowMs: 5, maxWaitMs: 50, mode: 'batch' });
    return burst;
  };
  t.match(joined(1), { count: 1, latestEventKey: 'e1', earlierKeys: [] });
  t.match(joined(3), { count: 3, latestEventKey: 'e3', earlierKeys: ['e1', 'e2'] });
  const many = joined(107);
  t.equal(many?.count, 107, 'those beyond the cap are counted');
  t.equal(many?.earlierKeys?.length, 99, 'a run gets a hundred events');
  t.equal(many?.earlierKeys?.[0], 'e8');
  t.end();
});

t.test('COA-1 · the mode of a batch may change while it gathers', (t) => {
  const rules = { nowMs: 0, windowMs: 5, maxWaitMs: 50 };
  const latest = joinBatch(joinBatch(undefined, { eventKey: 'a', ...rules }), { eventKey: 'b', ...rules });
  const batch = joinBatch(latest, { eventKey: 'c', ...rules, mode: 'batch' });
  t.match(batch, { count: 3, earlierKeys: ['b'] });
  t.equal(batch.isDirect, undefined);
  t.match(joinBatch(batch, { eventKey: 'd', ...rules, isDirect: true }), { isDirect: true });
  t.equal(joinBatch(batch, { eventKey: 'd', ...rules }).earlierKeys, undefined);
  t.end();
});

t.test('COA-1 · COA-2 · the prompt of a batch numbers its events, and says how many were left out', (t) => {
  t.equal(batchPrompt(['p'], 1), 'p');
  t.equal(batchPrompt(['p', 'q'], 2), '[Event 1 of 2]\np\n\n[Event 2 of 2]\nq');
  t.equal(batchPrompt(['q'], 2), '[Event 2 of 2]\nq\n\n[Note: 1 earlier event was left out.]');
  t.match(batchPrompt(['q'], 5), /^\[Event 5 of 5\]\nq\n\n\[Note: 4 earlier events were left out\.\]$/);
  t.end();
});
