import t from 'tap';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';

import {
  type CodeVerdict,
  type DeviceLoginContext,
  deviceLoginMachine,
  type TokenVerdict,
} from '../../../machines/oauth/device-login.machine.ts';
import type { StepVerdict } from '../../../machines/oauth/login-step.ts';
import { turn } from '../../support/turns.ts';

const pending = (intervalMs: number): TokenVerdict => ({ kind: 'wait', intervalMs });

/** A login whose polls are answered as told, the last answer for ever; the times of the polls are written down. */
async function login(
  { intervalMs = 5_000, patienceMs = 300_000 },
  ...answers: (TokenVerdict | ((context: DeviceLoginContext) => TokenVerdict | Promise<TokenVerdict>))[]
) {
  const clock = new SimulatedClock();
  const polls: number[] = [];
  const told: string[] = [];
  const done: StepVerdict = { kind: 'done' };
  const machine = deviceLoginMachine.provide({
    actors: {
      discover: fromPromise<StepVerdict, DeviceLoginContext>(() => Promise.resolve(done)),
      identifyClient: fromPromise<StepVerdict, DeviceLoginContext>(() => Promise.resolve(done)),
      requestCode: fromPromise<CodeVerdict, DeviceLoginContext>(() =>
        Promise.resolve({ kind: 'done', intervalMs, patienceMs }),
      ),
      pollToken: fromPromise<TokenVerdict, DeviceLoginContext>(({ input }) => {
        polls.push(clock.now());
        const [answer = pending(intervalMs), ...more] = answers;
        if (more.length > 0) answers = more;
        return Promise.resolve(typeof answer === 'function' ? answer(input) : answer);
      }),
      storeCredentials: fromPromise<StepVerdict, DeviceLoginContext>(() => {
        told.push('store');
        return Promise.resolve(done);
      }),
    },
    actions: {
      announceCode: ({ context }) => void told.push(`code, ${context.patienceMs} ms`),
    },
  });
  const input = { id: 'hub', profile: 'default', server: 'hub', startedFrom: 'terminal' } as const;
  const actor = createActor(compile(machine), { input, clock });
  actor.start();
  const settle = async (): Promise<void> => {
    for (let times = 0; times < 10; times += 1) await turn();
  };
  await settle();
  const snapshot = () => actor.getSnapshot() as unknown as { value: string; context: DeviceLoginContext };
  return {
    polls,
    told,
    state: () => snapshot().value,
    why: () => snapshot().context.why,
    /** Second by second, so that whatever is due in between is done at its time. */
    async pass(seconds: number) {
      for (let passed = 0; passed < seconds; passed += 1) {
        clock.increment(1_000);
        await settle();
      }
    },
  };
}

t.test('DEV-4 · pending keeps the interval, slow_down lengthens it for good', async (t) => {
  const slowDown = ({ intervalMs }: DeviceLoginContext): TokenVerdict => pending(intervalMs + 5_000);
  const same = ({ intervalMs }: DeviceLoginContext): TokenVerdict => pending(intervalMs);
  const { polls, pass, state } = await login({}, same, slowDown, same, slowDown, same);
  t.same(polls, [], 'the first poll waits for the interval too');

  await pass(60);

  t.same(polls, [5_000, 10_000, 20_000, 30_000, 45_000, 60_000]);
  t.equal(state(), 'waiting');
});

t.test('DEV-4 · a longer wait that a server asks for is that of the next poll alone', async (t) => {
  const away = ({ intervalMs }: DeviceLoginContext): TokenVerdict => ({ kind: 'wait', intervalMs, onceMs: 30_000 });
  const same = ({ intervalMs }: DeviceLoginContext): TokenVerdict => pending(intervalMs);
  const { polls, pass } = await login({}, away, same, same);

  await pass(45);

  t.same(polls, [5_000, 35_000, 40_000, 45_000]);
});

t.test('DEV-4 · without an approval the shorter of the two bounds ends it, also while a poll hangs', async (t) => {
  const quiet = await login({ patienceMs: 12_000 });
  t.same(quiet.told, ['code, 12000 ms']);
  await quiet.pass(11);
  t.equal(quiet.state(), 'waiting');
  await quiet.pass(1);
  t.equal(quiet.state(), 'stopped');
  t.match(quiet.why(), /mcp server "hub": the login was not approved within 12 s/);
  t.same(quiet.told, ['code, 12000 ms'], 'nothing is written');

  const hanging = await login({ patienceMs: 12_000 }, () => new Promise<TokenVerdict>(() => {}));
  await hanging.pass(12);
  t.equal(hanging.state(), 'stopped');
  t.equal(hanging.polls.length, 1);
});

t.test('DEV-4 · approval stores the tokens, and the time that is over afterwards changes nothing', async (t) => {
  const { pass, state, told, why } = await login({ patienceMs: 12_000 }, pending(5_000), { kind: 'approved' });
  await pass(10);
  t.equal(state(), 'loggedIn');
  await pass(600);
  t.equal(state(), 'loggedIn');
  t.equal(why(), null);
  t.same(told, ['code, 12000 ms', 'store']);
});

t.test('DEV-4 · denial stops it at once', async (t) => {
  const { pass, state, told, why, polls } = await login({}, { kind: 'stop', why: 'denied' });
  await pass(30);
  t.equal(state(), 'stopped');
  t.equal(why(), 'denied');
  t.equal(polls.length, 1);
  t.notOk(told.includes('store'));
});
