import t from 'tap';
import type { EventObject } from 'xstate';
import { type BrowserLoginContext, browserLoginMachine } from '../../machines/oauth/browser-login.machine.ts';
import { loginWalks } from '../support/oauth/login-walks.ts';
import { doneBy, failedBy, wordsOfWalk as words } from '../support/walks.ts';

const steps = ['discover', 'bindPort', 'identifyClient', 'awaitRedirect', 'exchangeCode', 'storeCredentials'] as const;
const timeout = 'xstate.after.redirectTimeout.browserLogin.awaitingRedirect';
const events: readonly EventObject[] = [
  { type: 'login.cancel' },
  { type: timeout },
  ...steps.flatMap((id) => [doneBy(id, { kind: 'failed', why: `${id} failed` }), failedBy(id)]),
  ...steps.filter((id) => id !== 'identifyClient').map((id) => doneBy(id, { kind: 'done' })),
  ...(['configured', 'document', 'stored', 'registered'] as const).map((identity) =>
    doneBy('identifyClient', {
      kind: 'done',
      identity,
      document: identity === 'document' ? 'https://agent.test/client.json' : null,
    }),
  ),
  doneBy('exchangeCode', { kind: 'clientRefused', why: 'invalid_client' }),
];

const { walks, ended } = loginWalks<BrowserLoginContext>(browserLoginMachine, {
  events,
  rule: 'OAU-8',
  fewest: 50,
  granted: { type: 'xstate.done.actor.exchangeCode', output: { kind: 'done' } },
});

t.test('OAU-8 · everything before the writing can be cancelled', (t) => {
  const cancelled = ended.filter(({ told }) => told.at(-1)?.type === 'login.cancel');
  for (const { context } of cancelled) t.equal(context.why, 'the login was cancelled');
  t.same(
    [...new Set(cancelled.map(({ told }) => told.at(-2)?.type))].sort(),
    [
      undefined,
      'xstate.done.actor.awaitRedirect',
      'xstate.done.actor.bindPort',
      'xstate.done.actor.discover',
      'xstate.done.actor.exchangeCode',
      'xstate.done.actor.identifyClient',
    ].sort(),
  );
  t.end();
});

t.test(
  'OAU-4 · a document, and a registration of an earlier login, are refused once each; any other client ends it',
  (t) => {
    const refusals = walks.filter(({ told }) => told.at(-1)?.output?.kind === 'clientRefused');
    t.ok(refusals.length > 8);
    for (const walk of refusals) {
      const shown = walk.told.flatMap(({ output }) => output?.identity ?? []);
      const identity = shown.at(-1);
      const isFirst = shown.filter((each) => each === identity).length === 1;
      const goesOn = (identity === 'document' || identity === 'stored') && isFirst;
      t.equal(walk.value, goesOn ? 'identifying' : 'stopped', words(walk));
      t.equal(walk.context.documentRefused, shown.slice(0, goesOn ? undefined : -1).includes('document'), words(walk));
      t.equal(walk.context.storedRefused, shown.slice(0, goesOn ? undefined : -1).includes('stored'), words(walk));
    }
    t.end();
  },
);

t.test('OAU-6 · OAU-7 · the port is bound before a client is chosen, and a time-out names what may be amiss', (t) => {
  for (const walk of walks) {
    const types = walk.told.map(({ type }) => type);
    const identified = types.indexOf('xstate.done.actor.identifyClient');
    if (identified >= 0) t.ok(types.indexOf('xstate.done.actor.bindPort') < identified, words(walk));
    if (types.at(-1) !== timeout) continue;
    const { identity, document, why } = walk.context;
    t.match(why, /not completed within 5 minutes/, words(walk));
    t.equal(/oauth\.cimd: false/.test(why ?? '') && (why ?? '').includes(document ?? '?'), identity === 'document');
  }
  t.end();
});
