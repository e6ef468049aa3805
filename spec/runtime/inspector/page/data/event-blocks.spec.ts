import t from 'tap';
import { createBlockReader } from '../../../../../runtime/inspector/page/data/event-blocks.ts';
import { fc } from '../../../../support/property.ts';

const events = [
  { name: 'snapshot', data: '{"actors":[]}' },
  { name: 'delta', data: '{"gone":["a\\n\\nb"]}' },
  { name: 'vitals', data: '{}' },
];
const text = `retry: 1000\n\n${events.map(({ name, data }) => `event: ${name}\ndata: ${data}\n\n`).join('')}`;

t.test('INS-2 · events are the same wherever the stream was cut', async (t) => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: text.length - 1 })), (cuts) => {
      const take = createBlockReader();
      const at = [0, ...cuts.sort((one, other) => one - other), text.length];
      const taken = at.slice(1).flatMap((end, nth) => take(text.slice(at[nth], end)));
      return JSON.stringify(taken) === JSON.stringify(events);
    }),
  );
  t.same(createBlockReader()(text), events);
});

t.test('INS-2 · a partial event is kept until it is complete, and lines of data are joined', async (t) => {
  const take = createBlockReader();
  t.same(take('data: one\n'), []);
  t.same(take(''), []);
  t.same(take('data: two\n\n: a comment\n\n'), [{ name: 'message', data: 'one\ntwo' }]);
});
