import t from 'tap';
import type { StepRow } from '../../../../../runtime/control/contract/wire.ts';
import { mergeSteps } from '../../../../../runtime/inspector/page/data/merge-steps.ts';

const step = (seq: number, at: number, event: string): StepRow => ({
  seq,
  at,
  actor: 'connections/peer',
  machine: 'serverConnection',
  event,
  from: 'connected',
  to: 'connected',
});
const eventsOf = (steps: readonly StepRow[]) => steps.map(({ event, at }) => `${event} ${at}`);

t.test('INS-1 · a step that the actor remembers and the page saw is shown once, whatever its numbers', (t) => {
  const remembered = [step(0, 1_000, 'call.began'), step(1, 2_000, 'stable.due')];

  const merged = mergeSteps(remembered, [step(812, 2_001, 'stable.due'), step(813, 2_500, 'call.began')]);

  t.same(eventsOf(merged), ['call.began 1000', 'stable.due 2000', 'call.began 2500']);
  t.end();
});

t.test('INS-1 · like steps that were taken one after another are all shown', (t) => {
  const seen = [step(8, 1_000, 'event.joined'), step(9, 1_000, 'event.joined'), step(10, 1_001, 'event.joined')];

  t.equal(mergeSteps(seen.slice(0, 2), seen).length, 3);
  t.equal(mergeSteps([], seen).length, 3);
  t.end();
});
