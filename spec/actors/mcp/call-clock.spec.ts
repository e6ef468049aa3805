import { EventEmitter, once } from 'node:events';
import t from 'tap';
import { createCallClock } from '../../../actors/mcp/call-clock.ts';
import { createOpenCalls } from '../../../actors/mcp/open-calls.ts';
import { lentTime } from '../../support/lent-time.ts';

const hourMs = 3_600_000;

t.test(
  'TRU-5 · LIF-3 · a clock fires by the time that passes while nothing holds it, whatever holds the others',
  (t) => {
    const time = lentTime(t);
    const clock = createCallClock();
    const fired: string[] = [];
    const first = clock.begin(3 * hourMs, () => fired.push('first'));
    clock.begin(3 * hourMs, () => fired.push('ended')).end();
    clock.begin(4 * hourMs, () => fired.push('never held'));
    time.pass(hourMs);
    const one = first.hold();
    const other = first.hold();
    time.pass(2 * hourMs);
    one();
    one();
    t.same(fired, [], 'it stands still until each hold is over');
    time.pass(24 * hourMs);
    t.same(fired, ['never held']);
    other();
    time.pass(hourMs);
    t.same(fired, ['never held']);
    time.pass(hourMs);
    t.same(fired, ['never held', 'first']);
    t.end();
  },
);

t.test('TRU-5 · LIF-3 · a call that ends while it is held never fires, nor does one that is held too late', (t) => {
  const time = lentTime(t);
  const clock = createCallClock();
  const fired: string[] = [];
  const held = clock.begin(hourMs, () => fired.push('held'));
  const release = held.hold();
  held.end();
  release();
  const late = clock.begin(hourMs, () => fired.push('late'));
  time.pass(2 * hourMs);
  late.hold()();
  time.pass(2 * hourMs);
  t.same(fired, ['late']);
  t.end();
});

t.test('LIF-3 · each call has its own time, in whatever order they begin', (t) => {
  const time = lentTime(t);
  const clock = createCallClock();
  const fired: string[] = [];
  clock.begin(3 * hourMs, () => fired.push('long'));
  const short = clock.begin(hourMs, () => fired.push('short'));
  clock.begin(hourMs, () => {
    fired.push('ends the next');
    last.end();
  });
  const last = clock.begin(hourMs, () => fired.push('ended in time'));
  const release = short.hold();
  time.pass(hourMs);
  release();
  time.pass(hourMs);
  time.pass(hourMs);
  t.same(fired, ['ends the next', 'short', 'long']);
  t.end();
});

t.test('TRU-5 · what arrives on the stream of a call that has ended is asked for no other call', async (t) => {
  const calls = createOpenCalls();
  calls.tieByStream();
  const asked = () => calls.asking()?.map(({ id }) => id);
  const arrival = new EventEmitter();
  const arrived = () => once(arrival, 'come');
  const ended = calls.begin('ended', hourMs, () => {});
  const open = calls.begin('open', hourMs, () => {});
  t.teardown(() => open.end());
  const onItsStream = ended.run(() => arrived().then(asked));
  const ofAnotherSession = ended.run(() => arrived().then(() => otherCalls.asking()?.map(({ id }) => id)));
  const otherCalls = createOpenCalls();
  const other = otherCalls.begin('other', hourMs, () => {});
  t.teardown(() => other.end());

  t.same(ended.run(asked), ['ended']);
  ended.end();
  arrival.emit('come');

  t.equal(await onItsStream, undefined);
  t.same(await ofAnotherSession, ['other'], 'to another session the call is none of its');
  t.same(asked(), ['open'], 'and what arrives elsewhere may be for any that is open');
});
