import t from 'tap';
import { createOauthFetch } from '../../../actors/oauth/oauth-fetch.ts';
import type { LoginInput } from '../../../machines/oauth/login-step.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';
import { createLogins, type LiveLogin } from '../../../runtime/oauth/logins.ts';
import { fakePool } from '../../support/pools.ts';
import { turn } from '../../support/turns.ts';

const never = new AbortController().signal;
const hub = { profile: 'default', server: 'hub', startedFrom: 'terminal', flow: 'browser' } as const;

function stage() {
  const browser = fakePool<LoginInput>();
  const device = fakePool<LoginInput>();
  const logins = createLogins({ browser: browser.handle, device: device.handle });
  const closed: string[] = [];
  const live = (name: string): LiveLogin => ({
    settings: readOauthSettings({}),
    url: 'https://mcp.example/mcp',
    oauth: createOauthFetch({ fetch, version: '0', userAgent: undefined }),
    report: () => {},
    close: () => void closed.push(name),
  });
  return { browser, device, logins, closed, live };
}

t.test('OAU-8 · OAU-9 · one login of a server and profile at a time, each in the pool of its flow', async (t) => {
  const { browser, device, logins, closed, live } = stage();

  const first = logins.start(hub, live('first'), never);

  t.ok(logins.isUnderWay('default', 'hub'));
  t.equal(logins.start({ ...hub, flow: 'device' }, live('second'), never), undefined);
  const other = logins.start({ ...hub, profile: 'work', flow: 'device' }, live('other'), never);
  t.same(
    browser.spawned.map(({ input }) => input),
    [{ id: 'hub', profile: 'default', server: 'hub', startedFrom: 'terminal' }],
  );
  t.same(
    device.spawned.map(({ key }) => key),
    ['hub@work'],
  );

  logins.ended('hub', { kind: 'loggedIn' });
  logins.ended('hub@work', { kind: 'stopped', why: 'no' });

  t.same(await first, { kind: 'loggedIn' });
  t.same(await other, { kind: 'stopped', why: 'no' });
  t.same(closed, ['first', 'other']);
  t.notOk(logins.isUnderWay('default', 'hub'));
  t.equal(logins.get('hub'), undefined);
  t.ok(logins.start(hub, live('again'), never), 'and it can be begun again');
});

t.test('OAU-8 · who began it may cancel it, before and after it has begun', async (t) => {
  for (const early of [true, false]) {
    const { browser, logins, live } = stage();
    const person = new AbortController();
    if (early) person.abort();
    logins.start(hub, live('x'), person.signal);
    if (!early) person.abort();
    t.same(browser.spawned[0]?.heard, [{ type: 'login.cancel' }], String(early));
  }
  const { browser, logins, live } = stage();
  const person = new AbortController();
  logins.start(hub, live('x'), person.signal);
  logins.ended('hub', { kind: 'loggedIn' });
  logins.start(hub, live('y'), never);
  person.abort();
  t.same(browser.spawned[1]?.heard ?? [], [], 'not the next one');
});

t.test('LIF-9 · OAU-8 · a gateway that stops ends every login, and begins none', async (t) => {
  const { browser, device, logins, closed, live } = stage();
  logins.start(hub, live('a'), never);
  logins.start({ ...hub, profile: 'work', flow: 'device' }, live('b'), never);

  let isOver = false;
  const stopped = logins.stop().then(() => {
    isOver = true;
  });

  for (const { spawned } of [browser, device])
    t.same(spawned[0]?.heard, [{ type: 'login.cancel', why: 'the gateway stops' }]);
  t.same(await logins.start({ ...hub, server: 'late' }, live('late'), never), {
    kind: 'stopped',
    why: 'the gateway stops',
  });
  t.same(closed, ['late']);
  t.equal(browser.spawned.length, 1);

  logins.ended('hub', { kind: 'stopped', why: 'the gateway stops' });
  await turn();
  t.notOk(isOver, 'one stores its tokens');
  logins.ended('hub@work', { kind: 'loggedIn' });
  await stopped;
  await logins.stop();
});

t.test('OAU-8 · a pasted redirect goes to the login that waits for it; the port is let go at the end', async (t) => {
  const { logins, live } = stage();
  t.notOk(logins.paste('default', 'hub', 'state=s'), 'nobody waits');
  const row = live('x');
  logins.start(hub, row, never);
  t.notOk(logins.paste('default', 'hub', 'state=s'), 'not yet');
  row.paste = (query) => query === 'state=s';
  t.ok(logins.paste('default', 'hub', 'state=s'));
  t.notOk(logins.paste('default', 'hub', 'state=other'));
  t.notOk(logins.paste('work', 'hub', 'state=s'));
  let released = 0;
  const close = (): void => {
    released += 1;
  };
  row.listener = { port: 1, redirect: () => Promise.reject(new Error('x')), close };
  logins.ended('hub', { kind: 'stopped', why: 'crashed' });
  t.equal(released, 1);
  logins.ended('hub', { kind: 'stopped', why: 'again' });
});
