import t from 'tap';
import { createMemoryTables } from '../../../actors/store/memory-tables.ts';
import type { Row } from '../../../actors/store/tables.ts';

const row = (text: string): Row => ({ version: 1, dueAtMs: undefined, heldBy: undefined, value: { body: text } });

t.test('DUR-2 · an event that is removed or written over leaves its place to those that follow', (t) => {
  const { tables, usedBytes } = createMemoryTables();
  const { events } = tables;
  const large = row('x'.repeat(900_000));
  const before = process.memoryUsage().arrayBuffers;
  for (let at = 0; at < 100; at += 1) {
    events.create(`k${at}`, large);
    events.write(`k${at}`, large);
    events.remove(`k${at}`);
  }
  const grownBy = process.memoryUsage().arrayBuffers - before;
  t.ok(grownBy < 20_000_000, `${grownBy} bytes for one event at a time`);
  t.equal(usedBytes(), 0);
  t.end();
});
