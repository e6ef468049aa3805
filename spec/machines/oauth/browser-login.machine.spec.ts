import t from 'tap';
import { createActor, fromPromise, SimulatedClock } from 'xstate';
import { compile } from '../../../machines/base/compile.ts';
import {
  type BrowserLoginContext,
  browserLoginMachine,
  type ExchangeVerdict,
  type IdentifyVerdict,
} from '../../../machines/oauth/browser-login.machine.ts';
import type { StepVerdict } from '../../../machines/oauth/login-step.ts';
import { turn } from '../../support/turns.ts';

const document = 'https://agent.test/client.json';
const shown = (identity: 'configured' | 'document' | 'stored' | 'registered'): IdentifyVerdict => ({
  kind: 'done',
  identity,
  document: identity === 'document' ? document : null,
});

/** A login whose browser never comes back unless the spec says so; each step is written down as it begins. */
async function login(given: {
  readonly identities: readonly IdentifyVerdict[];
  readonly redirects?: readonly (StepVerdict | Error)[];
  readonly exchanges?: readonly ExchangeVerdict[];
}) {
  const told: string[] = [];
  const identities = [...given.identities];
  const redirects = [...(given.redirects ?? [])];
  const exchanges = [...(given.exchanges ?? [])];
  const step = (name: string, verdict: () => StepVerdict | Error | undefined) =>
    fromPromise<StepVerdict, BrowserLoginContext>(() => {
      told.push(name);
      const found = verdict();
      if (found instanceof Error) return Promise.reject(found);
      return found === undefined ? new Promise(() => {}) : Promise.resolve(found);
    });
  const well = (): StepVerdict => ({ kind: 'done' });
  const machine = browserLoginMachine.provide({
    actors: {
      discover: step('discover', well),
      bindPort: step('bindPort', well),
      identifyClient: fromPromise<IdentifyVerdict, BrowserLoginContext>(() =>
        Promise.resolve(identities.shift() ?? shown('registered')),
      ),
      awaitRedirect: step('awaitRedirect', () => redirects.shift()),
      exchangeCode: fromPromise<ExchangeVerdict, BrowserLoginContext>(() =>
        Promise.resolve(exchanges.shift() ?? { kind: 'done' }),
      ),
      storeCredentials: step('store', well),
    },
    actions: {
      announceUrl: () => void told.push('announce'),
      release: () => void told.push('release'),
      recordRefusal: ({ context }) => void told.push(`refused ${context.document}`),
    },
  });
  const clock = new SimulatedClock();
  const input = { id: 'hub@work', profile: 'work', server: 'hub', startedFrom: 'terminal' } as const;
  const actor = createActor(compile(machine), { input, clock });
  actor.start();
  const settle = async (): Promise<void> => {
    for (let times = 0; times < 12; times += 1) await turn();
  };
  await settle();
  const snapshot = () => actor.getSnapshot() as unknown as { value: string; context: BrowserLoginContext };
  return {
    told,
    state: () => snapshot().value,
    why: () => snapshot().context.why ?? '',
    send: (event: { readonly type: 'login.cancel' }) => actor.send(event),
    async pass(ms: number) {
      clock.increment(ms);
      await settle();
    },
  };
}

t.test(
  'OAU-7 · five minutes without a redirect end it, and the message names the document and cimd: false',
  async (t) => {
    const { state, pass, why, told } = await login({ identities: [shown('document')] });
    await pass(299_999);
    t.equal(state(), 'awaitingRedirect');

    await pass(1);

    t.equal(state(), 'stopped');
    t.match(why(), `mcp server "hub": the login was not completed within 5 minutes`);
    t.match(why(), document);
    t.match(why(), 'oauth.cimd: false');
    t.equal(told.filter((word) => word === 'release').length, 1, 'the port is released once');
    t.notOk(told.includes('store'));
  },
);

t.test(
  'OAU-7 · without a document the message says how to begin again, or which registration may be gone',
  async (t) => {
    for (const [identity, cure] of [
      ['registered', '`agent mcp login hub --profile work`'],
      ['configured', '`agent mcp login hub --profile work`'],
      ['configured', 'register it for oauth.client_id and set oauth.redirect_port'],
      ['stored', 'the next login registers anew'],
    ] as const) {
      const { pass, why } = await login({ identities: [shown(identity)] });
      await pass(300_000);
      t.match(why(), cure, identity);
      t.notMatch(why(), 'cimd', identity);
    }
  },
);

t.test(
  'OAU-4 · a refused document is recorded once, the person gets five minutes again, and the rest is as ever',
  async (t) => {
    const { told, pass, state } = await login({
      identities: [shown('document'), shown('registered')],
      redirects: [{ kind: 'done' }],
      exchanges: [{ kind: 'clientRefused', why: 'invalid_client' }],
    });
    t.equal(state(), 'awaitingRedirect');
    t.same(told, [
      'discover',
      'bindPort',
      'announce',
      'awaitRedirect',
      `refused ${document}`,
      'announce',
      'awaitRedirect',
    ]);

    await pass(299_999);
    t.equal(state(), 'awaitingRedirect', 'a time of its own');
    await pass(1);
    t.equal(state(), 'stopped');
  },
);

t.test('OAU-8 · a step that crashes stops the login with its cause, and with the fix after an upgrade', async (t) => {
  const gone = Object.assign(new Error('no module'), { code: 'ERR_MODULE_NOT_FOUND' });
  const { state, why } = await login({ identities: [], redirects: [gone] });
  t.equal(state(), 'stopped');
  t.match(why(), /crashed in the gateway: no module; if another version was installed .* stop it and start it again$/);
});

t.test('OAU-8 · the port is released before the end is reported, however it ends', async (t) => {
  const well = await login({ identities: [], redirects: [{ kind: 'done' }] });
  t.equal(well.state(), 'loggedIn');
  t.same(well.told, ['discover', 'bindPort', 'announce', 'awaitRedirect', 'store', 'release']);

  const cancelled = await login({ identities: [] });
  cancelled.send({ type: 'login.cancel' });
  t.equal(cancelled.state(), 'stopped');
  t.equal(cancelled.why(), 'the login was cancelled');
  t.equal(cancelled.told.at(-1), 'release');
});
