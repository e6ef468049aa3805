import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import * as cron from '../../../cli/commands/cron.ts';
import { betweenValues, type CommandContext } from '../../../cli/context.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../machines/base/json.ts';
import type { Command, CommandHost } from '../../../runtime/control/command.ts';
import { Refusal } from '../../../runtime/control/contract/refusal.ts';
import type { Ask } from '../../../runtime/control/contract.ts';
import { cronCommands } from '../../../runtime/control/cron-commands.ts';
import type { HandVerdict } from '../../../runtime/cron/schedule.ts';
import type { CronView, JobStanding } from '../../../runtime/cron/view.ts';
import { makeHome, type TestHome } from '../../support/home.ts';

const commands = new Map<string, Command>(Object.entries(cronCommands));
const peer = { notify: () => {}, onEnd: () => () => {} };

interface Rig {
  readonly home: TestHome;
  call(method: string, params?: JsonObject): Promise<Json>;
  file(profile?: string): JsonObject;
}

function rig(t: Test, view?: CronView, files: Readonly<Record<string, string>> = {}): Rig {
  const home = makeHome(t, files);
  const daemon = (view === undefined ? undefined : { cron: view }) as unknown as CommandHost['daemon'];
  const host: CommandHost = { source: { home: home.path, env: {} }, ...(daemon === undefined ? {} : { daemon }) };
  return {
    home,
    async call(method, params = {}) {
      const answer = await commands.get(method)?.(host, params, peer);
      return JSON.parse(JSON.stringify(answer ?? null)) as Json;
    },
    file: (profile) => {
      const folder = profile === undefined ? home.path : `${home.path}/profiles/${profile}`;
      return JSON.parse(readFileSync(`${folder}/cron/jobs.json`, 'utf8')) as JsonObject;
    },
  };
}

const digest = {
  name: 'digest',
  record: { schedule: '0 9 * * 1-5', timezone: 'UTC', prompt: 'Sum up.' },
};

const daily = { prompt: 'Sum up.', schedule: '0 9 * * *', timezone: 'UTC' };

/** The refusal of a call, by its code and words. */
async function refusal(call: Promise<Json>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof Refusal) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  return { code: 'none', message: 'it was not refused' };
}

t.test('CRN-1 · CLI-5 · jobs are added, listed, shown, paused, resumed and removed without a daemon', async (t) => {
  const { call, file } = rig(t);
  t.same(await call('cron.list'), []);
  const added = (await call('cron.add', digest)) as JsonObject;
  t.match(added, {
    id: /^[0-9a-f]{12}$/,
    name: 'digest',
    profile: 'default',
    schedule: '0 9 * * 1-5',
    timezone: 'UTC',
    state: 'scheduled',
    next_due: /T09:00:00\.000Z$/,
    deliver: 'log',
  });
  t.match(file(), { jobs: [{ id: added.id, name: 'digest', created_at: /^\d{4}-/, prompt: 'Sum up.' }] });
  t.match(await call('cron.list'), [{ name: 'digest' }]);
  const shown = (await call('cron.show', { job: String(added.id) })) as JsonObject;
  t.match(shown, { prompt: 'Sum up.', grace_seconds: 3_600, skills: [] });
  t.equal((shown.next as Json[]).length, 5);
  t.notOk('history' in shown, 'the journal is the daemon’s');

  t.match(await call('cron.pause', { job: 'digest' }), { state: 'paused', next_due: null });
  t.match(await call('cron.pause', { job: 'digest' }), { state: 'paused' }, 'twice is once');
  t.match(await call('cron.show', { job: 'digest' }), { state: 'paused', next: [] });
  t.match(file(), { jobs: [{ paused: true }] });
  t.match(await call('cron.resume', { job: 'digest' }), { state: 'scheduled' });
  t.match(file(), { jobs: [{ resumed_at: /^\d{4}-/ }] });
  t.notOk('paused' in ((file().jobs as JsonObject[])[0] ?? {}));
  t.match(await call('cron.remove', { job: 'digest' }), { removed: 'digest', id: added.id });
  t.same(await call('cron.list'), []);
});

t.test('CRN-1 · a job without a zone gets that of the machine, written down', async (t) => {
  const { call, file } = rig(t);
  await call('cron.add', { name: 'a', record: { schedule: '@daily', prompt: 'p' } });
  const [job] = file().jobs as JsonObject[];
  t.equal(job?.timezone, new Intl.DateTimeFormat().resolvedOptions().timeZone);
  t.match(await call('cron.add', { name: 'b', record: {} }), { state: 'idle', schedule: '', next_due: null });

  const { TZ } = process.env;
  t.teardown(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });
  process.env.TZ = '';
  t.match(await call('cron.add', { name: 'c', record: { schedule: '@daily', prompt: 'p' } }), { timezone: 'UTC' });
  process.env.TZ = 'UTC+3';
  t.match(await refusal(call('cron.add', { name: 'd', record: { schedule: '@daily', prompt: 'p' } })), {
    code: 'cron-timezone',
    message: 'cron job "d": TZ is "UTC+3", which names no time zone; give --timezone, such as "UTC" or "Europe/Berlin"',
  });
  const { DateTimeFormat } = Intl;
  t.teardown(() => Object.assign(Intl, { DateTimeFormat }));
  class Nameless {
    readonly resolvedOptions = () => ({});
  }
  Object.assign(Intl, { DateTimeFormat: Nameless });
  delete process.env.TZ;
  t.match(await refusal(call('cron.add', { name: 'd', record: { schedule: '@daily', prompt: 'p' } })), {
    message: /^cron job "d": the system names no time zone; give --timezone/,
  });
});

t.test('CRN-1 · what cannot be is refused with its code, and nothing is written', async (t) => {
  const { call, home } = rig(t);
  const rows: readonly (readonly [JsonObject, string, RegExp])[] = [
    [{ schedule: '0 0 30 2 *', prompt: 'p' }, 'cron-schedule', /never falls/],
    [{ schedule: 'every 5s', prompt: 'p' }, 'cron-schedule', /every 1m/],
    [{ schedule: '@daily', prompt: 'p', timezone: 'Mars' }, 'cron-timezone', /"Mars" is no time zone/],
    [{ schedule: '@daily' }, 'cron-prompt', /needs a prompt/],
    [{ deliver: 'fax' }, 'deliver-unknown', /no target/],
  ];
  for (const [record, code, message] of rows)
    t.match(await refusal(call('cron.add', { name: 'x', record })), { code, message });
  const both = await refusal(call('cron.add', { name: 'x', record: { schedule: '@daily', deliver: 'fax' } }));
  t.equal(both.message.split('\n').length, 2, 'all findings at once');
  t.match(await refusal(call('cron.add', {})), { code: 'params-missing' });
  t.match(await refusal(call('cron.add', { ...digest, profile: 'work' })), { code: 'profile-unknown' });
  t.match(await refusal(call('cron.add', { ...digest, profile: '../x' })), { code: 'profile-name' });
  t.same(await call('cron.list'), []);

  await call('cron.add', digest);
  t.match(await refusal(call('cron.add', digest)), { code: 'cron-job-exists', message: /--force/ });
  const [before] = (await call('cron.list')) as JsonObject[];
  await call('cron.add', { ...digest, force: true, record: { ...digest.record, schedule: '@hourly' } });
  t.match(await call('cron.list'), [{ id: before?.id, schedule: '@hourly' }], 'a replaced job keeps its id');
  for (const method of ['cron.show', 'cron.pause', 'cron.resume', 'cron.remove']) {
    t.match(await refusal(call(method, { job: 'nobody' })), { code: 'cron-job-unknown', message: /cron list/ }, method);
  }
  t.match(await refusal(call('cron.run', { job: 'digest' })), { code: 'gateway-not-running' });

  home.write('cron/jobs.json', '{');
  t.match(await call('cron.list'), [{ state: 'broken', problem: /correct it/ }]);
  t.match(await refusal(call('cron.pause', { job: 'digest' })), { code: 'cron-jobs-corrupt' });
  t.match(await refusal(call('cron.add', digest)), { code: 'cron-jobs-corrupt', message: /correct it/ });
});

t.test('PRF-2 · CRN-1 · jobs are their profile’s', async (t) => {
  const { call, file } = rig(t, undefined, {
    'config.yaml': 'gateway: {multiplex_profiles: true}\n',
    'profiles/work/config.yaml': '{}\n',
  });
  await call('cron.add', digest);
  await call('cron.add', { ...digest, profile: 'work' });
  t.match(await call('cron.list'), [{ profile: 'default' }, { profile: 'work' }]);
  t.match(await call('cron.list', { profile: 'work' }), [{ profile: 'work' }]);
  await call('cron.remove', { job: 'digest', profile: 'work' });
  t.same([(file().jobs as Json[]).length, (file('work').jobs as Json[]).length], [1, 0]);
});

t.test('CRN-1 · a hand-written file shows what is wrong with its jobs', async (t) => {
  const { call } = rig(t, undefined, {
    'cron/jobs.json': JSON.stringify([
      { id: 'a', schedule: '61 * * * *' },
      { id: 'b', schedule: '@daily', timezone: 'Mars' },
      { id: 'c', enabled: false, schedule: '@daily' },
    ]),
  });
  t.match(await call('cron.list'), [
    { id: 'a', state: 'broken', problem: /61 is above 59/, next_due: null },
    { id: 'b', state: 'broken', problem: /no time zone/ },
    { id: 'c', state: 'disabled', next_due: null },
  ]);
  await call('cron.resume', { job: 'c' });
  t.match(await call('cron.show', { job: 'c' }), { state: 'scheduled' });
});

t.test('CRN-1 · a daemon says how jobs stand, hears of changes, and fires', async (t) => {
  let looks = 0;
  let verdict: HandVerdict = { kind: 'granted', run: 'r1', opened: { kind: 'nothing' } };
  const asked: unknown[] = [];
  let standing: JobStanding = { state: 'running', sinceMs: 0, dueAtMs: 0, run: 'r0' };
  const view: CronView = {
    standing: () => standing,
    history: async (_profile, _job, limit) => [
      { at: '2026-06-01T09:00:00.000Z', cause: 'schedule', status: 'delivered', delivery_id: `${limit}` },
    ],
    run: async (...given) => {
      asked.push(given);
      return verdict;
    },
    store: () => undefined,
    redact: (row) => row,
    look: () => {
      looks += 1;
    },
  };
  const { call } = rig(t, view);
  t.match(await call('cron.add', digest), {
    state: 'running',
    run: 'r0',
    since: '1970-01-01T00:00:00.000Z',
    next_due: /T09:00:00\.000Z$/,
  });
  t.match(await call('cron.show', { job: 'digest', limit: 3 }), { history: [{ cause: 'schedule', delivery_id: '3' }] });
  await call('cron.pause', { job: 'digest' });
  standing = { state: 'planning', sinceMs: 0, dueAtMs: 0, why: 'paused' };
  const resumed = (await call('cron.resume', { job: 'digest' })) as JsonObject;
  t.same([resumed.state, resumed.why], ['scheduled', undefined]);
  t.match(resumed.next_due, /T09:00:00\.000Z$/, 'its earlier due time is not the next');
  await call('cron.remove', { job: 'digest' });
  t.equal(looks, 4);
  t.same(await call('cron.run', { job: 'digest', context: 'c' }), { run: 'r1', profile: 'default' });
  t.same(asked, [['default', 'digest', { context: 'c', force: false }]]);
  const rows: readonly (readonly [HandVerdict, string, RegExp])[] = [
    [{ kind: 'unknown' }, 'cron-job-unknown', /does not exist/],
    [{ kind: 'dropped', rest: 'paused' }, 'cron-job-paused', /--force/],
    [{ kind: 'dropped', rest: 'disabled' }, 'cron-job-disabled', /resume digest/],
    [{ kind: 'dropped', rest: 'broken' }, 'cron-job-broken', /is broken and was not fired/],
    [{ kind: 'ambiguous', ids: ['a', 'b'] }, 'cron-job-ambiguous', /2 cron jobs.*by its id: a, b/],
    [{ kind: 'taken' }, 'cron-job-taken', /another gateway/],
    [{ kind: 'refused', reason: 'disk full' }, 'journal-unavailable', /disk full/],
  ];
  for (const [given, code, message] of rows) {
    verdict = given;
    t.match(await refusal(call('cron.run', { job: 'digest' })), { code, message });
  }
  verdict = { kind: 'dropped', rest: 'paused' };
  const files = { 'config.yaml': 'gateway: { multiplex_profiles: true }\n', 'profiles/work/config.yaml': '{}\n' };
  t.match(await refusal(rig(t, view, files).call('cron.run', { job: 'a b', profile: 'work' })), {
    message: /`agent cron resume 'a b' --profile work`/,
  });
});

t.test('CRN-1 · damaged records are reported, and edits touch one of them', async (t) => {
  const records: readonly Json[] = [
    { ...daily, id: 'a', name: 'one', paused: 'yes' },
    { ...daily, id: 'a', name: 'two' },
    { ...daily, id: 'b', name: 'same', deliver: 'telegran' },
    { ...daily, id: 'c', name: 'same' },
    { name: 'nameless' },
    7,
  ];
  const { call, file } = rig(t, undefined, { 'cron/jobs.json': JSON.stringify({ jobs: records }) });
  const rows = (await call('cron.list')) as JsonObject[];
  t.match(
    rows.map(({ id, name, state, problem }) => [id, name, state, problem]),
    [
      ['a', 'one', 'broken', 'paused is "yes"; write true or false'],
      ['b', 'same', 'scheduled', /"telegran", which is no target; did you mean "telegram".*job c has this name too/],
      ['c', 'same', 'scheduled', /job b has this name too/],
      ['a', 'two', 'broken', /record 2 of jobs\.json has the id "a" of a job before it and is never fired/],
      ['', 'nameless', 'broken', /record 5 of jobs\.json has no id/],
      ['', 'jobs.json', 'broken', /record 6 of jobs\.json is no object/],
    ],
  );
  t.equal(rows[0]?.next_due, null, 'it is not fired');
  for (const method of ['cron.pause', 'cron.remove', 'cron.show']) {
    t.match(await refusal(call(method, { job: 'same' })), { code: 'cron-job-ambiguous', message: /by its id: b, c/ });
  }
  const replacing = call('cron.add', { name: 'same', force: true, record: daily });
  t.match(await refusal(replacing), { code: 'cron-job-ambiguous', message: /by its id: b, c/ });

  t.match(await call('cron.resume', { job: 'a' }), { name: 'one', state: 'scheduled' });
  t.match(file().jobs, [{ name: 'one', paused: undefined }, records[1] as JsonObject]);
  await call('cron.pause', { job: 'a' });
  t.match(file().jobs, [
    { name: 'one', paused: true },
    { name: 'two', paused: undefined },
  ]);
  await call('cron.remove', { job: 'a' });
  t.same((file().jobs as readonly Json[]).slice(0), records.slice(1));
});

t.test('CRN-1 · CLI-5 · HOME-4 · an edit changes the named keys of a job and keeps the others', async (t) => {
  const old = '2026-01-01T00:00:00.000Z';
  const records: readonly JsonObject[] = [
    {
      id: 7,
      name: 9,
      prompt: 'p',
      schedule: { kind: 'cron', expr: '0 9 * * *', tz: 'Asia/Tokyo' },
      created_at: old,
      mine: null,
    },
    { id: 'b', name: 'b', prompt: 'p', deliver: 'slack', deliver_extra: { chat_id: 'C1' }, created_at: old },
    { id: 'c', name: 'same', prompt: 'p' },
    { id: 'd', name: 'same', prompt: 'p' },
  ];
  const text = JSON.stringify({ note: 'kept', jobs: records });
  const { call, file } = rig(t, undefined, { 'cron/jobs.json': text });

  t.match(await call('cron.edit', { job: '7', record: { schedule: '0 8 * * *' } }), { timezone: 'Asia/Tokyo' });
  const first = (file().jobs as readonly JsonObject[])[0];
  t.match(first, { id: 7, schedule: '0 8 * * *', timezone: 'Asia/Tokyo', created_at: old, mine: null });
  t.match(first?.resumed_at, /^20/, 'what was due before is not caught up');
  await call('cron.edit', { job: 'b', record: { deliver: null, deliver_extra: null, prompt: 'q', grace_seconds: 0 } });
  const { deliver: _, deliver_extra: __, ...rest } = records[1] ?? {};
  t.same(file(), { note: 'kept', jobs: [first, { ...rest, prompt: 'q', grace_seconds: 0 }, ...records.slice(2)] });

  const before = file();
  for (const [job, record, code] of [
    ['b', { schedule: '61 * * * *' }, 'cron-schedule'],
    ['b', { timezone: 'Nowhere/City' }, 'cron-timezone'],
    ['b', { timezone: '' }, 'cron-timezone'],
    ['b', { schedule: '@daily', timezone: 'UTC', prompt: null }, 'cron-prompt'],
    ['b', { deliver: 'fax' }, 'deliver-unknown'],
    ['b', { id: 'c' }, 'cron-job-unfit'],
    ['b', { prompt: 'Fetch ?token=[redacted]' }, 'cron-job-unfit'],
    ['same', { prompt: 'q' }, 'cron-job-ambiguous'],
    ['none', { prompt: 'q' }, 'cron-job-unknown'],
  ] as const) {
    t.match(await refusal(call('cron.edit', { job, record })), { code }, JSON.stringify(record));
  }
  t.same(file(), before);
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  t.match(await call('cron.edit', { job: '7', record: { timezone: null } }), { timezone: zone });
  t.match((file().jobs as readonly JsonObject[])[0], { timezone: zone }, 'it is kept, as that of a new job');
});

/** Runs a command of the command line over the commands themselves. */
function shell({ home, call }: Rig) {
  return async (
    run: (context: CommandContext) => Promise<number>,
    args: readonly string[],
    flags: Readonly<Record<string, string | true>> = {},
  ) => {
    let stdout = '';
    let stderr = '';
    const code = await run({
      args,
      flags,
      home: home.path,
      gateway: { home: home.path, socket: `${home.path}/gateway.sock` },
      env: {},
      out: {
        isTerminal: false,
        coloured: false,
        columns: 80,
        print: (text) => {
          stdout += text;
        },
        complain: (text) => {
          stderr += text;
        },
      },
      ask: call as Ask,
    });
    return { code, stdout, stderr };
  };
}

t.test('CRN-1 · CLI-2 · the command line says what it did, and gives data with --json', async (t) => {
  const view: CronView = {
    standing: () => undefined,
    history: async () => [
      { at: '2026-06-01T09:00:00.000Z', cause: 'schedule', status: 'ignored', reason: 'two\nlines', delivery_id: 'd' },
    ],
    run: async () => ({ kind: 'granted', run: 'r1', opened: { kind: 'nothing' } }),
    store: () => undefined,
    redact: (row) => row,
    look: () => {},
  };
  const made = rig(t, view);
  const run = shell(made);
  t.match((await run(cron.listJobs, [])).stdout, /No jobs\. Add one/);
  t.match(
    (await run(cron.addJob, ['digest', '0 9 * * *'], { prompt: 'Sum up.', timezone: 'UTC' })).stdout,
    /^Added digest\. Next: .*T09:00/,
  );
  t.match((await run(cron.addJob, ['hook'])).stdout, /^Added hook\. It has no schedule/);
  const flags = {
    prompt: 'p',
    skill: ['one', 'two'].join(betweenValues),
    model: 'other',
    deliver: 'telegram',
    'deliver-chat-id': '7',
    'on-failure': 'slack',
    'on-failure-chat-id': 'C1',
    grace: '60',
    paused: true,
  } as const;
  t.match(
    (await run(cron.addJob, ['full', 'every 2h'], flags)).stdout,
    /^Added full\. It is paused\. Note: delivers to "telegram", which is not enabled; set platforms\.telegram/,
  );
  t.match((made.file().jobs as Json[])[2], {
    skills: ['one', 'two'],
    model: 'other',
    deliver: 'telegram',
    deliver_extra: { chat_id: '7' },
    on_failure: 'slack',
    on_failure_extra: { chat_id: 'C1' },
    grace_seconds: 60,
    paused: true,
  });
  t.match(
    (await run(cron.listJobs, [])).stdout,
    /NAME +STATE[\s\S]*digest +scheduled[\s\S]*hook +idle[\s\S]*full +paused/,
  );
  const shown = (await run(cron.showJob, ['digest'])).stdout;
  t.match(
    shown,
    /Schedule +0 9 \* \* \* \(UTC\)[\s\S]*Next +\d{4}[\s\S]*Sum up\.[\s\S]*schedule +ignored[\s\S]*two lines/,
  );
  t.match((await run(cron.showJob, ['full'])).stdout, /On failure +slack[\s\S]*Model +other/);
  t.notMatch(shown, /Model/);
  const edits = { unset: 'on_failure', deliver: 'log' };
  t.match((await run(cron.editJob, ['full', 'every 3h'], edits)).stdout, /^Changed full\. It is paused\./);
  const edited = (made.file().jobs as JsonObject[])[2] ?? {};
  t.match(edited, { schedule: 'every 3h', deliver: 'log', model: 'other', skills: ['one', 'two'], paused: true });
  t.notMatch(JSON.stringify(edited), /_extra|on_failure/, 'the chats of the earlier targets');
  t.match(await run(cron.editJob, ['full']), { code: 2, stderr: /name what is to change/ });
  t.match((await run(cron.pauseJob, ['digest'])).stdout, /^Paused digest/);
  t.match((await run(cron.resumeJob, ['digest'])).stdout, /^Resumed digest\. Next/);
  t.match((await run(cron.runJob, ['digest'], { context: 'c' })).stdout, /agent runs show r1/);
  for (const [command, args] of [
    [cron.listJobs, []],
    [cron.showJob, ['digest']],
    [cron.pauseJob, ['digest']],
    [cron.resumeJob, ['digest']],
    [cron.runJob, ['digest']],
    [cron.removeJob, ['digest']],
  ] as const) {
    const { stdout } = await run(command, args, { json: true });
    const value = JSON.parse(stdout) as Json;
    t.ok(isJsonObject(value) || Array.isArray(value), args.join());
  }
  t.match((await run(cron.removeJob, ['hook'])).stdout, /^Removed hook/);
  t.match(
    (await run(cron.addJob, ['skilled', 'every 2h'], { skill: 'gone' })).stdout,
    /^Added skilled\..* Note: names the skill gone, which does not exist; put it into/,
  );
});

t.test('CRN-1 · the next times are shown as the clocks of the job’s zone show them, with their offset', async (t) => {
  const record = { ...daily, id: 'b', name: 'tokyo', timezone: 'Asia/Tokyo' };
  const it = rig(t, undefined, { 'cron/jobs.json': JSON.stringify([record]) });
  const run = shell(it);
  const next = /\d{4}-\d\d-\d\dT09:00:00\+09:00/;
  t.match((await run(cron.listJobs, [])).stdout, next);
  t.match((await run(cron.showJob, ['tokyo'])).stdout, next);
  t.match(await it.call('cron.list'), [{ next_due: /T00:00:00\.000Z$/ }], 'a program has it in UTC');
});
