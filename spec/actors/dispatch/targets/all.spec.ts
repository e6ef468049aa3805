import t from 'tap';
import { createPlatformTarget, platformNames } from '../../../../actors/dispatch/targets/all.ts';
import { targetNames } from '../../../../machines/config/targets.ts';

const ports = { now: () => 0, wait: () => Promise.resolve(), random: () => 0 };
const bare = { enabled: true, timeoutMs: 1, options: {} };

t.test('DLV-1 · there is a target for every name but the two that are no platforms', (t) => {
  t.same(
    [...targetNames.keys()].filter((name) => !platformNames.includes(name)),
    ['log', 'github_comment'],
  );
  t.same(
    platformNames.filter((name) => !targetNames.has(name)),
    [],
  );
  for (const name of platformNames) t.ok(createPlatformTarget(name, bare, ports), name);
  for (const name of ['log', 'fax', '__proto__']) t.equal(createPlatformTarget(name, bare, ports), undefined);
  t.end();
});
