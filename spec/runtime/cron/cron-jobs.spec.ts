import t, { type Test } from 'tap';
import { createActor, SimulatedClock } from 'xstate';
import { createFireCronJob, type FireCronJob } from '../../../actors/cron/fire-cron-job.ts';
import { createNextDue, knowsZone } from '../../../actors/cron/next-due.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import { lookMs, retryMs } from '../../../machines/cron/cron-job.machine.ts';
import { readJob } from '../../../machines/cron/job.ts';
import { wireCronJob } from '../../../runtime/cron/cron-jobs.ts';
import { openKeeper, turn } from '../../support/keeper.ts';

const hour = 3_600_000;
/** Five minutes past noon; the job is due at each full hour. */
const nowMs = Date.UTC(2026, 5, 1, 12, 5);
const record: JsonObject = {
  ...{ id: 'j', name: 'digest', prompt: 'p', schedule: '0 * * * *', timezone: 'UTC', grace_seconds: 3_600 },
  created_at: new Date(nowMs - hour).toISOString(),
};

/** A job whose wiring fails once, in a way that nobody foresaw. */
async function stage(t: Test, throwsAt: 'due' | 'pass' | 'open' | 'nothing', changes: JsonObject = {}) {
  const { keeper, journal } = await openKeeper();
  const job = readJob({ ...record, ...changes });
  const standing = createFireCronJob({ keeper, hasRoom: () => true });
  let hasThrown = false;
  const trip = (where: typeof throwsAt): void => {
    if (where !== throwsAt || hasThrown) return;
    hasThrown = true;
    throw new Error('nobody foresaw this');
  };
  const fire: FireCronJob = {
    ...standing,
    begin: () => Promise.resolve({ kind: 'noted' }),
    async due(...asked) {
      trip('due');
      return await standing.due(...asked);
    },
    async pass(...asked) {
      trip('pass');
      return await standing.pass(...asked);
    },
  };
  const opened: unknown[] = [];
  /** The runs that are expected to end. */
  const underWay = new Set<string>();
  const errors: string[] = [];
  const clock = new SimulatedClock();
  let keys = 0;
  const logic = wireCronJob({
    fire,
    findJob: () => job,
    nextDue: createNextDue(),
    knowsZone,
    isReady: () => true,
    open(one) {
      trip('open');
      opened.push(one);
    },
    began: (_, run) => void underWay.add(run),
    finished(run) {
      underWay.delete(run);
      actor.send({ type: 'run.finished', run });
    },
    nextId: () => {
      keys += 1;
      return `k${keys}`;
    },
    nowMs: () => nowMs,
    log: { log: (level, message) => void (level === 'error' && errors.push(message)), warnOnce: () => {} },
  });
  const actor = createActor(logic, { clock, input: { profile: 'default', job: 'j' } }).start();
  t.teardown(() => actor.stop());
  await turn();
  await turn();
  return { actor, clock, errors, journal, opened, underWay };
}

t.test('CRN-1 · DUR-1 · a firing that failed in an unforeseen way is tried again', async (t) => {
  const { actor, clock, errors, opened } = await stage(t, 'due');
  t.match(actor.getSnapshot(), { value: 'postponed', context: { why: 'nobody foresaw this' } });
  t.same(errors, ['cronJobs/j: nobody foresaw this']);
  clock.increment(retryMs);
  await turn();
  await turn();
  t.match(opened, [{ kind: 'run', record: { kind: 'cron', route: 'cron/digest' } }]);
  t.match(actor.getSnapshot(), { value: 'running' });
});

t.test('CRN-2 · DUR-1 · so is the note of a due time that is passed over', async (t) => {
  const { actor, clock, errors, journal, opened } = await stage(t, 'pass', { paused: true });
  t.match(actor.getSnapshot(), { value: 'postponed', context: { why: 'nobody foresaw this' } });
  t.same(errors, ['cronJobs/j: nobody foresaw this']);
  clock.increment(retryMs);
  await turn();
  await turn();
  t.match(journal.local?.list('events', { limit: 5, order: 'newest' }), [
    { value: { status: 'ignored', cronJob: 'j' } },
  ]);
  t.match([actor.getSnapshot().value, opened], ['paused', []]);
});

t.test('CRN-1 · a firing that has landed is not fired anew, whatever failed after it', async (t) => {
  const { actor, clock, errors, journal } = await stage(t, 'open');
  t.match(actor.getSnapshot(), { value: 'running' });
  t.same(errors, ['cronJobs/j: nobody foresaw this']);
  clock.increment(retryMs);
  await turn();
  await turn();
  t.equal(journal.local?.list('runs', { limit: 5, order: 'newest' }).length, 1);
});

t.test('SCA-1 · CRN-1 · a run that has ended at another gateway is expected no longer', async (t) => {
  const { actor, clock, journal, underWay } = await stage(t, 'nothing');
  const { run } = actor.getSnapshot().context;
  t.same([...underWay], [run]);
  const value = { ...journal.local?.get('runs', run ?? '')?.value, status: 'delivered' };
  await journal.commit([{ kind: 'put', collection: 'runs', key: run ?? '', value, dueAtMs: null }]);
  clock.increment(lookMs);
  await turn();
  await turn();
  t.match([actor.getSnapshot().value, underWay.size], ['scheduled', 0]);
});
