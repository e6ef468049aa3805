import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { type ApprovalRule, isCovered, ruleOf } from '../../../machines/mcp/approval-rules.ts';
import { fc } from '../../support/property.ts';

const args = { repo: 'acme/web', number: 481, squash: true, head: { ref: 'main' }, 'a.b': 'dotted', list: [1] };
const definition = { inputSchema: { type: 'object', properties: { 'a.b': {}, head: {} } } };
const call = { tool: 'merge', args, destructive: false, definition };
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
  for (const [where, why] of rows) t.match(ruleOf(call, where), { kind: 'invalid', why });
  t.match(ruleOf(destructive, {}), { kind: 'invalid', why: /marks the tool as destructive; limit the rule/ });
  t.match(ruleOf({ ...call, args: { key: '${SECRET}' } }, { key: '${SECRET}' }), {
    kind: 'invalid',
    why: /cannot keep/,
  });
  t.match(ruleOf({ ...call, tool: '${TOOL}' }, {}), { kind: 'invalid', why: /the name of the tool .* cannot keep/ });
  t.end();
});

t.test('TRU-3 · TRU-1 · a literal dotted key never counts as the value at the path of a rule', (t) => {
  const rule = { tool: 'merge', arguments: { 'head.ref': 'ok' } };
  const covers = (args: JsonObject, keys: readonly string[] = []): boolean =>
    isCovered([rule], {
      ...call,
      args,
      definition: { inputSchema: { properties: Object.fromEntries(keys.map((key) => [key, {}])) } },
    });
  t.equal(covers({ head: { ref: 'ok' } }), true);
  t.equal(covers({ 'head.ref': 'ok' }, ['head.ref']), true, 'the tool declares the key');
  t.equal(covers({ 'head.ref': 'ok' }), false, 'the tool reads its default at the path');
  t.equal(covers({ 'head.ref': 'ok' }, ['head', 'head.ref']), false, 'it may read either');
  for (const definition of [{}, { inputSchema: {} }, { inputSchema: { properties: 'head.ref' } }])
    t.equal(isCovered([rule], { ...call, args: { 'head.ref': 'ok' }, definition }), false, 'none is declared');
  const json = fc.jsonValue() as fc.Arbitrary<JsonObject[string]>;
  const value = fc.oneof(fc.constant('ok'), json);
  const head = fc.oneof(fc.record({ ref: value }), json);
  fc.assert(
    fc.property(head, value, fc.subarray(['head', 'head.ref']), (head, literal, keys) => {
      const args = { head, 'head.ref': literal };
      t.notOk(covers(args, keys), JSON.stringify(args));
      t.match(ruleOf({ ...call, args }, { 'head.ref': 'ok' }), { kind: 'invalid' });
    }),
  );
  t.end();
});
