import { mock } from 'node:test';
import t from 'tap';
import { createLineReader } from '../../../actors/mcp/line-reader.ts';
import { fc } from '../../support/property.ts';

t.test('ERA-3 · lines are the same however a stream is cut', (t) => {
  const property = fc.property(fc.array(fc.string({ maxLength: 8 })), fc.array(fc.nat(7)), (parts, cuts) => {
    const bytes = Buffer.from(parts.join('\n'));
    const lines: string[] = [];
    const reader = createLineReader(1_000, (line) => lines.push(line.toString()));
    let from = 0;
    for (const cut of cuts) {
      reader.push(bytes.subarray(from, from + cut));
      from += cut;
    }
    reader.push(bytes.subarray(from));
    t.same(lines, bytes.toString().split('\n').slice(0, -1));
  });
  fc.assert(property, { numRuns: 50 });
  t.end();
});

t.test('LIF-9 · a line over the cap is refused, and all that follows', (t) => {
  const lines: string[] = [];
  const reader = createLineReader(4, (line) => lines.push(line.toString()));
  t.ok(reader.push(Buffer.from('abcd\nab')));
  t.ok(reader.push(Buffer.from('cd')));
  t.ok(reader.push(Buffer.from('\n')));
  t.notOk(reader.push(Buffer.from('x\nabcde')));
  t.notOk(reader.push(Buffer.from('\nx\n')));
  t.same(lines, ['abcd', 'abcd', 'x']);
  t.end();
});

t.test('LIF-9 · a long line costs no more than its bytes', (t) => {
  const chunk = Buffer.alloc(1_024, 'x');
  let length = 0;
  const reader = createLineReader(200_000_000, (line) => {
    length = line.length;
  });
  const joining = mock.method(Buffer, 'concat');
  t.teardown(() => joining.mock.restore());
  for (let count = 0; count < 100_000; count += 1) reader.push(chunk);
  reader.push(Buffer.from('\n'));
  t.equal(length, 102_400_000);
  t.equal(joining.mock.callCount(), 1, 'joined once: at each chunk it would copy five terabytes');
  t.end();
});
