import t from 'tap';
import { createFireCronJob, type Entry } from '../../../actors/cron/fire-cron-job.ts';
import type { Journal } from '../../../actors/store/journal.ts';
import { createKeeper, type JournalKeeper } from '../../../actors/store/keeper.ts';
import { openMemoryJournal } from '../../../actors/store/memory-journal.ts';
import { createBatches } from '../../../actors/webhook/batches.ts';
import { type ClaimRequest, createClaimDelivery } from '../../../actors/webhook/claim-delivery.ts';
import { done } from '../../../machines/base/fault.ts';
import { type CronJob, workOf } from '../../../machines/cron/job.ts';

const due = { dueAtMs: 1_000_000 };
const job: CronJob = {
  id: 'j',
  name: 'digest',
  prompt: 'Sum up.',
  enabled: true,
  paused: false,
  skills: ['review'],
  deliver: 'telegram',
  deliverExtra: { chat_id: '1' },
  schedule: '@daily',
};

/** A gateway of its own on a journal that others may share. */
async function gateway(journal: Journal, owner: string, hasRoom = true) {
  const keeper: JournalKeeper = createKeeper({
    open: () => Promise.resolve(done(journal)),
    owner,
    sessionTtlMs: 60_000,
    refused: () => {},
  });
  await keeper.open();
  return { keeper, fire: createFireCronJob({ keeper, hasRoom: () => hasRoom }) };
}

function entry(key: string, nowMs = 1_000_000, changes: Partial<CronJob> = {}): Entry {
  return { key, nowMs, profile: 'default', job: { ...job, ...changes } };
}

t.test('CRN-1 · DUR-1 · a firing puts claim, event, run and mark on disk at once', async (t) => {
  const journal = openMemoryJournal();
  const { fire, keeper } = await gateway(journal, 'one');
  const verdict = await fire.due(entry('k1'), due, 'print');
  t.match(verdict, { kind: 'granted', run: 'k1', opened: { kind: 'run', key: 'k1', record: { kind: 'cron' } } });
  t.match(journal.local?.get('events', 'k1')?.value, {
    deliveryId: 'cron-j-19700101T001640Z',
    route: 'cron/digest',
    event: 'cron.due',
    status: 'cron',
    work: 'k1',
    prompt: 'Sum up.',
    skills: ['review'],
    toolsets: ['agent-webhook', 'mcp'],
    deliver: 'telegram',
    deliverExtra: { chat_id: '1' },
    cronJob: 'j',
    dueAtMs: 1_000_000,
  });
  t.equal(journal.local?.get('events', 'k1')?.value.reason, undefined, 'in time: nothing to say');
  t.match(journal.local?.get('runs', 'k1'), {
    dueAtMs: 1_000_000,
    heldBy: keeper.session(),
    value: { status: 'queued', attempt: 0, kind: 'cron', route: 'cron/digest' },
  });
  const mark = await fire.mark('default', 'j');
  t.match(mark, { dueAtMs: 1_000_000, print: 'print', run: 'k1' });
  t.equal(await fire.inFlight(mark), 'k1');
  await keeper.commit([{ kind: 'put', collection: 'runs', key: 'k1', value: {}, dueAtMs: null }]);
  t.equal(await fire.inFlight(mark), undefined, 'a run whose work is over is not in flight');
});

t.test('CRN-2 · the model of a job goes along with every firing', async (t) => {
  const journal = openMemoryJournal();
  const { fire } = await gateway(journal, 'one');
  await fire.due(entry('k1', 1_000_000, { model: 'other' }), due, 'print');
  await fire.byHand(entry('k2', 1_000_000, { model: 'other' }), 'more');
  for (const key of ['k1', 'k2']) t.equal(journal.local?.get('events', key)?.value.model, 'other');
});

t.test('CRN-1 · DUR-1 · of several gateways on one journal one fires a due time, also after a restart', async (t) => {
  const journal = openMemoryJournal();
  const gateways = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => gateway(journal, owner)));
  const verdicts = await Promise.all(gateways.map(({ fire }, index) => fire.due(entry(`k${index}`), due, 'print')));
  t.same(verdicts.map(({ kind }) => kind).sort(), ['granted', 'taken', 'taken', 'taken']);
  t.equal(journal.local?.list('runs', { limit: 9, order: 'oldest' }).length, 1);
  t.equal(journal.local?.list('events', { limit: 9, order: 'oldest' }).length, 1);

  const again = await gateway(journal, 'a');
  t.same(await again.fire.due(entry('k9'), due, 'print'), { kind: 'taken' });
  t.same(await again.fire.pass(entry('k9'), due, 'print', 'missed'), { kind: 'taken' });
  t.match(await again.fire.due(entry('k9', 999_000), { dueAtMs: 999_000 }, 'print'), { kind: 'granted' });
  t.match(
    await again.fire.due({ ...entry('k10'), profile: 'work' }, due, 'print'),
    { kind: 'granted' },
    'a profile’s jobs are its own',
  );
});

t.test('CRN-1 · a claim outlasts every clock that could come to its due time again', async (t) => {
  const journal = openMemoryJournal();
  const { fire } = await gateway(journal, 'one');
  await fire.due(entry('k1'), due, 'print');
  for (const nowMs of [0, 500_000, 1_000_000, 1_000_000 + 3_600_000, 1_000_000 + 7 * 86_400_000]) {
    t.same(await fire.due(entry('k2', nowMs), due, 'print'), { kind: 'taken' }, String(nowMs));
  }
});

t.test('CRN-1 · DUR-2 · what is not fired is in the history with its reason, and is not fired later', async (t) => {
  const journal = openMemoryJournal();
  const { fire } = await gateway(journal, 'one');
  t.same(await fire.pass(entry('k1'), due, 'print', 'cron job "digest" is paused'), { kind: 'noted' });
  t.match(journal.local?.get('events', 'k1')?.value, {
    status: 'ignored',
    reason: 'cron job "digest" is paused',
    cronJob: 'j',
  });
  t.equal(journal.local?.get('events', 'k1')?.value.work, undefined);
  t.same(await fire.due(entry('k2'), due, 'print'), { kind: 'taken' });
  t.match(await fire.mark('default', 'j'), { dueAtMs: 1_000_000 });
  t.same(await fire.note(entry('k3'), 'never due', 'print'), { kind: 'noted' });
  t.same(await fire.note(entry('k4'), 'never due', 'print'), { kind: 'taken' }, 'said once');
  t.match(journal.local?.get('events', 'k3')?.value, { event: 'cron.note', status: 'ignored', reason: 'never due' });
});

t.test('CRN-1 · a late firing says how late, and for what it stands', async (t) => {
  const journal = openMemoryJournal();
  const { fire } = await gateway(journal, 'one');
  await fire.due(entry('k1', 1_090_000), due, 'print');
  t.equal(journal.local?.get('events', 'k1')?.value.reason, '90 s late');
  await fire.due(entry('k2', 2_000_000), { dueAtMs: 2_000_000, missedSinceMs: 1_060_000 }, 'print');
  t.match(
    journal.local?.get('events', 'k2')?.value.reason,
    /^0 s late; replaces every firing missed since 1970-01-01T00:17/,
  );
});

t.test('CRN-2 · a firing by hand bears its context and moves no mark', async (t) => {
  const journal = openMemoryJournal();
  const { fire } = await gateway(journal, 'one');
  t.match(await fire.byHand(entry('k1'), 'Only today’s.'), { kind: 'granted', run: 'k1' });
  t.match(journal.local?.get('events', 'k1')?.value, { prompt: 'Sum up.\n\nOnly today’s.', event: 'cron.manual' });
  t.match(await fire.byHand(entry('k2', 1_000_000, { prompt: '' }), 'All.'), { kind: 'granted' });
  t.equal(journal.local?.get('events', 'k2')?.value.prompt, 'All.');
  t.match(await fire.byHand(entry('k3'), undefined), { kind: 'granted' });
  t.equal(journal.local?.get('events', 'k3')?.value.prompt, 'Sum up.');
  t.equal(await fire.mark('default', 'j'), undefined);
  t.match(await fire.due(entry('k4'), due, 'print'), { kind: 'granted' }, 'the schedule is not touched');
});

t.test('CRN-2 · schedule, webhook and hand take claims of one name, so that no key fires twice', async (t) => {
  const journal = openMemoryJournal();
  const { fire, keeper } = await gateway(journal, 'one');
  const claimDelivery = createClaimDelivery({
    keeper,
    batches: createBatches(keeper),
    findJob: () => ({ kind: 'ready', work: workOf(job) }),
    placeOf: () => undefined,
    hasRoom: () => true,
    reports: { nextOrder: () => 1, open: () => {} },
  });
  const request: ClaimRequest = {
    key: 'k1',
    nowMs: 1_000_000,
    plan: { kind: 'cron', job: 'digest' },
    event: {
      deliveryId: 'd',
      route: 'r',
      profile: 'default',
      event: 'push',
      status: 'cron',
      receivedAtMs: 1_000_000,
      headers: {},
      body: '{}',
      prompt: 'context',
    },
  };
  const webhook = await new Promise((resolve) => claimDelivery(request, resolve));
  t.match(webhook, { kind: 'granted' });
  t.same(await fire.byHand(entry('k1'), undefined), { kind: 'taken' });
});

t.test('CRN-1 · a schedule that begins anew forgets what was due before, but not the run in flight', async (t) => {
  const { fire } = await gateway(openMemoryJournal(), 'one');
  await fire.due(entry('k1'), due, 'old');
  const rewrite = { nowMs: 1_500_000, profile: 'default', job };
  const found = await fire.mark('default', 'j');
  t.same(await fire.begin(rewrite, 'new', found), { kind: 'noted' });
  const begun = { dueAtMs: 1_500_000, print: 'new', run: 'k1' };
  t.match(await fire.mark('default', 'j'), begun);

  // Another gateway may have read the mark before.
  t.same(await fire.begin({ ...rewrite, nowMs: 9 }, 'new', found), { kind: 'taken' });
  t.same(await fire.begin({ ...rewrite, nowMs: 9 }, 'new', undefined), { kind: 'taken' });
  t.match(await fire.mark('default', 'j'), begun, 'a firing of another gateway is not forgotten');
});

t.test('DUR-1 · a run without room stays on disk for a gateway with room, and a closed journal refuses', async (t) => {
  const journal = openMemoryJournal();
  const full = await gateway(journal, 'one', false);
  t.match(await full.fire.due(entry('k1'), due, 'print'), { kind: 'granted', opened: { kind: 'nothing' } });
  t.equal(journal.local?.get('runs', 'k1')?.heldBy, undefined);
  await full.keeper.close();
  t.match(await full.fire.due(entry('k2'), { dueAtMs: 2_000_000 }, 'print'), { kind: 'refused', reason: /not open/ });
  t.match(await full.fire.pass(entry('k2'), { dueAtMs: 2_000_000 }, 'print', 'x'), { kind: 'refused' });
  t.equal(await full.fire.mark('default', 'j'), undefined);
});
