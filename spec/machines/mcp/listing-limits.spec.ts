import t from 'tap';
import type { Json } from '../../../machines/base/json.ts';
import { createAdmission, createLeftOut } from '../../../machines/mcp/listing-limits.ts';

const tool = (name: string, length = 10) => ({ name, description: 'd'.repeat(length) });

/** A listing of one page. */
function admitTools(page: readonly Json[]) {
  const leftOut = createLeftOut('tool');
  const admission = createAdmission('tool', leftOut);
  return { tools: admission.admit(page), leftOut: leftOut.sentences(), isOver: admission.isOver() };
}

t.test('LIF-14 · a definition over 256 KiB, and what is beyond 4 MiB together, is left out with its reason', (t) => {
  const exact = 262_144 - JSON.stringify(tool('exact', 0)).length;
  const listed = [
    tool('exact', exact),
    tool('over', exact + 2),
    ...Array.from({ length: 15 }, () => tool('exact', exact)),
  ];
  const { tools, leftOut } = admitTools([...listed, tool('a'), tool('b'), tool('c'), tool('d')]);
  t.same(
    tools,
    listed.filter(({ name }) => name === 'exact'),
    'exactly 4 MiB fit',
  );
  t.same(leftOut, [
    'its tool "over" is left out: a definition may have 256 KiB',
    'its tools "a", "b", "c" and 1 more are left out: the definitions of one server may have 4 MiB together',
  ]);
  t.same(admitTools([tool('x', 200_000 / 2), tool('ü'.repeat(1), 1)]).leftOut, []);
  t.match(admitTools([{ name: 'wide', description: 'ü'.repeat(140_000) }]).leftOut, [/256 KiB/], 'bytes count');
  t.end();
});

t.test(
  'FLT-1 · LIF-14 · the names of what is left out are kept, unless they are too many, too long or missing',
  (t) => {
    const namesOf = (...names: (string | undefined)[]) => {
      const leftOut = createLeftOut('tool');
      for (const name of names) leftOut.add(name, 'odd');
      return leftOut.names();
    };
    const hundred = Array.from({ length: 100 }, (_, at) => `t${at}`);
    t.same(namesOf(...hundred), hundred);
    t.equal(namesOf(...hundred, 'a'), undefined);
    t.equal(namesOf('x'.repeat(257), 'a'), undefined);
    t.equal(namesOf(undefined, 'a'), undefined);
    t.end();
  },
);

t.test('LIF-14 · an entry of any depth is one entry, in whatever place it is deep', (t) => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as Json;
  const { tools } = admitTools([deep, { name: deep }, { uri: deep }, tool('well')]);
  t.equal(tools.length, 4);
  t.same(tools[3], tool('well'));
  t.end();
});

t.test('NAM-2 · a tool with an empty name, or a control character in it, is left out with its reason', (t) => {
  const { tools, leftOut } = admitTools([tool(''), tool('a\u0007b'), tool('well')]);
  t.same(tools, [tool('well')]);
  t.same(leftOut, ['its tools "", "a b" are left out: a name must have a character and no control character']);
  t.end();
});

t.test('NAM-2 · a tool that is listed twice with different definitions is reported, as the last one counts', (t) => {
  const page = [tool('a', 1), tool('b'), tool('a', 2), tool('b')];
  const { tools, leftOut } = admitTools(page);
  t.same(tools, page, 'the registry keeps the last one of a name');
  t.same(leftOut, ['its tool "a" is left out: it is listed again with another definition, which counts']);
  t.end();
});

t.test('LIF-14 · resources and prompts have the same bounds, and names and addresses that stay as they are', (t) => {
  for (const [noun, entry] of [
    ['resource', { uri: 'mem://a\u{e0041}', name: 'a\u{e0041}' }],
    ['prompt', { name: '' }],
  ] as const) {
    const leftOut = createLeftOut(noun);
    const admission = createAdmission(noun, leftOut);
    t.same(admission.admit([entry]), [entry]);
    const large = { ...entry, description: 'd'.repeat(262_144) };
    t.same(admission.admit([large, ...Array.from({ length: 10_002 }, () => entry)]).length, 9_999);
    t.match(leftOut.sentences(), [/may have 256 KiB/, new RegExp(`one server may have 10000 ${noun}s`)]);
    t.ok(admission.isOver());
  }
  t.end();
});
