import { readFileSync } from 'node:fs';
import t from 'tap';
import { canonicalTarget, targetChoices, targets } from '../../../machines/config/targets.ts';

t.test('DLV-5 · a target is known by its platform’s own name, and by the alias', (t) => {
  for (const [name, { alias }] of targets) {
    t.equal(canonicalTarget(name), name);
    if (alias !== undefined) t.equal(canonicalTarget(alias), name);
  }
  t.equal(canonicalTarget('team_chat_a'), 'slack');
  t.equal(canonicalTarget('fax'), undefined);
  t.end();
});

t.test('DLV-2 · the keys of deliver_extra that a target reads are those that its code reads', (t) => {
  for (const target of targetChoices) {
    if (target === 'log') continue;
    const code = readFileSync(`actors/dispatch/targets/${target.replace('_', '-')}.ts`, 'utf8');
    const words = [
      ...[...code.matchAll(/wordOf\((?:message\.)?extra, ([^)]+)\)/g)].map(([, names = '']) => names),
      ...[...code.matchAll(/ keys: \[([^\]]+)\]/g)].map(([, names = '']) => names),
      ...[...code.matchAll(/extra\.(\w+)/g)].map(([, name]) => `'${name}'`),
    ].flatMap((names) => [...names.matchAll(/'(\w+)'/g)].map(([, name = '']) => name));
    const known = (targets.get(target)?.extras ?? []).filter((key) => key !== 'chat_id' && key !== 'kind');
    t.same([...known].sort(), [...new Set(words)].filter((key) => !['chat_id', 'kind'].includes(key)).sort(), target);
  }
  t.end();
});
