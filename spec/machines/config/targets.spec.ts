import t from 'tap';
import { canonicalTarget, targetNames } from '../../../machines/config/targets.ts';

t.test('DLV-5 · a target is known by its platform’s own name, and by the alias', (t) => {
  for (const [name, alias] of targetNames) {
    t.equal(canonicalTarget(name), name);
    if (alias !== undefined) t.equal(canonicalTarget(alias), name);
  }
  t.equal(canonicalTarget('team_chat_a'), 'slack');
  t.equal(canonicalTarget('fax'), undefined);
  t.end();
});
