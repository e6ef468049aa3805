import t from 'tap';
import { checkEngine } from '../../../runtime/doctor/check-engine.ts';
import { codes, examined } from '../../support/examined.ts';

t.test('CLI-2 · Node, the native modules and the front are told', async (t) => {
  const one = examined(t);
  t.same(
    codes(await checkEngine({ ...one, home: examined(t, { 'config.yaml': 'gateway: {front: node}\n' }).home })),
    [],
  );
  for (const [node, expected] of [
    ['20.19.0', []],
    ['24.1.0', []],
    ['20.18.9', ['wrong node-old']],
    ['18.20.1', ['wrong node-old']],
  ] as const) {
    const found = codes(await checkEngine(one, node)).filter((code) => !code.includes('front'));
    t.same(found, expected, node);
  }
});
