import t, { type Test } from 'tap';
import { createActor, createMachine, SimulatedClock } from 'xstate';
import type { LoadedHome } from '../../../actors/config/load-config.ts';
import type { CronEventRecord } from '../../../actors/cron/fire-cron-job.ts';
import { fileDocuments } from '../../../actors/documents.ts';
import type { LogFields, Logger } from '../../../actors/ports.ts';
import type { Journal } from '../../../actors/store/journal.ts';
import { createKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import type { Opened } from '../../../actors/webhook/claim-delivery.ts';
import { done } from '../../../machines/base/fault.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { FiringRow } from '../../../runtime/control/contract/jobs.ts';
import { assembleCron } from '../../../runtime/cron/assemble.ts';
import { createIds } from '../../../runtime/system/ids.ts';
import { makeHome, type TestHome } from '../../support/home.ts';
import { turn } from '../../support/turns.ts';

const minute = 60_000;
const hour = 60 * minute;
/** 08:30 in UTC, of a Monday. */
const start = Date.UTC(2026, 5, 1, 8, 30);
const nine = start + 30 * minute;
const daily = { id: 'j', name: 'digest', prompt: 'Sum up.', schedule: '0 9 * * *', timezone: 'UTC' };

interface Rig {
  readonly cron: ReturnType<typeof assembleCron>;
  readonly journal: Journal;
  readonly home: TestHome;
  readonly logged: string[];
  /** The runs that were opened, by key. */
  readonly runs: string[];
  /** Moves the time; the wall's clock may be set besides. */
  pass(ms: number, setBy?: number): Promise<void>;
  settle(): Promise<void>;
  jobs(records: readonly JsonObject[], profile?: string): Promise<void>;
  /** Ends a run, and reports it unless no one does. */
  end(run: string, told?: boolean): Promise<void>;
  standing(job?: string, profile?: string): string | undefined;
  history(job?: string): Promise<readonly FiringRow[]>;
  nowMs(): number;
}

/** The cron half with everything real but the time and the runs. */
async function rig(
  t: Test,
  {
    journal = openMemoryJournal(),
    home = makeHome(t),
    beginsAtMs = start,
    opens = true,
    owner = 'one',
  }: {
    readonly journal?: Journal;
    readonly home?: TestHome;
    readonly beginsAtMs?: number;
    readonly opens?: boolean;
    readonly owner?: string;
  } = {},
): Promise<Rig> {
  const clock = new SimulatedClock();
  let setMs = 0;
  const nowMs = (): number => beginsAtMs + setMs + clock.now();
  const logged: string[] = [];
  const say = (message: string, fields?: LogFields): void => {
    logged.push(fields?.cron_job === undefined ? message : `${fields.cron_job}: ${message}`);
  };
  const log: Logger = {
    log: (_level, message, fields) => say(message, fields),
    warnOnce: (_key, message) => say(message),
  };
  const keeper = createKeeper({
    open: () => Promise.resolve(done(journal)),
    owner,
    sessionTtlMs: minute,
    refused: () => {},
  });
  if (opens) await keeper.open();
  const runs: string[] = [];
  const cron = assembleCron({
    root: () => root,
    home: () =>
      ({
        documents: fileDocuments,
        profiles: new Map([
          ['default', { paths: { jobs: `${home.path}/cron/jobs.json` } }],
          ['work', { paths: { jobs: `${home.path}/profiles/work/cron/jobs.json` } }],
        ]),
      }) as unknown as LoadedHome,
    keeper,
    hasRoom: () => true,
    open: (opened: Opened) => {
      if (opened.kind === 'run') runs.push(opened.key);
    },
    nextId: createIds(),
    redact: (row) => row,
    seenRun: (_key, record) => record,
    compiling: { now: nowMs },
    nowMs,
    steadyMs: () => clock.now(),
    every: () => () => {},
    log,
  });
  const root = createActor(createMachine({ invoke: { id: 'cronJobs', src: cron.pool, systemId: 'cronJobs' } }), {
    clock,
  });
  root.start();
  t.teardown(() => root.stop());
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  };
  const made: Rig = {
    cron,
    journal,
    home,
    logged,
    runs,
    async pass(ms, setBy = 0) {
      setMs += setBy;
      clock.increment(ms);
      cron.schedule.look();
      await settle();
    },
    settle,
    async jobs(records, profile) {
      home.write(`${profile === undefined ? '' : `profiles/${profile}/`}cron/jobs.json`, JSON.stringify(records));
      cron.schedule.look();
      await settle();
    },
    async end(run, told = true) {
      const value = { ...journal.local?.get('runs', run)?.value, status: 'delivered' };
      await journal.commit([{ kind: 'put', collection: 'runs', key: run, value, dueAtMs: null }]);
      if (told) cron.schedule.runFinished(run);
      await settle();
    },
    standing: (job = 'j', profile = 'default') => cron.view.standing(profile, job)?.state,
    history: (job = 'j') => cron.view.history('default', job, 50),
    nowMs,
  };
  return made;
}

t.test('CRN-1 · a job is fired when it is due, stands by its run, and is due again', async (t) => {
  const { cron, jobs, pass, end, runs, standing, history, journal } = await rig(t);
  cron.schedule.start();
  await jobs([daily]);
  t.match(cron.view.standing('default', 'j'), { state: 'scheduled', dueAtMs: nine });
  await pass(30 * minute - 1);
  t.same(runs, []);
  await pass(1);
  t.equal(runs.length, 1);
  t.match(cron.view.standing('default', 'j'), { state: 'running', run: runs[0] });
  t.match(journal.local?.get('events', runs[0] ?? '')?.value, { prompt: 'Sum up.', dueAtMs: nine });
  await end(runs[0] ?? '');
  t.match(cron.view.standing('default', 'j'), { state: 'scheduled', dueAtMs: nine + 24 * hour });
  await pass(24 * hour);
  t.equal(runs.length, 2);
  t.match(await history(), [
    { cause: 'schedule', due_at: '2026-06-02T09:00:00.000Z', status: 'cron', run: runs[1] },
    { cause: 'schedule', due_at: '2026-06-01T09:00:00.000Z', status: 'delivered', run: runs[0] },
  ]);
  t.equal(standing(), 'running');
});

t.test('CRN-1 · DUR-1 · a restart fires nothing twice, and makes up for what it missed, once', async (t) => {
  const journal = openMemoryJournal();
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify([daily]) });
  const first = await rig(t, { journal, home });
  first.cron.schedule.start();
  await first.settle();
  await first.pass(30 * minute);
  t.equal(first.runs.length, 1);
  first.cron.schedule.stop();
  await first.end(first.runs[0] ?? '', false);

  const soon = await rig(t, { journal, home, beginsAtMs: nine + minute });
  soon.cron.schedule.start();
  await soon.settle();
  t.same([soon.runs, soon.standing()], [[], 'scheduled'], 'nine o’clock was fired already');
  soon.cron.schedule.stop();

  const late = await rig(t, { journal, home, beginsAtMs: nine + 24 * hour + 40 * minute });
  late.cron.schedule.start();
  await late.settle();
  t.equal(late.runs.length, 1, 'forty minutes late');
  t.match((await late.history())[0], { reason: '2400 s late', due_at: '2026-06-02T09:00:00.000Z' });
  late.cron.schedule.stop();
  await late.end(late.runs[0] ?? '', false);

  const tooLate = await rig(t, { journal, home, beginsAtMs: nine + 72 * hour + 2 * hour });
  tooLate.cron.schedule.start();
  await tooLate.settle();
  t.same(tooLate.runs, []);
  t.match((await tooLate.history())[0], {
    status: 'ignored',
    reason: 'missed: due 7200 s ago, which is more than its grace of 3600 s',
    due_at: '2026-06-04T09:00:00.000Z',
  });
  t.equal((await tooLate.history()).length, 3, 'one entry for all that was missed');
});

t.test('DUR-1 · a run that a restart finds in flight is waited for, whatever ends it', async (t) => {
  const journal = openMemoryJournal();
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify([{ ...daily, schedule: 'every 10m' }]) });
  const first = await rig(t, { journal, home });
  first.cron.schedule.start();
  await first.settle();
  await first.pass(10 * minute);
  const [run = ''] = first.runs;
  first.cron.schedule.stop();

  const next = await rig(t, { journal, home, beginsAtMs: start + 12 * minute });
  next.cron.schedule.start();
  await next.settle();
  t.match(next.cron.view.standing('default', 'j'), { state: 'running', run });
  await next.pass(20 * minute);
  t.same(next.runs, [], 'what comes due meanwhile waits');
  await next.end(run, false);
  await next.pass(minute);
  t.equal(next.runs.length, 1, 'seen without a word, and made up for once');
  t.match((await next.history())[0], { reason: /replaces every firing missed since 2026-06-01T08:50/ });
});

t.test('CRN-1 · two gateways on one journal and one home fire each due time once', async (t) => {
  const journal = openMemoryJournal();
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify([{ ...daily, schedule: 'every 10m' }]) });
  const pair = [await rig(t, { journal, home, owner: 'a' }), await rig(t, { journal, home, owner: 'b' })];
  for (const { cron, settle } of pair) {
    cron.schedule.start();
    await settle();
  }
  for (let round = 0; round < 6; round += 1) {
    await Promise.all(pair.map(({ pass }) => pass(10 * minute)));
    for (const one of pair) for (const run of one.runs) await one.end(run, false);
    await Promise.all(pair.map(({ pass }) => pass(minute)));
    await Promise.all(pair.map(({ pass }) => pass(0)));
  }
  const dues = (await journal.list('events', { limit: 100, order: 'oldest' }))
    .filter(({ value }) => value.work !== undefined)
    .map(({ value }) => (value as CronEventRecord).dueAtMs);
  t.ok(dues.length >= 5, `${dues.length} firings`);
  t.equal(new Set(dues).size, dues.length, 'each due time once');
  t.equal(dues.length, (pair[0]?.runs.length ?? 0) + (pair[1]?.runs.length ?? 0));
});

t.test('CRN-2 · a paused or disabled job is not fired: logged, in the history, and not made up for', async (t) => {
  const { cron, jobs, pass, runs, standing, history, logged } = await rig(t);
  cron.schedule.start();
  await jobs([
    { ...daily, paused: true },
    { ...daily, id: 'off', name: 'off', enabled: false },
  ]);
  t.same([standing(), standing('off')], ['paused', 'paused']);
  await pass(30 * minute);
  t.same(runs, []);
  t.match(await history(), [
    { status: 'ignored', reason: 'cron job "digest" is paused', due_at: '2026-06-01T09:00:00.000Z' },
  ]);
  t.match(await history('off'), [{ reason: 'cron job "off" is disabled' }]);
  t.ok(logged.includes('j: cron job not fired: cron job "digest" is paused'));
  await pass(48 * hour);
  t.equal((await history()).length, 1, 'one entry for the whole pause');
  await pass(10 * minute);
  await jobs([daily]);
  t.same([runs, standing()], [[], 'scheduled'], 'nine o’clock of today was in the pause');
  await pass(24 * hour);
  t.equal(runs.length, 1);
});

t.test('CRN-2 · a pause has one entry in the history, however often the gateway is started during it', async (t) => {
  const first = await rig(t);
  first.cron.schedule.start();
  await first.jobs([{ ...daily, paused: true }]);
  await first.pass(hour);
  t.equal((await first.history()).length, 1);
  first.cron.schedule.stop();
  const { journal, home } = first;
  const second = await rig(t, { journal, home, beginsAtMs: nine + 30 * hour, owner: 'two' });
  second.cron.schedule.start();
  await second.pass(24 * hour);
  t.equal((await second.history()).length, 1);
  await second.jobs([{ ...daily, resumed_at: new Date(second.nowMs()).toISOString() }]);
  await second.pass(18 * hour);
  t.match([second.runs.length, (await second.history()).length], [1, 2], 'then it is fired again');
});

t.test('CRN-1 · a schedule that never falls is logged and in the history, once', async (t) => {
  const journal = openMemoryJournal();
  const never = { ...daily, schedule: '0 0 30 2 *' };
  const { cron, jobs, pass, runs, standing, history, logged, home } = await rig(t, { journal });
  cron.schedule.start();
  await jobs([never, { ...daily, id: 'hook', name: 'hook', schedule: null }]);
  t.same([standing(), standing('hook')], ['idle', 'idle']);
  t.match(await history(), [{ cause: 'note', status: 'ignored', reason: /never due: "0 0 30 2 \*" never falls/ }]);
  t.same(await history('hook'), []);
  t.match(logged.join(), /cron job "digest" is never due/);
  await pass(400 * 24 * hour);
  t.same(runs, []);
  cron.schedule.stop();
  const again = await rig(t, { journal, home });
  again.cron.schedule.start();
  await again.settle();
  t.equal((await again.history()).length, 1, 'a restart does not say it again');
  await again.jobs([daily]);
  t.equal(again.standing(), 'scheduled', 'mended in the file');
});

t.test('CRN-1 · a clock that is set forward or back is noticed, and fires nothing twice', async (t) => {
  const { cron, jobs, pass, end, runs, history, logged } = await rig(t);
  cron.schedule.start();
  await jobs([daily]);
  await pass(0, 40 * minute);
  t.equal(runs.length, 1, 'set past nine o’clock: missed by ten minutes, made up for');
  await end(runs[0] ?? '');
  await pass(0, -hour);
  t.match(cron.view.standing('default', 'j'), {
    state: 'scheduled',
    dueAtMs: nine + 24 * hour,
    why: /the clock was set back/,
  });
  await pass(23 * hour);
  t.equal(runs.length, 1, 'nine o’clock came again and was not fired again');
  t.match(
    (await history()).map(({ reason }) => reason),
    [/moved back by 3600 s/, '600 s late', /moved forward by 2400 s/],
  );
  t.match(logged.join(), /cron: the clock moved back by 3600 s/);
  await pass(2 * hour);
  t.equal(runs.length, 2, 'the next day is another day');
  await pass(0, 1_999);
  t.equal((await history()).filter(({ cause }) => cause === 'note').length, 2, 'a small correction is nothing');
});

t.test('CRN-1 · a clock that was a year ahead for a while silences no job', async (t) => {
  const { cron, jobs, pass, end, runs } = await rig(t);
  cron.schedule.start();
  await jobs([daily]);
  await pass(0, 365 * 24 * hour + 40 * minute);
  t.equal(runs.length, 1);
  await end(runs[0] ?? '');
  await pass(0, -(365 * 24 * hour + 40 * minute));
  t.match(cron.view.standing('default', 'j'), { dueAtMs: nine });
  await pass(30 * minute);
  t.equal(runs.length, 2);
});

t.test('CRN-1 · the file is followed: added, changed and removed jobs, of every profile', async (t) => {
  const { cron, jobs, pass, runs, standing, home, logged } = await rig(t);
  cron.schedule.start();
  t.equal(standing(), undefined);
  await jobs([daily]);
  await jobs([{ ...daily, schedule: '0 12 * * *' }], 'work');
  t.same([standing(), standing('j', 'work')], ['scheduled', 'scheduled']);
  await jobs([{ ...daily, schedule: '0 8 * * *' }]);
  t.match(
    cron.view.standing('default', 'j'),
    { state: 'scheduled', dueAtMs: start + 23.5 * hour },
    'a changed schedule begins now: eight o’clock was not missed',
  );
  home.write('cron/jobs.json', '{');
  await pass(1_000);
  await pass(1_000);
  t.equal(standing(), 'scheduled', 'the last good jobs stand');
  t.equal(logged.filter((line) => line.includes('is no list of jobs')).length, 1, 'said once');
  await jobs([]);
  t.equal(standing(), undefined);
  t.equal(standing('j', 'work'), 'scheduled');
  await pass(4 * hour);
  t.equal(runs.length, 1, 'only the job of the other profile');
});

/** A journal in a database that answers when the spec lets it. */
function slowJournal(): { readonly journal: Journal; answer(): void } {
  const inner = openMemoryJournal();
  let answers = (): void => {};
  const journal: Journal = {
    ...inner,
    async claimed(name) {
      await new Promise<void>((resolve) => {
        answers = resolve;
      });
      return inner.claimed(name);
    },
  };
  return { journal, answer: () => answers() };
}

t.test('CRN-1 · SCA-3 · a change that comes while the next due time is being read is heard', async (t) => {
  const { journal, answer } = slowJournal();
  const { cron, jobs, pass, settle, standing } = await rig(t, { journal });
  cron.schedule.start();
  await jobs([{ ...daily, schedule: '0 12 1 1 *' }]);
  await jobs([daily]);
  t.equal(standing(), 'planning', 'the database has not answered yet');
  answer();
  await settle();
  await pass(1_000);
  answer();
  await settle();
  t.match(cron.view.standing('default', 'j'), { state: 'scheduled', dueAtMs: nine });
});

t.test('CRN-1 · SCA-3 · so is a clock that is set then', async (t) => {
  const { journal, answer } = slowJournal();
  const { cron, jobs, pass, settle, standing } = await rig(t, { journal });
  cron.schedule.start();
  await jobs([daily]);
  await pass(0, 20 * minute);
  t.equal(standing(), 'planning');
  answer();
  await settle();
  await pass(0);
  answer();
  await settle();
  t.equal(standing(), 'scheduled');
  await pass(10 * minute);
  t.equal(standing(), 'planning', 'it is nine');
});

t.test('CRN-1 · a job that was just made or resumed is due from then on', async (t) => {
  const { cron, jobs, runs, standing } = await rig(t, { beginsAtMs: nine + 10 * minute });
  cron.schedule.start();
  await jobs([
    { ...daily, created_at: '2026-06-01T09:05:00Z' },
    { ...daily, id: 'old', created_at: '2026-05-01T00:00:00Z', resumed_at: '2026-06-01T09:05:00Z' },
    { ...daily, id: 'missed', created_at: '2026-06-01T08:00:00Z' },
  ]);
  t.same([standing(), standing('old'), standing('missed')], ['scheduled', 'scheduled', 'running']);
  t.equal(runs.length, 1);
});

t.test('DUR-1 · without a journal nothing is fired; once it opens, what is due is', async (t) => {
  const { cron, jobs, runs, standing } = await rig(t, { opens: false });
  cron.schedule.start();
  await jobs([daily]);
  t.equal(standing(), 'postponed');
  t.same(runs, []);
  t.match(await cron.view.run('default', 'j', { force: false }), { kind: 'refused', reason: /not open/ });
});

t.test('CRN-2 · a person fires a job at once; a paused one only by force', async (t) => {
  const { cron, jobs, runs, standing, history, journal } = await rig(t);
  cron.schedule.start();
  await jobs([daily, { ...daily, id: 'p', name: 'asleep', paused: true }]);
  t.match(await cron.view.run('default', 'digest', { context: 'Only today’s.', force: false }), { kind: 'granted' });
  t.equal(standing(), 'scheduled', 'the schedule goes its way');
  t.match(journal.local?.get('events', runs[0] ?? '')?.value, { prompt: 'Sum up.\n\nOnly today’s.' });
  t.match((await history())[0], { cause: 'manual', run: runs[0] });
  t.same(await cron.view.run('default', 'asleep', { force: false }), { kind: 'dropped', rest: 'paused' });
  t.match((await history('p'))[0], { cause: 'note', reason: 'cron job "asleep" is paused' });
  t.match(await cron.view.run('default', 'asleep', { force: true }), { kind: 'granted' });
  t.equal(runs.length, 2);
  t.same(await cron.view.run('default', 'nobody', { force: false }), { kind: 'unknown' });
  t.same(await cron.view.run('elsewhere', 'digest', { force: false }), { kind: 'unknown' });
});

t.test('CRN-1 · stopped, nothing is fired any more; started again, everything goes on', async (t) => {
  const { cron, jobs, pass, runs, standing } = await rig(t);
  cron.schedule.start();
  await jobs([daily]);
  cron.schedule.stop();
  await pass(30 * minute);
  t.same([standing(), runs], [undefined, []]);
  cron.schedule.start();
  await pass(0);
  t.equal(runs.length, 1);
});

t.test('CRN-1 · an unreadable record is not fired, and the log says so once', async (t) => {
  const it = await rig(t);
  it.cron.schedule.start();
  await it.jobs([
    { ...daily, enabled: 'false' },
    { ...daily, name: 'again' },
    { ...daily, id: 'k', deliver: 'telegran' },
  ]);
  await it.pass(hour);
  t.equal(it.runs.length, 1, 'the other one goes on');
  const about = (words: RegExp): number => it.logged.filter((line) => words.test(line)).length;
  t.equal(about(/^j: cron job "digest" is not fired: enabled is "false"; write true or false$/), 1);
  t.equal(about(/record 2 of jobs\.json has the id "j"/), 1);
  t.equal(about(/^k: cron job "digest": delivers to "telegran"/), 1);
  t.match(await it.history('j'), [{ status: 'ignored', reason: /is broken: enabled is "false"/ }]);
});

t.test('CRN-1 · a name that two jobs have fires none by hand', async (t) => {
  const it = await rig(t);
  it.cron.schedule.start();
  await it.jobs([daily, { ...daily, id: 'k' }]);
  t.same(await it.cron.view.run('default', 'digest', { force: false }), { kind: 'ambiguous', ids: ['j', 'k'] });
  t.match(await it.cron.view.run('default', 'k', { force: false }), { kind: 'granted' });
});
