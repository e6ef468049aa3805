import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { checkNewJob, readJob, restOf, restReason, timingOf } from '../../../machines/cron/job.ts';

const knowsZone = (zone: string): boolean => zone === 'UTC' || zone === 'Europe/Berlin';
const fit: JsonObject = { id: 'j', name: 'digest', prompt: 'Sum up.', schedule: '@daily', timezone: 'UTC' };

t.test('CRN-1 · a record is read leniently: what it lacks is filled in, what is odd is passed over', (t) => {
  const bare = {
    name: 'j',
    prompt: '',
    enabled: true,
    paused: false,
    skills: [],
    deliver: 'log',
    deliverExtra: {},
  };
  t.same(readJob({ id: 'j' }), { id: 'j', ...bare });
  t.same(readJob({ id: 'j', paused: null, enabled: null, deliver: null }), { id: 'j', ...bare });
  t.same(readJob({ id: 'j', schedule: null, timezone: 7, grace_seconds: -1, created_at: 'never', model: {} }), {
    id: 'j',
    ...bare,
    doubt:
      'model is {} and is passed over; write a name; timezone is 7 and is passed over; write the name of a zone; grace_seconds is -1 and is passed over; write a number, 0 or more; created_at is "never" and is passed over; write a time such as "2026-06-01T08:00:00Z"',
  });
  const nothingToDo = { doubt: /^a scheduled job needs a prompt or a skill/ };
  const payload = { kind: 'agentTurn', message: 'Sum up.' };
  t.match(readJob({ id: 'j', schedule: { kind: 'cron', expr: '0 7 * * *', tz: 'UTC' }, payload }), nothingToDo);
  t.match(readJob({ ...fit, prompt: ' ', skills: [] }), nothingToDo);
  t.equal(readJob({ ...fit, prompt: '', skills: ['brief'] })?.doubt, undefined);
  t.match(readJob({ id: 'j', resumed_at: 1780300800 }), { doubt: /^resumed_at is 1780300800 and is passed over/ });
  t.match(
    readJob({
      ...fit,
      grace_seconds: 90,
      model: ' other ',
      created_at: '2026-01-01T00:00:00Z',
      resumed_at: '2026-01-02T00:00:00Z',
    }),
    {
      schedule: '@daily',
      timezone: 'UTC',
      graceMs: 90_000,
      model: 'other',
      createdAtMs: Date.UTC(2026, 0, 1),
      resumedAtMs: Date.UTC(2026, 0, 2),
    },
  );
  for (const id of [undefined, '', null, {}]) t.equal(readJob({ ...fit, id: id as never }), undefined);
  t.equal(readJob({ id: 42 })?.id, '42');
  t.end();
});

t.test('CRN-1 · a job whose paused or enabled cannot be read is broken, not fired', (t) => {
  for (const [key, value] of [
    ['paused', 'yes'],
    ['paused', 1],
    ['enabled', 'false'],
    ['enabled', {}],
  ] as const) {
    const job = readJob({ ...fit, [key]: value });
    t.equal(job && restOf(job), 'broken', `${key}: ${JSON.stringify(value)}`);
    t.equal(job?.flaw, `${key} is ${JSON.stringify(value)}; write true or false`);
    t.match(job && restReason(job, 'broken'), /cron job "digest" is broken: .*write true or false/);
    t.match(checkNewJob({ ...fit, [key]: value }, knowsZone), [{ code: 'cron-job-unfit' }]);
  }
  t.end();
});

t.test('CRN-1 · a job is due by its schedule, by none, or never because its schedule is of no use', (t) => {
  const timing = (changes: JsonObject) => {
    const job = readJob({ ...fit, ...changes });
    return job && timingOf(job, knowsZone);
  };
  t.match(timing({}), { kind: 'scheduled', zone: 'UTC', print: '@daily|UTC' });
  t.same(timing({ schedule: null }), { kind: 'none' });
  t.match(timing({ schedule: '0 0 30 2 *' }), { kind: 'invalid', problem: /never falls/ });
  t.match(timing({ schedule: 5 }), { kind: 'invalid', problem: /"5" has 1 fields/ });
  t.match(timing({ schedule: { kind: 'cron' } }), { kind: 'invalid', problem: /fields/ });
  const ofHermes = { kind: 'cron', expr: '0 9 * * *', display: '0 9 * * *' };
  t.match(timing({ schedule: ofHermes }), { kind: 'scheduled', print: '0 9 * * *|UTC' });
  t.match(timing({ schedule: { kind: 'interval', minutes: 30 } }), { schedule: { everyMs: 1_800_000 } });
  t.match(timing({ schedule: ['0 9 * * *'] }), { kind: 'invalid', problem: /^the schedule \["0 9 .* is no text/ });
  // OpenClaw writes the zone into the schedule.
  const ofOpenClaw = { kind: 'cron', expr: '0 9 * * *', tz: 'Mars/Base' };
  t.match(timing({ schedule: ofOpenClaw, timezone: null }), { problem: /^"Mars\/Base" is no time zone/ });
  t.match(timing({ schedule: { ...ofOpenClaw, tz: 'UTC' }, timezone: null }), { kind: 'scheduled', zone: 'UTC' });
  t.match(timing({ schedule: ofOpenClaw }), { kind: 'scheduled', zone: 'UTC' });
  const once = { kind: 'once', run_at: '2027-01-01T09:00:00+01:00' };
  t.match(timing({ schedule: once }), {
    kind: 'invalid',
    problem: /^the schedule \{"kind":"once".* is no text; write five/,
  });
  t.match(timing({ timezone: 'Mars/Olympus' }), { kind: 'invalid', problem: /"Mars\/Olympus" is no time zone/ });
  t.end();
});

t.test('CRN-1 · a new job is held to every rule, and all findings come at once', (t) => {
  t.same(checkNewJob(fit, knowsZone), []);
  t.same(checkNewJob({ id: 'j', name: 'by webhook' }, knowsZone), [], 'a job without a schedule needs no prompt');
  t.same(checkNewJob({ ...fit, prompt: '', skills: ['review'] }, knowsZone), []);
  const rows: readonly (readonly [JsonObject, string, RegExp])[] = [
    [{ name: ' ' }, 'cron-name', /empty/],
    [{ name: 'a\nb' }, 'cron-name', /control characters/],
    [{ name: 'x'.repeat(101) }, 'cron-name', /longer than 100/],
    [{ schedule: '61 * * * *' }, 'cron-schedule', /61 is above 59/],
    [{ timezone: 'Nowhere' }, 'cron-timezone', /"Nowhere" is no time zone/],
    [{ prompt: ' ' }, 'cron-prompt', /needs a prompt or a skill/],
    [{ deliver: 'telegran' }, 'deliver-unknown', /did you mean "telegram"/],
    [{ on_failure: 'telegran' }, 'deliver-unknown', /notifies "telegran" of failed runs.*did you mean "telegram"/],
    [{ model: ' ' }, 'cron-model', /no name/],
    [{ model: 'a\nb' }, 'cron-model', /no name/],
    [{ model: 5 }, 'cron-model', /no name/],
    [{ grace_seconds: -1 }, 'cron-grace', /from 0 to/],
    [{ grace_seconds: '5' }, 'cron-grace', /from 0 to/],
    [{ id: '' }, 'cron-id', /needs an id/],
  ];
  for (const [changes, code, message] of rows) {
    const found = checkNewJob({ ...fit, ...changes }, knowsZone);
    t.match(found, [{ code, message }], code);
    t.equal(found.length, 1, code);
  }
  t.equal(checkNewJob({ ...fit, schedule: 'x', timezone: 'y', deliver: 'z', prompt: '' }, knowsZone).length, 4);
  t.end();
});
