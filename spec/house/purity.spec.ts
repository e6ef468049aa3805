import t from 'tap';
import { sourceFiles } from './sources.ts';

/** What decisions must not touch, with the reason. */
const forbidden: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\b|\bnew Date\(\)/, 'times come as numbers'],
  [/\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/, 'chance comes as input'],
  [/\bprocess\.(?!\w*\s*:)/, 'the process is the runtime’s'],
  [/\bset(Timeout|Interval|Immediate)\s*\(/, 'waits are `after` in charts'],
  [/\bnow(?:Ms)?(?:\(\)|: \(\) =>)/, 'a function that gives the time is a clock: times come as numbers'],
  [/\b(?:new|next|make|draw)\w*Id(?:\(\)|: \(\) =>)/, 'a function that draws an id is chance: ids come as input'],
  [/(?<!\bMath)\.(?:take|log|warnOnce|note)\w*\(/, 'a rule returns what is to be done; an action of the chart does it'],
  [/\bconsole\./, 'only the log writes'],
  [/\bfetch\s*\(/, 'rules ask nobody'],
  [/\basync\b|\bawait\b|\bnew Promise\b/, 'rules do not wait'],
  [/\bthrow\b/, 'rules return verdicts'],
];

/** Where a rule is broken on purpose, and why. */
const exceptions: ReadonlyMap<string, string> = new Map([
  [
    'machines/base/compile.ts',
    'the compiler refuses a chart, passes a failing action on, and is lent the clock of the trail',
  ],
  ['machines/base/compiled-chart.ts', 'the compiler refuses a chart'],
  ['machines/base/compiled-actions.ts', 'an assigner that spawns is refused'],
  ['machines/base/lean-actor.ts', 'an actor stops its own children only, as xstate’s does'],
  ['machines/base/xstate-internals.ts', 'the type of the system’s clock names its timers'],
  ['machines/base/declare.ts', 'an unfilled placeholder says so'],
  ['machines/base/pool.ts', 'a handle for what is no pool is a mistake of the wiring'],
]);

t.test('machines touch no clock, chance, process, timer, network or promise, and do not throw', (t) => {
  for (const { path, code } of sourceFiles(['machines'])) {
    if (exceptions.has(path)) continue;
    for (const [word, why] of forbidden) {
      const line = code.split('\n').findIndex((text) => word.test(text));
      t.equal(line, -1, `${path}:${line + 1}: ${why}`);
    }
  }
  t.end();
});

t.test('a rule that is lent a clock, an id, a slot or the log is found', (t) => {
  for (const line of [
    'const nowMs = ports.nowMs();',
    'readonly nowMs: () => number;',
    'const id = given ?? ports.newDeliveryId();',
    'readonly newDeliveryId: () => string;',
    'ports.takeSlot(route, nowMs);',
    'ports.handshakes.take(route, nowMs);',
    'ports.noteDeprecated(route, scheme);',
    'ports.log.warnOnce(key, text);',
  ]) {
    t.ok(
      forbidden.some(([word]) => word.test(line)),
      line,
    );
  }
  t.end();
});
