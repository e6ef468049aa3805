import t from 'tap';
import { openNodeFront } from '../../../runtime/http/node.ts';
import { openUwsFront } from '../../../runtime/http/uws.ts';
import { frontContract } from '../../conformance/front.ts';
import { foundDifferences, frontBytes, listedDifferences } from '../../conformance/front-bytes.ts';
import { noUws } from '../../support/fronts.ts';
import { inAllOnly } from '../../support/tier.ts';

for (const [name, open, skip] of [
  ['node', openNodeFront, false],
  ['uws', openUwsFront, noUws || inAllOnly],
] as const) {
  t.test(name, { skip }, async (t) => {
    frontContract(t, name, open);
    frontBytes(t, name, open);
  });
}

t.test('RTE-4 · docs/decisions/0006 lists every difference of the fronts and no other', (t) => {
  t.same(listedDifferences(), foundDifferences());
  t.end();
});
