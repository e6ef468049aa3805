import t from 'tap';
import { foundChoices, markedLabel } from '../../../../../runtime/inspector/page/frame/found.ts';

const choices = [
  { group: 'Actions', label: 'Replay the event' },
  { group: 'Go to', label: 'Events' },
  { group: 'Go to', label: 'Route stripe' },
  { group: 'Go to', label: 'Server stripe-mcp' },
  { group: 'Actions', label: 'Events: send a test' },
];
const found = (typed: string): string =>
  foundChoices(choices, typed)
    .map(({ label }) => label)
    .join(' | ');

t.test('INS-2 · the palette finds what holds every word, group by group', async (t) => {
  t.equal(found('stripe'), 'Route stripe | Server stripe-mcp');
  t.equal(found('STRIPE ser'), 'Server stripe-mcp');
  t.equal(found('nothing'), '');
  t.equal(found(''), 'Replay the event | Events: send a test | Events | Route stripe | Server stripe-mcp');
});

t.test('INS-2 · what begins with the word comes first in its group', async (t) => {
  t.equal(found('event'), 'Events: send a test | Replay the event | Events');
});

t.test('INS-2 · no group is longer than a person reads', async (t) => {
  const many = Array.from({ length: 40 }, (_, at) => ({ group: 'Go to', label: `Route ${at}` }));
  t.equal(foundChoices(many, 'route').length, 6);
});

t.test('INS-2 · what was typed is set apart in the label, whatever it is', async (t) => {
  t.same(markedLabel('Route stripe', 'strip'), ['Route ', 'strip', 'e']);
  t.same(markedLabel('Events (all)', '(all'), ['Events ', '(all', ')']);
  t.same(markedLabel('Events', ''), ['Events']);
});
