import t from 'tap';
import { createTurns } from '../../../runtime/system/turns.ts';
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
