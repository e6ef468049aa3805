import t from 'tap';
import { createNextDue, hostZone, knowsZone } from '../../../actors/cron/next-due.ts';
import { readSchedule } from '../../../machines/cron/expression.ts';
import type { NextDue } from '../../../machines/cron/job.ts';
import { whatIsDue } from '../../../machines/cron/missed-run.ts';
import { inAllOnly } from '../../support/tier.ts';

const nextDue: NextDue = createNextDue();

function next(text: string, zone: string, after: string): string | undefined {
  const reading = readSchedule(text);
  if (reading.kind === 'invalid') throw new Error(reading.problem);
  const atMs = nextDue(reading.schedule, zone, Date.parse(after), 0);
  return atMs === undefined ? undefined : new Date(atMs).toISOString().replace(':00.000Z', 'Z');
}

/** The due times after a moment. */
function times(text: string, zone: string, after: string, count: number): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  for (let at: string | undefined = after; found.length < count && at !== undefined; ) {
    at = next(text, zone, at);
    found.push(at);
  }
  return found;
}

t.test('CRN-1 · due times are the zone’s, strictly after the moment, whatever its fractions', (t) => {
  const rows: readonly (readonly [string, string, string, string | undefined])[] = [
    ['0 9 * * *', 'UTC', '2026-01-01T08:59:59.999Z', '2026-01-01T09:00Z'],
    ['0 9 * * *', 'UTC', '2026-01-01T09:00:00.000Z', '2026-01-02T09:00Z'],
    ['0 9 * * *', 'UTC', '2026-01-01T09:00:00.500Z', '2026-01-02T09:00Z'],
    ['0 9 * * *', 'Europe/Berlin', '2026-01-01T00:00:00Z', '2026-01-01T08:00Z'],
    ['0 9 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', '2026-01-01T03:30Z'],
    ['0 9 * * 1-5', 'UTC', '2026-01-02T10:00:00Z', '2026-01-05T09:00Z'],
    ['0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', '2028-02-29T00:00Z'],
    ['0 0 31 * *', 'UTC', '2026-01-31T00:00:00Z', '2026-03-31T00:00Z'],
    ['0 0 13 * fri', 'UTC', '2026-01-01T00:00:00Z', '2026-01-02T00:00Z'],
    ['@yearly', 'UTC', '2026-01-01T00:00:00Z', '2027-01-01T00:00Z'],
    ['every 15m', 'UTC', '2026-01-01T00:07:00Z', '2026-01-01T00:15Z'],
  ];
  for (const [text, zone, after, expected] of rows)
    t.equal(next(text, zone, after), expected, `${text} ${zone} ${after}`);
  t.end();
});

t.test('CRN-1 · in spring a fixed time that does not exist comes right after the gap, once; a pace is kept', (t) => {
  // Berlin, 29 March 2026: 02:00 becomes 03:00, which is 01:00 UTC.
  t.same(times('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3), [
    '2026-03-28T01:30Z',
    '2026-03-29T01:00Z',
    '2026-03-30T00:30Z',
  ]);
  t.same(
    times('0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', 3),
    ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T01:00Z'],
    'two times that fall together are one',
  );
  t.same(times('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3), [
    '2026-03-29T00:30Z',
    '2026-03-29T01:00Z',
    '2026-03-29T01:30Z',
  ]);
  t.same(
    times('0 */2 * * *', 'Europe/Berlin', '2026-03-28T23:30:00Z', 2),
    ['2026-03-29T02:00Z', '2026-03-29T04:00Z'],
    'a step leaves the hour out that does not exist',
  );
  t.end();
});

t.test('CRN-3 · a fixed time in a gap that ends at midnight, or beyond a day, comes right after it', (t) => {
  // Nuuk, 28 March 2026: 23:00 becomes 00:00 of the 29th, which is 01:00 UTC.
  t.same(times('30 23 * * *', 'America/Nuuk', '2026-03-27T12:00:00Z', 4), [
    '2026-03-28T01:30Z',
    '2026-03-29T01:00Z',
    '2026-03-30T00:30Z',
    '2026-03-31T00:30Z',
  ]);
  t.equal(next('59 23 * * 6', 'America/Nuuk', '2026-03-25T00:00:00Z'), '2026-03-29T01:00Z');
  t.equal(next('59 23 * * 6', 'America/Nuuk', '2026-03-29T01:00:00Z'), '2026-04-05T00:59Z', 'once');
  t.equal(next('0 0 * * *', 'America/Nuuk', '2026-03-28T12:00:00Z'), '2026-03-29T01:00Z', 'midnight itself exists');
  t.equal(next('*/30 23 * * *', 'America/Nuuk', '2026-03-28T12:00:00Z'), '2026-03-30T00:00Z', 'a step keeps its pace');
  // Cairo, 24 April 2026: 00:00 becomes 01:00. Apia has no 30 December 2011.
  t.equal(next('30 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z'), '2026-04-23T22:00Z');
  t.equal(next('0 9 * * *', 'Pacific/Apia', '2011-12-29T22:00:00Z'), '2011-12-30T10:00Z');
  t.end();
});

t.test('CRN-3 · a search looks at the clock a few times, however far the next due time lies', (t) => {
  const looks = t.capture(Intl.DateTimeFormat.prototype, 'formatToParts', Intl.DateTimeFormat.prototype.formatToParts);
  for (const [text, after, expected] of [
    ['30 12 1 1 *', '2026-01-02T00:00:00Z', '2027-01-01T11:30Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-28T23:00Z'],
    ['30 2 29 3 *', '2026-03-29T02:00:00Z', '2027-03-29T00:30Z'],
  ] as const) {
    t.equal(next(text, 'Europe/Berlin', after), expected, text);
    const count = looks().length;
    t.ok(count < 50, `${text}: ${count}`);
  }
  t.equal(next('30 23 28 3 *', 'America/Nuuk', '2025-03-30T12:00:00Z'), '2026-03-29T01:00Z', 'and finds the gap');
  t.ok(looks().length < 100);
  t.end();
});

t.test('CRN-1 · in autumn a fixed time that comes twice fires the first time only; a pace is kept', (t) => {
  // Berlin, 25 October 2026: 03:00 becomes 02:00, at 01:00 UTC.
  t.same(times('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2), ['2026-10-25T00:30Z', '2026-10-26T01:30Z']);
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45:00Z'), '2026-10-26T01:30Z', 'from between the two');
  t.same(times('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00:00Z', 4), [
    '2026-10-25T00:30Z',
    '2026-10-25T01:00Z',
    '2026-10-25T01:30Z',
    '2026-10-25T02:00Z',
  ]);
  t.same(times('0 * * * *', 'America/New_York', '2026-11-01T04:30:00Z', 3), [
    '2026-11-01T05:00Z',
    '2026-11-01T06:00Z',
    '2026-11-01T07:00Z',
  ]);
  t.end();
});

t.test('CRN-1 · over a year of changed clocks every day has its firing, and no moment has two', (t) => {
  // An hour and half an hour, north and south; the others take seconds.
  const zones = ['Europe/Berlin', 'Australia/Lord_Howe'];
  if (!inAllOnly) zones.push('America/New_York', 'Africa/Casablanca', 'UTC');
  for (const zone of zones) {
    const reading = readSchedule('30 2 * * *');
    if (reading.kind === 'invalid') return t.fail(reading.problem);
    const timing = { kind: 'scheduled', schedule: reading.schedule, zone, print: '' } as const;
    let settled = Date.UTC(2025, 11, 31, 23, 59);
    const fired: number[] = [];
    // Looked at every five hours, as a daemon that sleeps and wakes would.
    for (let nowMs = settled; nowMs < Date.UTC(2027, 0, 1); nowMs += 5 * 3_600_000) {
      const verdict = whatIsDue({ timing, nowMs, graceMs: 6 * 3_600_000, anchorMs: 0, settledMs: [settled] }, nextDue);
      if (verdict.kind !== 'fires') continue;
      fired.push(verdict.dueAtMs);
      settled = verdict.dueAtMs;
    }
    const days = new Set(
      fired.map((atMs) => new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(atMs)),
    );
    t.equal(fired.length, 365, zone);
    t.equal(days.size, 365, zone);
  }
  t.end();
});

t.test('CRN-1 · the rewritten expression means what was written', (t) => {
  const parts = [
    ['*', '*/7', '0', '5-50/15', '1,2,59'],
    ['*', '*/5', '3', '1-23/4', '0,12'],
    ['*', '*/9', '31', '28-30', '1,15'],
    ['*', '*/5', 'feb', '6-8', '1,12'],
    ['*', '*/2', 'sun', '5-7', '1,3'],
  ] as const;
  let state = 7;
  const pick = <Value>(list: readonly Value[]): Value => {
    state = (state * 48_271) % 2_147_483_647;
    return list[state % list.length] as Value;
  };
  for (let round = 0; round < 60; round += 1) {
    const text = parts.map((list) => pick(list)).join(' ');
    const reading = readSchedule(text);
    if (reading.kind === 'invalid') continue;
    const afterMs = Date.UTC(2026, state % 12, 1 + (state % 28), 12, 34);
    const found = nextDue(reading.schedule, 'UTC', afterMs, 0);
    if (found === undefined) {
      t.fail(`${text} is never due`);
      continue;
    }
    let expected = afterMs - (afterMs % 60_000) + 60_000;
    while (!falls(text, new Date(expected)) && expected <= found) {
      expected = fallsOnDay(text, new Date(expected)) ? expected + 60_000 : nextDay(expected);
    }
    t.equal(new Date(found).toISOString(), new Date(expected).toISOString(), text);
  }
  t.end();
});

t.test('CRN-1 · what cannot be is never due and never thrown, and a zone is known by its name', (t) => {
  t.equal(nextDue({ kind: 'fields', expression: '0 0 30 2 *' }, 'UTC', 0, 0), undefined);
  t.equal(nextDue({ kind: 'fields', expression: 'rubbish' }, 'UTC', 0, 0), undefined);
  t.equal(nextDue({ kind: 'fields', expression: '* * * * *' }, 'Mars/Olympus', 0, 0), undefined);
  t.equal(nextDue({ kind: 'fields', expression: '0 0 29 2 *' }, 'UTC', 8.64e15, 0), undefined);
  t.same(['UTC', 'Europe/Berlin', 'America/New_York', String(hostZone())].map(knowsZone), [true, true, true, true]);
  t.same(['', 'Mars/Olympus', '+02:00', 'Europe/Berlin\n', '../x'].map(knowsZone), [false, false, false, false, false]);
  t.end();
});

/** A minute by minute reading of its own, for comparison. */
function falls(text: string, at: Date): boolean {
  const [minute = '', hour = ''] = text.split(' ');
  return matches(minute, at.getUTCMinutes(), 0) && matches(hour, at.getUTCHours(), 0) && fallsOnDay(text, at);
}

function fallsOnDay(text: string, at: Date): boolean {
  const [, , day = '', month = '', weekday = ''] = text.replace('feb', '2').replace('sun', '0').split(' ');
  const onDay = matches(day, at.getUTCDate(), 1);
  const onWeekday = matches(weekday, at.getUTCDay(), 0) || matches(weekday, at.getUTCDay() + 7, 7);
  const either = day !== '*' && weekday !== '*' ? onDay || onWeekday : onDay && onWeekday;
  return matches(month, at.getUTCMonth() + 1, 1) && either;
}

function matches(field: string, value: number, lowest: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [from = 0, to] = range === '*' ? [lowest, 99] : range.split('-').map(Number);
    return value >= from && value <= (to ?? from) && (value - from) % Number(step) === 0;
  });
}

function nextDay(atMs: number): number {
  return atMs - (atMs % 86_400_000) + 86_400_000;
}
