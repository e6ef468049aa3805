import t, { type Test } from 'tap';
import { loadHome } from '../../actors/config/load-config.ts';
import type { AgentRunRequest, Logger } from '../../actors/ports.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import type { Route } from '../../machines/config/route.ts';
import type { DeliveryRecord } from '../../machines/webhook/record.ts';
import { createProfileDesks } from '../../runtime/profile-desk.ts';
import { makeHome } from '../support/home.ts';

const work = 'work' as ProfileName;
const signal = new AbortController().signal;

function desks(t: Test, files: Readonly<Record<string, string>>) {
  const home = makeHome(t, files);
  const warned = new Map<string, string>();
  const log: Logger = { log: () => {}, warnOnce: (key, message) => void warned.set(key, message) };
  const all = createProfileDesks(loadHome({ home: home.path, env: { PATH: process.env.PATH } }), log);
  const desk = all.get(defaultProfile);
  const atWork = all.get(work);
  if (desk === undefined) throw new Error('no desk');
  return { home, warned, desk, atWork };
}

const request = {
  profile: defaultProfile,
  prompt: 'p',
  attempt: 1,
  toolsets: [] as readonly string[],
} as AgentRunRequest;
const command = (text: string): string =>
  `agent: {runner: command, command: [sh, -c, '${text}'], timeout_seconds: 7}\n`;

t.test('PRF-2 · each profile lends its own runner, secrets, skills, lists, scripts and jobs', async (t) => {
  const files = (name: string, at = '') => ({
    [`${at}config.yaml`]: `gateway: {multiplex_profiles: true}\n${command('echo $KEY')}`,
    [`${at}.env`]: `KEY=key-of-${name}\n`,
    [`${at}skills/one/SKILL.md`]: `---\nname: one\n---\nskill of ${name}`,
    [`${at}list.txt`]: `list of ${name}\n`,
    [`${at}scripts/s.sh`]: `echo '{"of":"${name}"}'`,
    [`${at}cron/jobs.json`]: JSON.stringify([{ id: 'j', name: 'nightly', prompt: `job of ${name}` }]),
  });
  const { desk, atWork } = desks(t, {
    ...files('home'),
    ...files('work', 'profiles/work/'),
    'profiles/work/config.yaml': command('echo $KEY'),
  });
  for (const [name, one] of [
    ['home', desk],
    ['work', atWork],
  ] as const) {
    t.match(await one?.runner.run(request, signal), { kind: 'responded', response: new RegExp(`^key-of-${name}`) });
    t.equal(one?.runner.timeoutMs, 7_000);
    t.match(one?.runner.skill('one'), new RegExp(`skill of ${name}`));
    t.equal(one?.runner.skill('none'), undefined);
    t.equal(one?.lists.list('list.txt')?.has(`list of ${name}`), true);
    const route = { script: 's.sh', scriptTimeoutMs: 5_000 } as Route;
    t.match(await one?.runScript({ route, payload: {} }, signal), {
      kind: 'exited',
      stdout: new RegExp(`"of":"${name}"`),
    });
    t.match(one?.findJob('nightly'), { kind: 'ready', id: 'j', prompt: `job of ${name}` });
  }
});

t.test('CRN-2 · a job is found by id or name, and one that may not run says why', (t) => {
  const { desk } = desks(t, {
    'cron/jobs.json': JSON.stringify([
      { id: 'j1', name: 'nightly', prompt: 'p', skills: ['s'], deliver: 'telegram', deliver_extra: { chat_id: '1' } },
      { id: 'j2', name: 'asleep', prompt: 'p', paused: true },
      { id: 'j3', name: 'off', prompt: 'p', enabled: false },
    ]),
  });
  const ready = {
    kind: 'ready',
    id: 'j1',
    prompt: 'p',
    skills: ['s'],
    deliver: 'telegram',
    deliverExtra: { chat_id: '1' },
  };
  t.same(desk.findJob('j1'), ready);
  t.same(desk.findJob('nightly'), ready);
  t.same(desk.findJob('asleep'), { kind: 'dropped', reason: 'cron job "asleep" is paused' });
  t.same(desk.findJob('off'), { kind: 'dropped', reason: 'cron job "off" is disabled' });
  t.same(desk.findJob('gone'), { kind: 'dropped', reason: 'cron job "gone" does not exist' });
  t.end();
});

t.test('DLV-2 · DLV-3 · the targets are those of the profile, with its settings', async (t) => {
  const { desk } = desks(t, {
    'config.yaml': 'platforms: {codehost_comment: {enabled: true, command: ./scripts/gh.sh}}\n',
    '.env': 'GH_TOKEN=of-the-profile\n',
    'scripts/gh.sh': '#!/bin/sh\ncat > /dev/null\n[ "$GH_TOKEN" = of-the-profile ] && echo https://example/1\n',
  });
  const record = {
    deliveryId: 'd1',
    profile: 'default',
    target: 'github_comment',
    text: 'x',
    extra: { repo: 'a/b', pr_number: '1' },
  } as unknown as DeliveryRecord;
  t.match(await desk.targets.send(record, signal), { kind: 'delivered' });
  t.match(await desk.targets.send({ ...record, target: 'telegram' }, signal), { kind: 'failed', reason: /telegram/ });
  t.equal(desk.targets.deduplicates('log'), true);
  t.equal(desk.targets.deduplicates('codehost_comment'), false);
});
