import t from 'tap';
import { createRedactedLines } from '../../../actors/mcp/redacted-lines.ts';
import { fc } from '../../support/property.ts';

const secret = 'ß3cret-välue';
const redact = (line: string): string => line.replaceAll(secret, '[redacted]');

t.test('OBS-1 · LIF-10 · however the bytes are cut, what is handed on is the redacted text', (t) => {
  const piece = fc.oneof(
    fc.constantFrom(secret, '\n', '\n\n', 'é', '€', secret.slice(0, 5)),
    fc.string({ maxLength: 8 }),
    fc.constant('x'.repeat(9_000)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(40_000), { maxLength: 12 }), (pieces, cuts) => {
      const text = pieces.join('');
      const bytes = Buffer.from(text);
      const lines = createRedactedLines(redact);
      const handed: Buffer[] = [];
      const at = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
      at.forEach((end, index) => {
        handed.push(lines.add(bytes.subarray(index === 0 ? 0 : at[index - 1], end)));
      });
      handed.push(lines.rest());

      t.equal(Buffer.concat(handed).toString(), redact(text));
      t.equal(lines.heldBytes, 0);
    }),
  );
  t.end();
});

t.test('LIF-10 · of a line without end only its last part is held', (t) => {
  const lines = createRedactedLines(redact);
  let handed = 0;
  for (let round = 0; round < 1_000; round += 1) {
    handed += lines.add(Buffer.alloc(1_000, 'y')).length;
    t.ok(lines.heldBytes <= 20_000);
  }
  t.equal(handed + lines.forget(), 1_000_000);
  t.equal(lines.rest().length, 0);
  t.end();
});
