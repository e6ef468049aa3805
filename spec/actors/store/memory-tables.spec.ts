import t from 'tap';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import type { Row } from '../../../actors/store/tables.ts';
import { heldBytes } from '../../support/collect-garbage.ts';

const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { body: text } });

t.test('DUR-2 · an event that is removed or written over leaves its place to those that follow', (t) => {
  const { tables, usedBytes } = createMemoryTables();
  const { events } = tables;
  const large = row('x'.repeat(900_000));
  const before = heldBytes();
  for (let at = 0; at < 100; at += 1) {
    events.create(`k${at}`, large);
    events.write(`k${at}`, large);
    events.remove(`k${at}`);
  }
  const grownBy = heldBytes() - before;
  t.ok(grownBy < 20_000_000, `${grownBy} bytes for one event at a time`);
  t.equal(usedBytes(), 0);
  t.end();
});

t.test('SEC-6 · the claims of one event share a row in memory, and end one by one', (t) => {
  const { claims } = createMemoryTables().tables;
  const value = { eventKey: 'k1' };
  const claim = (dueAtMs: number, of = value): Row => ({ version: 0, dueAtMs, heldBy: undefined, value: of });

  claims.create('delivery/d1', claim(1));
  claims.create('signature/s1', claim(1));
  claims.create('later', claim(2));
  claims.create('of another event', claim(2, { eventKey: 'k2' }));

  t.equal(claims.read('signature/s1'), claims.read('delivery/d1'));
  t.same(claims.read('later'), claim(2));
  t.same(claims.read('of another event'), claim(2, { eventKey: 'k2' }));
  claims.remove('delivery/d1');
  t.equal(claims.read('delivery/d1'), undefined);
  t.same(claims.read('signature/s1'), claim(1));
  t.end();
});
