import t from 'tap';
import { readJob } from '../../../machines/cron/job.ts';
import { findingOf } from '../../../runtime/cron/job-outlook.ts';

const settings = { prompt: 'p', skills: ['s'], deliver: 'telegram' };
const record = { id: 'j', name: 'digest', ...settings, deliver_extra: { chat_id: '1' } };
const work = { cronJob: 'j', ...settings, deliverExtra: { chat_id: '1' }, onFailure: undefined };

t.test('CRN-2 · a webhook finds the job’s own settings, or why it is dropped', (t) => {
  const rows: readonly (readonly [string, ReturnType<typeof readJob>, object])[] = [
    ['no such job', undefined, { kind: 'dropped', reason: 'cron job "digest" does not exist' }],
    ['ready', readJob(record), { kind: 'ready', work }],
    ['of another model', readJob({ ...record, model: 'other' }), { kind: 'ready', work: { ...work, model: 'other' } }],
    [
      'with a notice of failure',
      readJob({ ...record, on_failure: 'slack' }),
      { kind: 'ready', work: { ...work, onFailure: { target: 'slack', extra: {} } } },
    ],
    [
      'paused',
      readJob({ ...record, paused: true }),
      { kind: 'dropped', id: 'j', reason: 'cron job "digest" is paused' },
    ],
    [
      'disabled',
      readJob({ ...record, enabled: false }),
      { kind: 'dropped', id: 'j', reason: 'cron job "digest" is disabled' },
    ],
  ];
  for (const [what, job, expected] of rows) t.same(findingOf(job, 'digest'), expected, what);
  t.end();
});
