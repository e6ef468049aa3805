import t from 'tap';
import { type EventObject, fromPromise } from 'xstate';
import {
  type PlatformContext,
  type PlatformInput,
  platformConnectionMachine,
} from '../../machines/dispatch/platform-connection.machine.ts';
import { refused, transient, type VerifyOutcome } from '../../machines/dispatch/send-outcome.ts';
import { edgesOf, valuesOf } from '../support/edges.ts';

const idle = fromPromise<never, never>(() => new Promise<never>(() => {})) as never;
const machine = platformConnectionMachine.provide({
  actors: { verify: idle },
  actions: { reportChecked: () => {}, reportFailed: () => {} },
});
const checked = (outcome: VerifyOutcome) =>
  ({ type: 'xstate.done.actor.verify', output: { outcome, jitter: 0 } }) as EventObject;
const events: readonly EventObject[] = [
  checked({ kind: 'verified', as: 'ops' }),
  checked({ kind: 'unverifiable', reason: 'no call' }),
  checked(refused('auth', 'no') as VerifyOutcome),
  checked(transient('away') as VerifyOutcome),
  { type: 'xstate.error.actor.verify', error: 'x' } as EventObject,
  { type: 'xstate.after.nextCheck.platformConnection.connected' },
  { type: 'xstate.after.nextCheck.platformConnection.failed' },
  { type: 'platform.check' },
  { type: 'platform.delivered' },
  { type: 'platform.refused' },
  { type: 'platform.stop' },
];
const begin = (kind: PlatformInput['begin'], why: string | null = null): PlatformInput => ({
  profile: 'default',
  target: 'slack',
  name: 'slack',
  begin: kind,
  why,
});
const explore = (input: PlatformInput) =>
  edgesOf<PlatformContext>(machine, {
    input,
    events,
    // Failures only make the wait longer.
    key: ({ value, context }) => [value, context.why, context.refused, context.failures > 0],
  });

t.test('DLV-1 · DLV-2 · every state is reached, and only a check or a delivery connects', (t) => {
  const edges = explore(begin('verifying'));
  const reached = new Set([...valuesOf(edges), ...valuesOf(explore(begin('disabled')))]);
  for (const state of Object.keys(platformConnectionMachine.config.states ?? {}))
    if (state !== 'choosing') t.ok(reached.has(state), state);
  for (const { from, event, to } of edges) {
    const { why, refused: isRefused, failures } = to.context;
    if (to.value === 'connected') t.same([why, isRefused, failures], [null, false, 0], event.type);
    if (to.value === 'failed') t.ok(why !== null && failures > 0, event.type);
    if (from.value !== 'connected' && to.value === 'connected')
      t.ok(['xstate.done.actor.verify', 'platform.delivered'].includes(event.type), event.type);
    // A connection that deliveries may use stays usable while it is looked at again.
    if (from.value === 'connected') t.not(to.value, event.type === 'platform.check' ? 'verifying' : 'failed');
  }
  t.end();
});

t.test('DLV-2 · CFG-3 · a target that is off, or whose entry cannot be used, sends no request', (t) => {
  for (const [input, state] of [
    [begin('disabled'), 'disabled'],
    [begin('failed', 'config.yaml:3: no token'), 'failed'],
  ] as const) {
    const edges = explore(input);
    t.same(valuesOf(edges), new Set([state, 'stopped']));
    for (const { to } of edges) t.equal(to.context.why, input.why);
  }
  t.end();
});
