import t from 'tap';
import type { EventObject } from 'xstate';
import { type BrowserLoginContext, browserLoginMachine } from '../../machines/oauth/browser-login.machine.ts';
import { doneBy, failedBy, walksOf, wordsOfWalk as words } from '../support/walks.ts';

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

interface Told {
  readonly output?: { readonly kind: string; readonly identity?: string };
}

const walks = walksOf<BrowserLoginContext, Told>(browserLoginMachine, {
  input: { id: 'hub', profile: 'default', server: 'hub', startedFrom: 'terminal' },
  events,
  limit: 50_000,
});
const ended = walks.filter(({ value }) => value === 'loggedIn' || value === 'stopped');

t.test('OAU-8 · every state is reached, and every way ends', (t) => {
  t.same(new Set(walks.map(({ value }) => value)), new Set(Object.keys(browserLoginMachine.config.states ?? {})));
  t.ok(ended.length > 50, 'the walk is not cut short');
  t.end();
});

t.test('OAU-8 · credentials are written on the way into the logged-in state, and nowhere else', (t) => {
  const writers = Object.entries(browserLoginMachine.config.states ?? {}).filter(([, state]) =>
    JSON.stringify(state).includes('storeCredentials'),
  );
  t.same(
    writers.map(([name]) => name),
    ['storing'],
    'one state can write',
  );
  for (const walk of walks) {
    const stored = walk.told.findIndex(
      ({ type, output }) => type.endsWith('.storeCredentials') && output?.kind === 'done',
    );
    t.equal(walk.value === 'loggedIn', stored >= 0, words(walk));
    if (stored < 0) continue;
    t.equal(stored, walk.told.length - 1, `what is written ends the login: ${words(walk)}`);
    const before = walk.told[stored - 1];
    t.match(before, { type: 'xstate.done.actor.exchangeCode', output: { kind: 'done' } }, words(walk));
  }
  t.end();
});

t.test('OAU-8 · a login that stops says why, one that succeeds has nothing to say', (t) => {
  for (const walk of ended) {
    if (walk.value === 'loggedIn') t.equal(walk.context.why, null, words(walk));
    else t.ok((walk.context.why ?? '') !== '', words(walk));
  }
  t.end();
});

t.test('OAU-8 · what is being written cannot be cancelled, everything before it can', (t) => {
  for (const { told, context } of ended) {
    const last = told.at(-1);
    if (last?.type !== 'login.cancel') continue;
    t.equal(context.why, 'the login was cancelled');
    t.notMatch(told.at(-2), { type: 'xstate.done.actor.exchangeCode', output: { kind: 'done' } });
  }
  const cancelled = new Set(
    ended.filter(({ told }) => told.at(-1)?.type === 'login.cancel').map(({ told }) => told.at(-2)?.type),
  );
  t.same(
    [...cancelled].sort(),
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
