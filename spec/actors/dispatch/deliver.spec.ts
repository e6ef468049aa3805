import t from 'tap';
import { createTarget, defaultGithubComment, type TargetOwner, whyNot } from '../../../actors/dispatch/deliver.ts';
import { createPlatformTarget } from '../../../actors/dispatch/targets/all.ts';
import type { LogFields, Logger } from '../../../actors/ports.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { targets } from '../../../machines/config/targets.ts';
import { never, requestOf } from '../../conformance/target.ts';

const on: PlatformSettings = { enabled: true, timeoutMs: 1, options: {} };
const silent: Logger = { log: () => {}, warnOnce: () => {} };

function ownerOf(log = silent): TargetOwner {
  const ports = { now: () => 0, wait: () => Promise.resolve(), random: () => 0 };
  return { ports, log, scope: new Map(), cwd: '.', createPlatformTarget };
}

t.test('DLV-2 · every target that is not enabled says which it is and what to do', (t) => {
  for (const name of targets.keys()) {
    t.match(whyNot(name, undefined), {
      kind: 'refused',
      reason: new RegExp(`"${name}" is not enabled; set platforms\\.${name}\\.enabled: true`),
    });
    t.match(whyNot(name, { ...on, enabled: false }), { reason: /is not enabled/ });
    t.match(whyNot(name, { ...on, problem: 'config.yaml:3: no token' }), {
      reason: `target "${name}" cannot be used: config.yaml:3: no token`,
    });
    t.equal(whyNot(name, on), undefined);
  }
  t.match(whyNot('telegram', { ...on, name: 'messenger_a', enabled: false }), { reason: /platforms\.messenger_a\./ });
  for (const name of ['fax', '', 'constructor', '__proto__', 'LOG', ' log'])
    t.match(whyNot(name, on), { kind: 'refused', reason: /is not known/ }, JSON.stringify(name));
  t.match(whyNot('slak', undefined), { reason: /did you mean "slack"\?/ });
  t.end();
});

t.test('DLV-1 · every target of the list can be made', (t) => {
  for (const name of targets.keys()) t.ok(createTarget(name, on, ownerOf()), name);
  t.equal(targets.size, 29);
  for (const name of ['fax', '__proto__']) t.equal(createTarget(name, on, ownerOf()), undefined);
  t.end();
});

t.test('OBS-1 · the log target writes the text as one line with its delivery id', async (t) => {
  const lines: [string, string, LogFields | undefined][] = [];
  const log: Logger = { log: (...line) => void lines.push(line as [string, string, LogFields]), warnOnce: () => {} };

  t.same(await createTarget('log', on, ownerOf(log))?.deliver(requestOf('Done.', {}), never), { kind: 'delivered' });

  t.same(lines, [['info', 'response: Done.', { delivery_id: 'd1', profile: 'default' }]]);
});

t.test('DLV-3 · GitHub is there without being configured, and is asked by its own client', async (t) => {
  const github = createTarget('github_comment', defaultGithubComment, ownerOf());
  t.match(await github?.deliver(requestOf('x', { repo: 'no' }), never), {
    kind: 'refused',
    reason: /^github_comment: deliver_extra\.repo/,
  });
  const own = createTarget('github_comment', { ...on, options: { command: 'no-such-client' } }, ownerOf());
  t.match(await own?.deliver(requestOf('x', { repo: 'a/b', pr_number: 1 }), never), {
    reason: /"no-such-client" was not found/,
  });
  t.match(await own?.verify(never), { kind: 'refused', reason: /"no-such-client" was not found/ });
});
