import t from 'tap';
import { hashOf, hashTo, keepInLinks, readHash } from '../../../../../runtime/inspector/page/data/hash.ts';

t.test('INS-2 · a place is read from its address as it was written there', (t) => {
  for (const [view, chosen, query] of [
    ['events', 'a b/c?d', { q: 'route:"a b" #1', range: '1h' }],
    ['servers', 'default/näme', {}],
    ['overview', '', { range: '7d' }],
  ] as const)
    t.same(readHash(hashOf(view, chosen, query)), { view, chosen, query });
  t.same(readHash('#/nowhere/x%ZZ'), { view: 'overview', chosen: 'x%ZZ', query: {} });
  t.same(readHash('#/events?q=why?&range=1h'), { view: 'events', chosen: '', query: { q: 'why?', range: '1h' } });
  t.end();
});

t.test('INS-4 · every link keeps the chosen profile, unless it names its own or none', (t) => {
  keepInLinks({ profile: 'work' });
  t.equal(hashOf('servers'), '#/servers?profile=work');
  t.equal(hashOf('events', 'k', { q: 'x' }), '#/events/k?profile=work&q=x');
  t.equal(hashOf('events', '', { profile: 'home' }), '#/events?profile=home');
  t.equal(hashOf('events', '', { profile: '' }), '#/events');
  t.equal(hashTo('targets/default/slack?state=open'), '#/targets/default/slack?profile=work&state=open');
  keepInLinks({});
  t.equal(hashOf('servers'), '#/servers');
  t.end();
});
