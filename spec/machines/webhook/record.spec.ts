import fc from 'fast-check';
import t from 'tap';
import { claimName, groupName } from '../../../machines/webhook/record.ts';

t.test('IDM-1 · claims and groups of different routes never share a name', (t) => {
  const part = fc.string({ maxLength: 6 });
  fc.assert(
    fc.property(part, part, part, part, part, part, (a, b, c, d, e, f) => {
      const same = a === d && b === e && c === f;
      return (
        (claimName(a, b, c) === claimName(d, e, f)) === same && (groupName(a, b, c) === groupName(d, e, f)) === same
      );
    }),
  );
  t.equal(claimName('a/b', 'c', 'd') === claimName('a', 'b/c', 'd'), false);
  t.end();
});
