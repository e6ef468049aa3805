import t from 'tap';
import type { EventObject } from 'xstate';
import { type DeviceLoginContext, deviceLoginMachine } from '../../machines/oauth/device-login.machine.ts';
import { doneBy, failedBy, walksOf, wordsOfWalk as words } from '../support/walks.ts';

const steps = ['discover', 'identifyClient', 'requestCode', 'pollToken', 'storeCredentials'] as const;
const events: readonly EventObject[] = [
  { type: 'login.cancel' },
  { type: 'patience.over' },
  { type: 'xstate.after.pollInterval.deviceLogin.waiting' },
  ...steps.map((id) => failedBy(id)),
  ...['discover', 'identifyClient', 'requestCode', 'storeCredentials'].map((id) =>
    doneBy(id, { kind: 'failed', why: `${id} failed` }),
  ),
  ...['discover', 'identifyClient', 'storeCredentials'].map((id) => doneBy(id, { kind: 'done' })),
  doneBy('requestCode', { kind: 'done', intervalMs: 5_000, patienceMs: 300_000 }),
  doneBy('pollToken', { kind: 'wait', intervalMs: 5_000 }),
  doneBy('pollToken', { kind: 'wait', intervalMs: 10_000 }),
  doneBy('pollToken', { kind: 'stop', why: 'denied' }),
  doneBy('pollToken', { kind: 'approved' }),
];

interface Told {
  readonly output?: { readonly kind: string; readonly intervalMs?: number };
}

const walks = walksOf<DeviceLoginContext, Told>(deviceLoginMachine, {
  input: { id: 'hub', profile: 'default', server: 'hub', startedFrom: 'terminal' },
  events,
  limit: 50_000,
});
const ended = walks.filter(({ value }) => value === 'loggedIn' || value === 'stopped');

t.test('DEV-4 · every state is reached, and every way ends', (t) => {
  t.same(new Set(walks.map(({ value }) => value)), new Set(Object.keys(deviceLoginMachine.config.states ?? {})));
  t.ok(ended.length > 20, 'the walk is not cut short');
  t.end();
});

t.test('DEV-4 · credentials are written on the way into the logged-in state, and nowhere else', (t) => {
  const writers = Object.entries(deviceLoginMachine.config.states ?? {}).filter(([, state]) =>
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
    t.equal(stored, walk.told.length - 1, words(walk));
    t.match(walk.told[stored - 1], { output: { kind: 'approved' } }, `only an approval is written: ${words(walk)}`);
  }
  t.end();
});

t.test('DEV-4 · pending goes on with the interval that the answer gives, denial and expiry stop', (t) => {
  for (const walk of walks) {
    const last = walk.told.at(-1);
    if (last?.type !== 'xstate.done.actor.pollToken') continue;
    const next = { wait: 'waiting', stop: 'stopped', approved: 'storing' }[last.output?.kind ?? ''];
    t.equal(walk.value, next, words(walk));
    if (last.output?.kind === 'wait') t.equal(walk.context.intervalMs, last.output.intervalMs, words(walk));
    if (last.output?.kind === 'stop') t.equal(walk.context.why, 'denied', words(walk));
  }
  t.end();
});

t.test('DEV-4 · OAU-8 · a login that stops says why, and can be cancelled until it writes', (t) => {
  for (const walk of ended) {
    if (walk.value === 'loggedIn') t.equal(walk.context.why, null, words(walk));
    else t.ok((walk.context.why ?? '') !== '', words(walk));
    const [before, last] = walk.told.slice(-2);
    if (last?.type === 'login.cancel') t.notMatch(before, { output: { kind: 'approved' } }, words(walk));
  }
  t.ok(ended.some(({ told }) => told.length === 1 && told[0]?.type === 'login.cancel'));
  t.end();
});
