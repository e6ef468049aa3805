import t from 'tap';
import { nextOfInterval, readSchedule } from '../../../machines/cron/expression.ts';

t.test('CRN-1 · five fields, nicknames and intervals are read into one form', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['* * * * *', '* * * * *'],
    ['  0   9 * * 1-5 ', '0 9 * * 1,2,3,4,5'],
    ['*/15 0-6/2 1,15 jan-MAR mon,FRI', '*/15 0-6/2 1,15 1,2,3 1,5'],
    ['5 4 * * sun', '5 4 * * 0'],
    ['5 4 * * 7', '5 4 * * 0'],
    ['5 4 * * fri-sun', '5 4 * * 0,5,6'],
    ['5 4 * * 5-7', '5 4 * * 0,5,6'],
    ['0 0 */10 * *', '0 0 1,11,21,31 * *'],
    ['0 0 * */6 *', '0 0 * 1,7 *'],
    ['0 0 * * */3', '0 0 * * 0,3,6'],
    ['0 0 1,* * *', '0 0 * * *'],
    ['0 0 29 2 *', '0 0 29 2 *'],
    ['0 0 30 2 1', '0 0 30 2 1'],
    ['0 0 31 2,3 *', '0 0 31 2,3 *'],
    ['@hourly', '0 * * * *'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@Weekly', '0 0 * * 0'],
    ['@monthly', '0 0 1 * *'],
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
  ];
  for (const [text, expression] of rows) {
    t.same(readSchedule(text), { kind: 'read', schedule: { kind: 'fields', expression } }, text);
  }
  const intervals: readonly (readonly [string, number])[] = [
    ['every 1m', 1],
    ['every 15m', 15],
    ['Every 2h', 120],
    ['every 1h30m', 90],
    ['every 1h 30m', 90],
    ['every 1d', 1_440],
    ['every 90 m', 90],
  ];
  for (const [text, minutes] of intervals) {
    t.same(readSchedule(text), { kind: 'read', schedule: { kind: 'interval', everyMs: minutes * 60_000 } }, text);
  }
  t.end();
});

t.test('CRN-1 · what is no schedule, or never falls, is named with its field, its value and the cure', (t) => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['', /empty/],
    ['0 9 * *', /has 4 fields, not 5/],
    ['0 0 9 * * *', /has 6 fields, not 5.*no field for seconds/],
    ['60 * * * *', /minute "60": 60 is above 59/],
    ['* 24 * * *', /hour "24": 24 is above 23/],
    ['* * 0 * *', /day of the month "0": 0 is below 1/],
    ['* * * 13 *', /month "13": 13 is above 12/],
    ['* * * * 8', /day of the week "8": 8 is above 7/],
    ['* * * foo *', /month "foo": "foo" is not known/],
    ['* * * * mon-', /"mon-" is no number, range, step or \*/],
    ['1,,2 * * * *', /empty/],
    ['*/0 * * * *', /a step of 0/],
    ['*/90 * * * *', /step of 90 is above 59/],
    ['5/15 * * * *', /write 5-59\/15 or \*\/15/],
    ['* 22-2 * * *', /write 22-23,0-2/],
    ['* * * * sat-mon', /write sat-6,0-mon$/],
    ['* * * * 7-1', /runs backwards; write 0-1$/],
    ['*-5 * * * *', /\* cannot begin a range/],
    ['0 0 L * *', /"L" is not known/],
    ['0 0 ? * *', /"\?" is no number/],
    ['-1 * * * *', /is no number/],
    ['0 0 30 2 *', /never falls: no chosen month has a day 30/],
    ['0 0 31 4,6,9,11 *', /never falls/],
    ['CRON_TZ=Europe/Berlin 0 9 * * *', /begins with a zone; give the zone as `timezone`$/],
    ['TZ=UTC @daily', /begins with a zone/],
    ['@reboot', /known are @hourly/],
    ['@every 1h30m', /write "every 1h30m"$/],
    ['every', /write "every 15m"/],
    ['every 30s', /counts seconds; the shortest interval is a minute: write "every 1m"/],
    ['every 0m', /shortest interval is 1m/],
    ['every 400d', /longest interval/],
    ['every fortnight', /is no interval/],
    ['every weekday at 9', /is no interval; .*five fields for days and times: "0 9 \* \* 1-5"/],
    ['tomorrow', /has 1 fields/],
  ];
  for (const [text, problem] of rows) {
    const reading = readSchedule(text);
    t.equal(reading.kind, 'invalid', text);
    if (reading.kind === 'invalid') t.match(reading.problem, problem, text);
  }
  t.end();
});

t.test('CRN-1 · an interval is counted in whole steps from its anchor, before which it is never due', (t) => {
  const rows: readonly (readonly [number, number, number, number])[] = [
    [60, 0, 0, 60],
    [60, 0, 59, 60],
    [60, 0, 60, 120],
    [60, 7, 7, 67],
    [60, 7, 66, 67],
    [60, 7, -1_000, 67],
    [60, 7, 1_000_000, 1_000_027],
  ];
  for (const [every, anchor, after, expected] of rows) {
    t.equal(nextOfInterval(every, anchor, after), expected, `${every} from ${anchor} after ${after}`);
  }
  t.end();
});
