import t from 'tap';
import { standingOf, standingOfState, wordsOfActor } from '../../../../../runtime/inspector/page/data/standing.ts';

const rows = [
  ['connected', ['resting'], 'resting'],
  ['connecting', ['working'], 'working'],
  ['needsLogin', ['resting', 'needsUser'], 'needsUser'],
  ['parked', ['resting'], 'failed'],
  ['backingOff', ['working'], 'retrying'],
  ['sending', ['working', 'retrying'], 'retrying'],
  ['disabled', ['resting'], 'ended'],
  ['delivered', ['ended'], 'ended'],
  ['failed', ['ended'], 'failed'],
  ['ended', ['ended', 'failed'], 'failed'],
  ['up.running', ['resting'], 'resting'],
  ['up.recovering', ['working'], 'retrying'],
] as const;

t.test('INS-2 · every state has one of six standings, by its tags and its name', async (t) => {
  for (const [state, tags, standing] of rows) t.equal(standingOf({ state, tags }), standing, `${state} [${tags}]`);
});

t.test('TRU-3 · INS-2 · a run that waits for a person is not shown as running', async (t) => {
  const run = { state: 'running', tags: ['working'] };
  t.same(wordsOfActor(run), { standing: 'working', text: 'running' });
  t.same(wordsOfActor({ ...run, question: 'a1' }), { standing: 'needsUser', text: 'waiting for you' });
});

t.test('INS-2 · a state without tags is read by its name', async (t) => {
  t.equal(standingOfState('needsLogin'), 'needsUser');
  t.equal(standingOfState('paused'), 'ended');
  t.equal(standingOfState('connecting'), 'working');
  t.equal(standingOfState('backingOff'), 'retrying');
  t.equal(standingOfState('scheduled'), 'resting');
});
