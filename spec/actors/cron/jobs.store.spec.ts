import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { createJobsStore } from '../../../actors/cron/jobs.store.ts';
import { fileDocuments } from '../../../actors/documents.ts';
import { putJob } from '../../../machines/cron/edit-jobs.ts';
import { jobsMeant } from '../../../machines/cron/job.ts';
import { makeHome } from '../../support/home.ts';

const jobsIn = (folder: string) => {
  const store = createJobsStore({ document: fileDocuments.at(`${folder}/jobs.json`) });
  return { ...store, find: (ref: string) => jobsMeant(store.read().jobs, ref)[0] };
};

const digest = {
  id: 'j1',
  name: 'digest',
  prompt: 'Sum up.',
  skills: ['review', 7],
  deliver: 'telegram',
  deliver_extra: { chat_id: '1' },
  unknown: true,
};

t.test('SUB-1 · a job is found by its id or its name, the id first, with what it lacks filled in', (t) => {
  const home = makeHome(t);
  const jobs = jobsIn(`${home.path}/cron`);
  t.equal(jobs.find('j1'), undefined);
  home.write('cron/jobs.json', JSON.stringify([{ id: 'j0', name: 'j1', prompt: '' }, digest, { id: 42 }]));
  t.same(jobs.find('j1'), {
    id: 'j1',
    name: 'digest',
    prompt: 'Sum up.',
    enabled: true,
    paused: false,
    skills: ['review'],
    deliver: 'telegram',
    deliverExtra: { chat_id: '1' },
    doubt: 'skills is ["review",7] and is passed over; write a list of names',
  });
  t.equal(jobs.find('digest')?.id, 'j1');
  t.same(jobs.find('42'), {
    id: '42',
    name: '42',
    prompt: '',
    enabled: true,
    paused: false,
    skills: [],
    deliver: 'log',
    deliverExtra: {},
  });
  t.equal(jobs.find('nothing'), undefined);
  t.end();
});

t.test('DIS-1 · a change is seen at once, and a file that is no list of jobs leaves the last good ones', (t) => {
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify({ jobs: [digest] }) });
  const jobs = jobsIn(`${home.path}/cron`);
  t.match(jobs.find('j1'), { paused: false });
  home.write('cron/jobs.json', JSON.stringify({ jobs: [{ ...digest, paused: true, enabled: false }] }));
  t.match(jobs.find('j1'), { paused: true, enabled: false });
  for (const rubbish of ['', '{', '7', 'null', '{"jobs":7}', '"text"']) {
    home.write('cron/jobs.json', rubbish);
    t.match(jobs.find('j1'), { paused: true }, rubbish);
  }
  home.write('cron/jobs.json', '[null, 7, [], {}, {"id": ""}, {"id": null}]');
  t.equal(jobs.find('j1'), undefined);
  rmSync(`${home.path}/cron`, { recursive: true });
  t.equal(jobs.find('j1'), undefined);
  t.end();
});

t.test('CRN-1 · a file that could not be read and is gone leaves no problem', (t) => {
  const home = makeHome(t);
  const path = `${home.path}/jobs.json`;
  const { read } = jobsIn(home.path);
  mkdirSync(path);
  t.match(read(), { jobs: [], problem: /jobs\.json: cannot be read/ });
  rmdirSync(path);
  t.same(read(), { jobs: [], strays: [] });
  t.end();
});

t.test('CRN-1 · HOME-3 · changes are made under the lock, privately, and are seen at once', async (t) => {
  const home = makeHome(t);
  const folder = `${home.path}/profiles/work/cron`;
  const jobs = jobsIn(folder);
  const names = ['a', 'b', 'c', 'd', 'e'];
  const verdicts = await Promise.all(names.map((id) => jobsIn(folder).update((text) => putJob(text, { id }))));
  t.same(
    verdicts.map(({ kind }) => kind),
    names.map(() => 'updated'),
  );
  t.same(
    jobs
      .read()
      .jobs.map(({ id }) => id)
      .sort(),
    names,
    'no change is lost',
  );
  t.equal(statSync(`${folder}/jobs.json`).mode & 0o777, 0o600);
  t.equal(statSync(folder).mode & 0o777, 0o700);
  t.equal(jobs.read().jobs, jobs.read().jobs, 'the same list while nothing changes');
  t.same(await jobs.update(() => undefined), { kind: 'unchanged' });
  t.notOk(existsSync(`${folder}/jobs.json.lock`));
});

t.test('CRN-1 · a corrupt file is reported, not overwritten, and fixed by hand', async (t) => {
  const home = makeHome(t, { 'cron/jobs.json': JSON.stringify([digest]) });
  const jobs = jobsIn(`${home.path}/cron`);
  t.equal(jobs.read().problem, undefined);
  home.write('cron/jobs.json', '{"jobs": [');
  t.match(jobs.read().problem, /jobs\.json: is no list of jobs; correct it/);
  t.match(await jobs.update((text) => putJob(text, { id: 'new' })), { kind: 'failed', problem: /correct it/ });
  t.equal(readFileSync(`${home.path}/cron/jobs.json`, 'utf8'), '{"jobs": [');
  home.write('cron/jobs.json', '[]');
  t.same(jobs.read(), { jobs: [], strays: [] });
  const latin = Buffer.from('[{"id": "f\u00fcr"}]', 'latin1');
  writeFileSync(`${home.path}/cron/jobs.json`, latin);
  t.match(await jobs.update((text) => putJob(text, { id: 'new' })), {
    problem: /jobs\.json: not UTF-8, .*save it as UTF-8$/,
  });
  t.strictSame(readFileSync(`${home.path}/cron/jobs.json`), latin);
  rmSync(`${home.path}/cron`, { recursive: true });
  home.write('cron', 'a file where the folder should be');
  t.match(await jobs.update((text) => putJob(text, { id: 'new' })), { kind: 'failed', problem: /cannot be changed/ });
});
