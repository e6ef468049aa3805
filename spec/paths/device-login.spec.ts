import t from 'tap';
import type { EventObject } from 'xstate';
import { type DeviceLoginContext, deviceLoginMachine } from '../../machines/oauth/device-login.machine.ts';
import { loginWalks } from '../support/oauth/login-walks.ts';
import { doneBy, failedBy, wordsOfWalk as words } from '../support/walks.ts';

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

const { walks } = loginWalks<DeviceLoginContext>(deviceLoginMachine, {
  events,
  rule: 'DEV-4 · OAU-8',
  fewest: 20,
  granted: { output: { kind: 'approved' } },
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
