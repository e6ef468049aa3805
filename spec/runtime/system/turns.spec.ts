import t from 'tap';
import { createTurns, inTurns, itemsInTurn } from '../../../runtime/system/turns.ts';
import { deferred } from '../../support/turns.ts';

t.test('CFG-2 · moves come one after another, also after one that fell over something', async (t) => {
  const said: string[] = [];
  const inTurn = createTurns((thrown) => void said.push(String(thrown)));
  const first = deferred<void>();
  const one = inTurn(async () => {
    said.push('one begins');
    await first.promise;
    throw new TypeError('a flaw');
  });
  const two = inTurn(async () => void said.push('two'));
  await Promise.resolve();
  t.same(said, ['one begins']);
  first.resolve();
  await Promise.all([one, two]);
  t.same(said, ['one begins', 'TypeError: a flaw', 'two']);
});

t.test('SRC-4 · a long list is visited in order, and other queued work runs after each share', async (t) => {
  t.equal(itemsInTurn, 32);
  const items = Array.from({ length: 10 * itemsInTurn + 1 }, (_, index) => index);
  const seen: number[] = [];
  const between: number[] = [];
  const other = (): void => {
    between.push(seen.length);
    if (seen.length < items.length) setImmediate(other);
  };
  const over = new Promise<void>((resolve) => {
    inTurns(items, (item, index) => {
      seen.push(item);
      if (index === items.length - 1) resolve();
      return true;
    });
  });
  setImmediate(other);
  await over;
  t.same(seen, items);
  t.same(
    between,
    Array.from({ length: 9 }, (_, turn) => (turn + 2) * itemsInTurn),
    'once after every share',
  );
});

t.test('SRC-4 · a visit that returns false is the last one', (t) => {
  const seen: number[] = [];
  const visit = (item: number): boolean => seen.push(item) < 2;
  inTurns([1, 2, 3], visit, (resume) => resume());
  t.same(seen, [1, 2]);
  t.end();
});
