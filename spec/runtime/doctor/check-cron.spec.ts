import t from 'tap';
import { checkCron } from '../../../runtime/doctor/check-cron.ts';
import { codes, examined, troubles } from '../../support/examined.ts';

const daily = { schedule: '0 9 * * *', prompt: 'p' };

t.test('CRN-1 · CLI-2 · a job that is never fired is reported, with the command that takes it away', (t) => {
  const jobs = [
    { ...daily, id: 'good' },
    { ...daily, id: 'paused', paused: true, deliver: 'slack' },
    { ...daily, id: 'a b', name: 'late', schedule: '61 9 * * *' },
    { ...daily, id: 'off', enabled: 'false' },
    { ...daily, id: 'chat', deliver: 'slack' },
    { ...daily, id: 'never', schedule: '0 0 31 2 *' },
    7,
  ];
  const one = examined(t, {
    'config.yaml': 'gateway: {multiplex_profiles: true}\n',
    'cron/jobs.json': JSON.stringify({ jobs }),
    'profiles/work/config.yaml': '',
    'profiles/work/cron/jobs.json': JSON.stringify([{ ...daily, id: 'w', timezone: 'Mars/Olympus' }]),
  });
  const found = troubles(checkCron(one));
  t.match(found, [
    { place: 'cron/jobs.json', what: /^record 7 of jobs\.json is no object/ },
    { place: 'cron/jobs.json: late', what: /61/, cure: /, or agent cron remove 'a b'$/ },
    { place: 'cron/jobs.json: off', what: /enabled is "false"/ },
    { place: 'cron/jobs.json: chat', what: /delivers to "slack", which is not enabled/ },
    { place: 'cron/jobs.json: never' },
    { place: 'profiles/work/cron/jobs.json: w', what: /Mars/, cure: /agent cron remove w --profile work$/ },
  ]);
  t.equal(found.length, 6);
  t.ok(found.every(({ level, code }) => level === 'warning' && code === 'cron-finding'));
  t.end();
});

t.test('CRN-1 · CLI-2 · a file that holds no list of jobs is reported, and one that is absent is not', (t) => {
  t.match(troubles(checkCron(examined(t, { 'cron/jobs.json': '{' }))), [
    { code: 'cron-finding', place: 'cron/jobs.json', what: /^is no list of jobs/ },
  ]);
  t.same(codes(checkCron(examined(t))), []);
  t.end();
});
