import t from 'tap';
import { openNodeServer } from '../../../runtime/http/node.ts';
import { openUwsServer } from '../../../runtime/http/uws.ts';
import { httpServerContract } from '../../conformance/http-server.ts';
import { foundDifferences, httpServerBytes, listedDifferences } from '../../conformance/http-server-bytes.ts';
import { noUws } from '../../support/http-servers.ts';
import { inAllOnly } from '../../support/tier.ts';

for (const [name, open, skip] of [
  ['node', openNodeServer, false],
  ['uws', openUwsServer, noUws || inAllOnly],
] as const) {
  t.test(name, { skip }, async (t) => {
    httpServerContract(t, name, open);
    httpServerBytes(t, name, open);
  });
}

t.test('RTE-4 · docs/decisions/0006 lists every difference of the HTTP servers and no other', (t) => {
  t.same(listedDifferences(), foundDifferences());
  t.end();
});
