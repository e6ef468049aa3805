import t from 'tap';
import { createStepFormat, quoted, stepOf } from '../../../runtime/inspector/format-steps.ts';
import { fc } from '../../support/property.ts';

const go = { source: { path: ['up', 'one'] }, target: [{ path: ['up', 'two'] }], eventType: 'go' };
const stay = { source: { path: ['one'] }, eventType: '' };

t.test('INS-3 · a text is quoted as JSON quotes it', (t) => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 12 }), (text) => quoted(text) === JSON.stringify(text)));
  fc.assert(fc.property(fc.string({ maxLength: 40 }), (text) => quoted(text) === JSON.stringify(text)));
  for (const text of ['\ud800', '\n', '"', '\\', '\u2028', '']) t.equal(quoted(text), JSON.stringify(text));
  t.end();
});

t.test('INS-3 · a step says where from, where to and by what; one that stays leads to itself', (t) => {
  t.same(stepOf(go, 'go'), { event: { type: 'go' }, from: 'up.one', to: 'up.two' });
  t.same(stepOf(stay, 'init'), { event: { type: 'init' }, eventless: true, from: 'one', to: 'one' });
  t.end();
});

t.test('INS-3 · a formatted value is kept, by transition and by event', (t) => {
  const spell = createStepFormat();
  const events = Array.from({ length: 100 }, (_, at) => `xstate.done.actor.${at}`);
  for (const event of [...events, 'a "b"', ...events]) {
    t.same(JSON.parse(`{${spell(go, event)}`), stepOf(go, event));
  }
  t.same(JSON.parse(`{${spell(stay, 'x')}`), stepOf(stay, 'x'));
  t.end();
});
