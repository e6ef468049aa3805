import t from 'tap';
import { nextOfInterval } from '../../../machines/cron/expression.ts';
import type { NextDue } from '../../../machines/cron/job.ts';
import { type DueQuestion, type DueVerdict, whatIsDue } from '../../../machines/cron/missed-run.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** Noon of some day. */
const noon = Date.UTC(2026, 5, 1, 12);

const everyMinutes = (minutes: number): DueQuestion['timing'] => ({
  kind: 'scheduled',
  schedule: { kind: 'interval', everyMs: minutes * minute },
  zone: undefined,
  print: '',
});
let asked = 0;
const nextDue: NextDue = (schedule, _zone, afterMs, anchorMs) => {
  asked += 1;
  return schedule.kind === 'interval' ? nextOfInterval(schedule.everyMs, anchorMs, afterMs) : undefined;
};

function due(question: Partial<DueQuestion>): DueVerdict {
  return whatIsDue(
    { timing: everyMinutes(60), nowMs: noon, graceMs: hour, anchorMs: 0, settledMs: [], ...question },
    nextDue,
  );
}

t.test('CRN-1 · what was missed is made up for once, within the grace, and else passed over', (t) => {
  const rows: readonly (readonly [string, Partial<DueQuestion>, DueVerdict])[] = [
    ['nothing is known: it begins now', {}, { kind: 'waits', dueAtMs: noon + hour }],
    ['in time', { settledMs: [noon - hour] }, { kind: 'fires', dueAtMs: noon }],
    ['not yet', { settledMs: [noon] }, { kind: 'waits', dueAtMs: noon + hour }],
    ['a millisecond early', { nowMs: noon - 1, settledMs: [noon - hour] }, { kind: 'waits', dueAtMs: noon }],
    [
      'late within the grace',
      { nowMs: noon + 59 * minute, settledMs: [noon - hour] },
      { kind: 'fires', dueAtMs: noon },
    ],
    [
      'several: the newest stands for all',
      { nowMs: noon + 5 * minute, settledMs: [noon - 3 * hour] },
      { kind: 'fires', dueAtMs: noon, missedSinceMs: noon - 2 * hour },
    ],
    [
      'too old',
      { nowMs: noon + 30 * minute, settledMs: [noon - hour], graceMs: 10 * minute },
      { kind: 'skips', dueAtMs: noon },
    ],
    [
      'several, all too old',
      { nowMs: noon + 30 * minute, settledMs: [noon - 3 * hour], graceMs: 10 * minute },
      { kind: 'skips', dueAtMs: noon, missedSinceMs: noon - 2 * hour },
    ],
    [
      'no grace at all: in time only',
      { nowMs: noon, settledMs: [noon - hour], graceMs: 0 },
      { kind: 'fires', dueAtMs: noon },
    ],
    [
      'no grace at all, late',
      { nowMs: noon + 1, settledMs: [noon - hour], graceMs: 0 },
      { kind: 'skips', dueAtMs: noon },
    ],
    [
      'made or resumed after what was due',
      { nowMs: noon + minute, settledMs: [noon - day, noon + 1] },
      { kind: 'waits', dueAtMs: noon + hour },
    ],
  ];
  for (const [name, question, expected] of rows) t.same(due(question), expected, name);
  t.end();
});

t.test('CRN-1 · the grace is inclusive', (t) => {
  const question = { timing: everyMinutes(1_440), anchorMs: noon - 3 * day, settledMs: [noon - day] };
  t.same(due({ ...question, nowMs: noon + hour }), { kind: 'fires', dueAtMs: noon });
  t.same(due({ ...question, nowMs: noon + hour + 1 }), { kind: 'skips', dueAtMs: noon });
  t.end();
});

t.test('CRN-1 · a year of missed minutes is looked through in a few steps', (t) => {
  asked = 0;
  const verdict = due({ timing: everyMinutes(1), nowMs: noon + 30_000, settledMs: [noon - 365 * day] });
  t.same(verdict, { kind: 'fires', dueAtMs: noon, missedSinceMs: noon - 365 * day + minute });
  t.ok(asked < 60, `${asked} questions`);
  asked = 0;
  t.match(due({ timing: everyMinutes(1), nowMs: noon + 30_000, settledMs: [noon - 365 * day], graceMs: 10 }), {
    kind: 'skips',
    dueAtMs: noon,
  });
  t.ok(asked < 90, `${asked} questions`);
  t.end();
});

t.test(
  'CRN-1 · a clock that goes back fires nothing twice; one that was a day or more ahead is not waited for',
  (t) => {
    t.same(due({ nowMs: noon - 3 * hour, settledMs: [noon] }), { kind: 'waits', dueAtMs: noon + hour });
    t.same(due({ nowMs: noon - day, settledMs: [noon] }), { kind: 'waits', dueAtMs: noon + hour });
    t.same(due({ nowMs: noon - 365 * day, settledMs: [noon] }), { kind: 'waits', dueAtMs: noon - 365 * day + hour });
    t.same(due({ nowMs: noon - 365 * day, settledMs: [noon, noon - 366 * day] }), {
      kind: 'fires',
      dueAtMs: noon - 365 * day,
      missedSinceMs: noon - 366 * day + hour,
    });
    t.end();
  },
);

t.test('CRN-1 · a schedule without a further due time never fires', (t) => {
  const timing = { ...everyMinutes(1), schedule: { kind: 'fields', expression: '0 0 30 2 *' } as const };
  t.same(due({ timing }), { kind: 'never' });
  t.end();
});

t.test('CRN-1 · however the clock walks, no due time is handled twice and none is handled early', (t) => {
  // A walk of its own for each seed: steps forward and back, looks at every step, handles what it is told to.
  for (let seed = 1; seed <= 50; seed += 1) {
    let state = seed;
    const chance = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const handled = new Set<number>();
    let settled: number | undefined = noon;
    let nowMs = noon;
    for (let step = 0; step < 200; step += 1) {
      nowMs += Math.round((chance() - 0.3) * 2 * hour);
      const verdict = due({ timing: everyMinutes(15), nowMs, settledMs: [settled], graceMs: 30 * minute });
      if (verdict.kind !== 'fires' && verdict.kind !== 'skips') continue;
      if (handled.has(verdict.dueAtMs)) t.fail(`seed ${seed}: ${verdict.dueAtMs} twice`);
      if (verdict.dueAtMs > nowMs) t.fail(`seed ${seed}: ${verdict.dueAtMs} early`);
      if (verdict.kind === 'fires' && nowMs - verdict.dueAtMs > 30 * minute) t.fail(`seed ${seed}: too late`);
      handled.add(verdict.dueAtMs);
      settled = verdict.dueAtMs;
    }
  }
  t.pass('fifty walks');
  t.end();
});
