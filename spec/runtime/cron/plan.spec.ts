import t from 'tap';
import type { CronMark, FireCronJob } from '../../../actors/cron/fire-cron-job.ts';
import { createNextDue, knowsZone } from '../../../actors/cron/next-due.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { CronJobContext, Plan } from '../../../machines/cron/cron-job.machine.ts';
import { readJob, timingOf } from '../../../machines/cron/job.ts';
import { neverWord, nextTimes, noSchedule, planOf } from '../../../runtime/cron/plan.ts';

const hour = 3_600_000;
const day = 24 * hour;
/** Half past noon; the job is due at each full hour. */
const nowMs = Date.UTC(2026, 5, 1, 12, 30);
const noon = nowMs - hour / 2;
const print = '0 * * * *|UTC';
const record: JsonObject = {
  ...{ id: 'j', name: 'digest', prompt: 'p', schedule: '0 * * * *', timezone: 'UTC', grace_seconds: 3_600 },
  created_at: new Date(nowMs - 10 * day).toISOString(),
};
const nextDue = createNextDue();

interface Given {
  /** Undefined: the job is not in the file any more. */
  readonly job?: JsonObject | undefined;
  readonly mark?: CronMark;
  readonly inFlight?: string;
  readonly isReady?: boolean;
  readonly context?: Partial<CronJobContext>;
  /** Why the journal does not take the beginning of the schedule. */
  readonly refusal?: string;
}

async function plan(given: Given): Promise<{ readonly plan: Plan; readonly begun: readonly string[] }> {
  const { mark, inFlight, isReady = true, context = {}, refusal } = given;
  const begun: string[] = [];
  const begin: FireCronJob['begin'] = async (_entry, print) => {
    if (refusal !== undefined) return { kind: 'refused', reason: refusal };
    begun.push(print);
    return { kind: 'noted' };
  };
  const change = 'job' in given ? given.job : {};
  const made = await planOf(
    { profile: 'default', job: 'j', settledMs: null, dropped: false, ...context } as CronJobContext,
    nowMs,
    {
      fire: { mark: async () => mark, inFlight: async () => inFlight, begin } as never,
      findJob: () => (change === undefined ? undefined : readJob({ ...record, ...change })),
      nextDue,
      knowsZone,
      isReady: () => isReady,
    },
  );
  return { plan: made, begun };
}

const settled: CronMark = { dueAtMs: noon, print };
const iso = (atMs: number): string => new Date(atMs).toISOString();

t.test('CRN-1 · a job waits, fires or passes over by its record, the mark and the clock', async (t) => {
  const rows: readonly (readonly [what: string, Given, Plan])[] = [
    ['settled up to now', { mark: settled }, { kind: 'waits', dueAtMs: noon + hour }],
    ['due', { mark: { ...settled, dueAtMs: noon - hour } }, { kind: 'fires', dueAtMs: noon }],
    [
      'missed more than once: the newest stands for all',
      { mark: { ...settled, dueAtMs: noon - 3 * hour } },
      { kind: 'fires', dueAtMs: noon, missedSinceMs: noon - 2 * hour },
    ],
    [
      'missed beyond its grace',
      { mark: { ...settled, dueAtMs: noon - hour }, job: { grace_seconds: 60 } },
      { kind: 'skips', dueAtMs: noon, why: 'missed: due 1800 s ago, which is more than its grace of 60 s' },
    ],
    ...([50, 60_000, 60_001] as const).map((lateMs): [string, Given, Plan] => [
      `without a grace, ${lateMs} ms after its time`,
      {
        mark: { dueAtMs: nowMs - hour - lateMs, print: 'every 1h|UTC' },
        job: { schedule: 'every 1h', grace_seconds: 0, created_at: iso(nowMs - 2 * hour - lateMs) },
      },
      lateMs > 60_000
        ? { kind: 'skips', dueAtMs: nowMs - lateMs, why: 'missed: due 60 s ago, which is more than its grace of 0 s' }
        : { kind: 'fires', dueAtMs: nowMs - lateMs },
    ]),
    [
      'what this life has settled counts too',
      { mark: { ...settled, dueAtMs: noon - hour }, context: { settledMs: noon } },
      { kind: 'waits', dueAtMs: noon + hour },
    ],
    [
      'what was due before it was resumed has passed',
      { mark: { ...settled, dueAtMs: noon - hour }, job: { resumed_at: iso(noon + 1) } },
      { kind: 'waits', dueAtMs: noon + hour },
    ],
    ['never marked: from when it was made', { job: { created_at: iso(noon - 1) } }, { kind: 'fires', dueAtMs: noon }],
    ...[23 * hour, 2 * day].flatMap((aheadMs): readonly [string, Given, Plan][] => [
      [
        `an interval of a clock that was days ahead, ${aheadMs} ms before it`,
        {
          mark: { dueAtMs: nowMs - 1, print: 'every 1h|UTC' },
          job: { schedule: 'every 1h', created_at: iso(nowMs + aheadMs) },
        },
        { kind: 'waits', dueAtMs: noon + hour },
      ],
      [
        `five fields of such a clock, ${aheadMs} ms before it`,
        { mark: settled, job: { created_at: iso(nowMs + aheadMs) } },
        { kind: 'waits', dueAtMs: noon + hour },
      ],
    ]),
    [
      'an interval, and the clock was set back to before it was made',
      {
        mark: { dueAtMs: nowMs + hour, print: 'every 1h|UTC' },
        job: { schedule: 'every 1h', created_at: iso(nowMs + 1) },
      },
      {
        kind: 'waits',
        dueAtMs: nowMs + hour + 1,
        why: `the clock was set back; what was due until ${iso(nowMs + hour)} is settled and not fired again`,
      },
    ],
    ['its last run is under way', { mark: settled, inFlight: 'k' }, { kind: 'runs', run: 'k' }],
    [
      'the clock was set back',
      { mark: { ...settled, dueAtMs: noon + 5 * hour } },
      {
        kind: 'waits',
        dueAtMs: noon + 6 * hour,
        why: `the clock was set back; what was due until ${iso(noon + 5 * hour)} is settled and not fired again`,
      },
    ],
  ];
  for (const [what, given, expected] of rows) t.same(await plan(given), { plan: expected, begun: [] }, what);
  t.end();
});

t.test('CRN-1 · a schedule that nothing is known of begins now, and that is written down', async (t) => {
  const rows: readonly (readonly [what: string, Given])[] = [
    ['a job that does not say when it was made', { job: { created_at: null } }],
    ['one that was made in a far future', { job: { created_at: iso(nowMs + 2 * day) } }],
    ['another schedule than the mark’s', { mark: { ...settled, dueAtMs: noon - hour, print: '@daily|UTC' } }],
    ['a mark of a clock that was days ahead', { mark: { ...settled, dueAtMs: nowMs + 2 * day } }],
  ];
  for (const [what, given] of rows) {
    const { plan: made, begun } = await plan(given);
    t.match(made, { kind: 'waits', dueAtMs: noon + hour }, what);
    t.same(begun, [print], what);
  }
  t.end();
});

t.test('CRN-1 · DUR-3 · a schedule whose beginning cannot be written down is planned again', async (t) => {
  const refusal = 'the disk is full';
  const rows: readonly Given[] = [{ job: { created_at: null } }, { mark: { ...settled, print: '@daily|UTC' } }];
  for (const given of rows) {
    t.same(await plan({ ...given, refusal }), { plan: { kind: 'blind', why: refusal }, begun: [] });
  }
});

t.test('CRN-1 · a schedule that is changed during a run begins then, and not at the end of the run', async (t) => {
  const mark: CronMark = { ...settled, dueAtMs: noon - hour, print: '@daily|UTC' };
  t.same(await plan({ mark, inFlight: 'k' }), { plan: { kind: 'runs', run: 'k' }, begun: [print] });
  t.end();
});

t.test('CRN-1 · CRN-2 · what is never due, paused or not there says so', async (t) => {
  const due: CronMark = { ...settled, dueAtMs: noon - hour };
  const paused = { paused: true };
  const rows: readonly (readonly [what: string, Given, Plan])[] = [
    ['gone', { job: undefined }, { kind: 'idles', why: 'it is no longer in the file' }],
    ['the journal is not open', { isReady: false }, { kind: 'blind', why: 'the journal is not open' }],
    ['no schedule', { job: { schedule: null } }, { kind: 'idles', why: noSchedule }],
    ['no schedule, and paused', { job: { schedule: null, ...paused } }, { kind: 'pauses', why: 'paused' }],
    ['paused until it is due', { mark: settled, job: paused }, { kind: 'pauses', why: 'paused', dueAtMs: noon + hour }],
    [
      'paused when it is due: written down',
      { mark: due, job: paused },
      { kind: 'skips', dueAtMs: noon, why: 'cron job "digest" is paused' },
    ],
    [
      'once for the whole pause',
      { mark: due, job: paused, context: { dropped: true } },
      { kind: 'pauses', why: 'paused' },
    ],
    [
      'and nothing more is waited for',
      { mark: settled, job: paused, context: { dropped: true } },
      { kind: 'pauses', why: 'paused' },
    ],
    [
      'once, also if the gateway is started during it',
      { mark: { ...due, rested: true }, job: paused },
      { kind: 'pauses', why: 'paused' },
    ],
    [
      'and once for another pause',
      { mark: { ...due, rested: true }, job: { ...paused, resumed_at: iso(noon - hour + 1) } },
      { kind: 'skips', dueAtMs: noon, why: 'cron job "digest" is paused' },
    ],
    [
      'disabled when it is due',
      { mark: due, job: { enabled: false } },
      { kind: 'skips', dueAtMs: noon, why: 'cron job "digest" is disabled' },
    ],
    [
      'paused while its run is under way',
      { mark: settled, inFlight: 'k', job: paused },
      { kind: 'pauses', why: 'paused', dueAtMs: noon + hour },
    ],
  ];
  for (const [what, given, expected] of rows) t.same(await plan(given), { plan: expected, begun: [] }, what);
  t.match((await plan({ job: { schedule: '0 0 30 2 *' } })).plan, { kind: 'idles', why: /never falls/ });
  const over = await planOf(
    { profile: 'default', job: 'j', settledMs: null, dropped: false } as CronJobContext,
    nowMs,
    {
      fire: { mark: () => settled, inFlight: () => undefined, begin: () => ({ kind: 'noted' }) } as never,
      findJob: () => readJob(record),
      nextDue: () => undefined,
      knowsZone,
      isReady: () => true,
    },
  );
  t.same(over, { kind: 'idles', why: neverWord });
  t.end();
});

t.test('CRN-1 · the next due times of a job are its record’s alone', async (t) => {
  const next = (change: JsonObject, count = 3): readonly string[] => {
    const job = readJob({ ...record, ...change });
    if (job === undefined) return [];
    return nextTimes(job, timingOf(job, knowsZone), nowMs, { nextDue, count }).map(iso);
  };
  t.same(next({}), ['2026-06-01T13:00:00.000Z', '2026-06-01T14:00:00.000Z', '2026-06-01T15:00:00.000Z']);
  t.same(next({ schedule: null }), []);
  t.same(next({ schedule: 'x' }), []);
  t.same(
    next({ schedule: 'every 2h', created_at: '2026-06-01T11:10:00Z' }, 2),
    ['2026-06-01T13:10:00.000Z', '2026-06-01T15:10:00.000Z'],
    'counted from when it was made',
  );
  t.same(next({ schedule: 'every 2h', created_at: null }, 1), ['2026-06-01T14:00:00.000Z'], 'or from the epoch');
  t.same(next({ schedule: 'every 2h', created_at: '2026-06-09T12:00:00Z' }, 1), ['2026-06-01T14:00:00.000Z']);
  t.end();
});
