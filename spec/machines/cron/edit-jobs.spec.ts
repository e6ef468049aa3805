import t from 'tap';
import { changeJob, noJobs, putJob, readJobs, removeJob } from '../../../machines/cron/edit-jobs.ts';

const object = '{"version": 3, "jobs": [{"id": "a", "own": 1}, 7, {"id": 42, "name": "n"}]}';
const list = '[{"id": "a"}]';

t.test('CRN-1 · a change keeps the form of the file, unknown keys and every other record', (t) => {
  t.same(JSON.parse(putJob(noJobs, { id: 'a' }) ?? ''), { jobs: [{ id: 'a' }] });
  t.same(JSON.parse(putJob(list, { id: 'b' }) ?? ''), [{ id: 'a' }, { id: 'b' }]);
  t.same(JSON.parse(putJob(object, { id: 'a', new: 2 }) ?? ''), {
    version: 3,
    jobs: [{ id: 'a', new: 2 }, 7, { id: 42, name: 'n' }],
  });
  t.same(JSON.parse(changeJob(object, '42', { paused: true, name: undefined }) ?? ''), {
    version: 3,
    jobs: [{ id: 'a', own: 1 }, 7, { id: 42, paused: true }],
  });
  t.same(JSON.parse(removeJob(object, 'a') ?? ''), { version: 3, jobs: [7, { id: 42, name: 'n' }] });
  t.same(JSON.parse(removeJob(list, 'nobody') ?? ''), [{ id: 'a' }]);
  t.match(putJob(list, { id: 'b' }), /\n {2}\{\n[\s\S]*\]\n$/, 'written for people too');
  t.end();
});

t.test('CRN-1 · of records with one id the first is the job, and an edit touches it alone', (t) => {
  const twice = '[{"id": "a", "n": 1}, {"id": "a", "n": 2}]';
  t.match(readJobs(twice), {
    jobs: [{ id: 'a' }],
    strays: [{ id: 'a', problem: /has the id "a" of a job before it/ }],
  });
  t.same(JSON.parse(changeJob(twice, 'a', { paused: true }) ?? ''), [
    { id: 'a', n: 1, paused: true },
    { id: 'a', n: 2 },
  ]);
  t.same(JSON.parse(removeJob(twice, 'a') ?? ''), [{ id: 'a', n: 2 }]);
  t.end();
});

t.test('CRN-1 · a text that is no list of jobs is neither read nor changed', (t) => {
  for (const text of ['', '{', '7', 'null', '{"jobs": 7}', '{}', '"text"']) {
    t.same(readJobs(text), { kind: 'corrupt' }, text);
    t.equal(putJob(text, { id: 'a' }), undefined, text);
    t.equal(changeJob(text, 'a', {}), undefined, text);
    t.equal(removeJob(text, 'a'), undefined, text);
  }
  t.match(readJobs(object), {
    kind: 'read',
    jobs: [{ id: 'a' }, { id: '42' }],
    strays: [{ id: '', problem: /record 2 .* is no object/ }],
  });
  t.end();
});

t.test('CRN-1 · a byte order mark before the text is passed over', (t) => {
  t.match(readJobs(`\uFEFF${list}`), { kind: 'read', jobs: [{ id: 'a' }] });
  t.same(JSON.parse(putJob(`\uFEFF${list}`, { id: 'b' }) ?? ''), [{ id: 'a' }, { id: 'b' }]);
  t.end();
});

t.test('CRN-1 · the digits of a long id stay as they are when the jobs are read and when one is changed', (t) => {
  const text = '{"jobs": [{"id": "a", "deliver_extra": {"chat_id": 1234567890123456789}}, {"id": 9007199254740993}]}';
  const extra = { chat_id: '1234567890123456789' };
  t.match(readJobs(text), { jobs: [{ id: 'a', deliverExtra: extra }, { id: '9007199254740993' }] });
  t.same(JSON.parse(changeJob(text, '9007199254740993', { paused: true }) ?? ''), {
    jobs: [
      { id: 'a', deliver_extra: extra },
      { id: '9007199254740993', paused: true },
    ],
  });
  t.end();
});
