import t from 'tap';
import { type ApprovalRule, isCovered, ruleOf } from '../../../machines/mcp/approval-rules.ts';

const args = { repo: 'acme/web', number: 481, squash: true, head: { ref: 'main' }, 'a.b': 'dotted', list: [1] };
const call = { tool: 'merge', args, destructive: false };
const destructive = { ...call, destructive: true };

t.test(
  'TRU-3 · a rule covers its tool with the arguments that limit it, and a destructive tool only with a limit',
  (t) => {
    const rows: readonly (readonly [ApprovalRule, boolean, boolean])[] = [
      [{ tool: 'merge' }, true, false],
      [{ tool: 'merge', arguments: {} }, true, false],
      [{ tool: 'close' }, false, false],
      [{ tool: 'merge', arguments: { repo: 'acme/web' } }, true, true],
      [{ tool: 'merge', arguments: { repo: 'acme/web', number: 481, squash: true } }, true, true],
      [{ tool: 'merge', arguments: { repo: 'acme/web', number: 482 } }, false, false],
      [{ tool: 'merge', arguments: { number: '481' } }, false, false],
      [{ tool: 'merge', arguments: { 'head.ref': 'main' } }, true, true],
      [{ tool: 'merge', arguments: { 'a.b': 'dotted' } }, true, true],
      [{ tool: 'merge', arguments: { missing: 'x' } }, false, false],
      [{ tool: 'merge', arguments: { 'constructor.name': 'Object' } }, false, false],
    ];
    for (const [rule, plain, asDestructive] of rows) {
      t.equal(isCovered([rule], call), plain, JSON.stringify(rule));
      t.equal(isCovered([{ tool: 'other' }, rule], destructive), asDestructive, JSON.stringify(rule));
    }
    t.equal(isCovered([], call), false);
    t.end();
  },
);

t.test('TRU-3 · a rule is made of arguments that the call has, each as the call has it', (t) => {
  t.same(ruleOf(call, {}), { kind: 'rule', rule: { tool: 'merge' } });
  t.same(ruleOf(destructive, { repo: 'acme/web', number: '481', 'head.ref': 'main' }), {
    kind: 'rule',
    rule: { tool: 'merge', arguments: { repo: 'acme/web', number: 481, 'head.ref': 'main' } },
  });
  const rows = [
    [{ repo: 'acme/api' }, /"repo" of this call is another/],
    [{ owner: 'acme' }, /no text, number or word "owner"/],
    [{ list: '1' }, /no text, number or word "list"/],
  ] as const;
  for (const [where, why] of rows) t.match(ruleOf(call, where), { kind: 'unfit', why });
  t.match(ruleOf(destructive, {}), { kind: 'unfit', why: /marks the tool as destructive; limit the rule/ });
  t.match(ruleOf({ ...call, args: { key: '${SECRET}' } }, { key: '${SECRET}' }), { kind: 'unfit', why: /cannot keep/ });
  t.end();
});
