import t from 'tap';
import { servedGateways, servedMeta } from '../../../machines/mcp/served-gateways.ts';

t.test('CLI-5 · the gateways of a listing are read as they were written, and untrusted ones are bounded', (t) => {
  t.strictSame(servedGateways(servedMeta(['a/default', 'b/work'])), ['a/default', 'b/work']);
  for (const meta of [undefined, null, 'a', {}, { 'agent-gateway/gateways': 'a' }])
    t.strictSame(servedGateways(meta), []);
  const strange = { 'agent-gateway/gateways': [1, 'a', ...Array(100).fill('b')] };
  t.equal(servedGateways(strange)[0], 'a');
  t.equal(servedGateways(strange).length, 64);
  t.end();
});
