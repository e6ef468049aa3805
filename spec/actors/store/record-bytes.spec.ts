import fc from 'fast-check';
import t from 'tap';
import {
  claimExpiry,
  claimKey,
  claimValue,
  copyOf,
  draftClaim,
  draftJson,
  draftRecord,
  readHead,
  readJson,
  timeText,
} from '../../../actors/store/record-bytes.ts';
import type { Draft } from '../../../actors/store/tables.ts';
import { isJsonObject } from '../../../machines/base/json.ts';

const stored = ({ bytes, end }: Draft) => copyOf(bytes.subarray(0, end));
const jsonText = fc
  .jsonValue()
  .filter(isJsonObject)
  .map((value) => JSON.stringify(value));

t.test('DUR-1 · reads back every record that it spells', async () => {
  const head = fc.record({
    version: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    dueAtMs: fc.option(fc.integer({ min: 0 }), { nil: undefined }),
    heldBy: fc.option(fc.string({ minLength: 1, unit: 'grapheme' }), { nil: undefined }),
  });
  fc.assert(
    fc.property(head, jsonText, (head, json) => {
      const bytes = stored(draftRecord(head, json));
      const { bodyAt, ...found } = readHead(bytes);
      return JSON.stringify(found) === JSON.stringify(head) && JSON.stringify(readJson(bytes, bodyAt)) === json;
    }),
  );
});

t.test('DUR-1 · reads back every claim and plain object', async () => {
  fc.assert(
    fc.property(jsonText, fc.integer({ min: 0 }), (json, expiresAtMs) => {
      const claim = stored(draftClaim(expiresAtMs, json));
      return (
        claimExpiry(claim) === expiresAtMs &&
        JSON.stringify(claimValue(claim)) === json &&
        JSON.stringify(readJson(stored(draftJson(JSON.parse(json))))) === json
      );
    }),
  );
});

t.test('DUR-1 · has room for large records after small ones and small after large', async (t) => {
  for (const size of [10, 5_000_000, 10, 70_000, 2_000_000, 1]) {
    const text = '\u20ac'.repeat(size);
    const bytes = stored(draftRecord({ version: 1, dueAtMs: undefined, heldBy: 's1' }, JSON.stringify({ text })));
    t.equal(readJson(bytes, readHead(bytes).bodyAt)?.text === text, true, `${size} characters`);
  }
});

t.test('DUR-1 · reads no object where there is none', async (t) => {
  for (const text of ['', '{', '[]', '1', 'null', '{"a":1}x', '\u0000']) {
    t.equal(readJson(Buffer.from(text)), undefined, JSON.stringify(text));
  }
});

t.test('DUR-1 · spells times so that they sort', async (t) => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), fc.nat(2 ** 31), (one, other) => {
      const [a, b] = [one * 100_000, other * 100_000];
      return a < b === timeText(a) < timeText(b) && timeText(a).length === 12;
    }),
  );
  t.equal(timeText(-5), timeText(0));
  t.equal(timeText(Number.POSITIVE_INFINITY), 'f'.repeat(12));
  t.equal(timeText(1.5), timeText(2), 'a moment within a millisecond is due when that is over');
});

t.test('IDM-2 · keeps short names and shortens long ones to a digest of their own', async (t) => {
  t.equal(claimKey('delivery/x'), 'delivery/x');
  const long = 'x'.repeat(501);
  t.match(claimKey(long), /^sha256:[0-9a-f]{64}$/);
  t.not(claimKey(long), claimKey(`${long}x`));
  t.match(claimKey(''), /^sha256:/);
});
