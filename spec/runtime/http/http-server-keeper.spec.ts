import t from 'tap';
import { defaultProfile } from '../../../machines/base/names.ts';
import { readConfig } from '../../../machines/config/read-config.ts';
import type { Settings } from '../../../machines/config/settings.ts';
import type { HttpServer } from '../../../runtime/http/http-server.ts';
import { createHttpServerKeeper } from '../../../runtime/http/http-server-keeper.ts';

const signal = new AbortController().signal;

function settingsAt(host: string, port: number, front = 'node'): Settings {
  return readConfig({
    file: 'config.yaml',
    text: `gateway: {front: ${front}, drain_timeout_seconds: 17}\nplatforms: {webhook: {enabled: true, host: ${host}, port: ${port}}}\n`,
    profile: defaultProfile,
    scope: { secrets: new Map(), env: {}, userHome: '/home/me', workspaceFolder: '/work', pathSeparator: '/' },
    checkFilters: () => [],
    isFolder: () => true,
  }).settings;
}

/** HTTP servers that write down what happens to them; ports in `taken` cannot be bound. */
function makeKeeper(taken: Set<number> = new Set()) {
  const steps: string[] = [];
  const gates: (() => boolean)[] = [];
  let wanted = settingsAt('127.0.0.1', 1);
  let release = (): void => {};
  const answered = new Promise<void>((resolve) => {
    release = resolve;
  });
  const keeper = createHttpServerKeeper({
    openHttpServer: ({ webhook: { host, port }, gateway: { front } }, isOpen) => {
      if (taken.has(port)) return Promise.reject(new Error(`cannot bind ${port}`));
      steps.push(`open ${front} ${port}`);
      gates.push(isOpen);
      const opened: HttpServer = {
        kind: 'node',
        host,
        port,
        close: (graceMs) => {
          steps.push(`close ${front} ${port} within ${graceMs}`);
          return answered;
        },
      };
      return Promise.resolve(opened);
    },
    wanted: () => wanted,
    graceMs: () => wanted.gateway.drainTimeoutMs,
  });
  return {
    keeper,
    steps,
    gates,
    taken,
    release,
    want: (settings: Settings) => {
      wanted = settings;
    },
  };
}

t.test('ADP-1 · CFG-2 · a new address is bound before the old HTTP server closes', async (t) => {
  const { keeper, steps, gates, want } = makeKeeper();
  t.same(await keeper.open(signal), { url: 'http://127.0.0.1:1', fault: null });
  want(settingsAt('127.0.0.1', 2));
  t.notOk(keeper.standsAs(settingsAt('127.0.0.1', 2)));

  t.same(await keeper.move(signal), { url: 'http://127.0.0.1:2', fault: null });

  t.same(steps, ['open node 1', 'open node 2', 'close node 1 within 17000']);
  t.ok(keeper.standsAs(settingsAt('127.0.0.1', 2)));
  t.same(
    gates.map((isOpen) => isOpen()),
    [false, true],
    'a connection that the old HTTP server keeps alive brings nothing new',
  );
});

t.test('ADP-1 · CFG-2 · where the new address cannot be bound, the old HTTP server stays', async (t) => {
  const { keeper, steps, gates, want } = makeKeeper(new Set([2]));
  await keeper.open(signal);
  want(settingsAt('127.0.0.1', 2));

  t.match(await keeper.move(signal), {
    url: 'http://127.0.0.1:1',
    fault: /cannot bind 2; the last good configuration stays in force, at http:\/\/127\.0\.0\.1:1/,
  });

  t.same(steps, ['open node 1'], 'nothing closed');
  t.ok(gates[0]?.());
  t.ok(keeper.standsAs(settingsAt('127.0.0.1', 1)));
  want(settingsAt('127.0.0.1', 1));
  t.same(await keeper.move(signal), { url: 'http://127.0.0.1:1', fault: null }, 'back to where it stands');
  t.same(steps, ['open node 1']);
});

t.test(
  'ADP-1 · on the same port the old HTTP server closes first, and opens again where the new one fails',
  async (t) => {
    const { keeper, steps, want, taken } = makeKeeper();
    await keeper.open(signal);
    want(settingsAt('127.0.0.1', 1, 'uws'));
    t.match(await keeper.move(signal), { fault: null });
    t.same(steps.slice(1), ['close node 1 within 17000', 'open uws 1']);

    taken.add(1);
    want(settingsAt('::1', 1, 'node'));
    t.match(await keeper.move(signal), { url: null, fault: /cannot bind 1; and the old address is lost too/ });
    t.equal(keeper.current(), undefined);
  },
);

t.test(
  'CON-2 · DIS-2 · a retired HTTP server has the drain timeout to answer what it took, and is waited for',
  async (t) => {
    const { keeper, steps, release } = makeKeeper();
    await keeper.open(signal);
    keeper.retire();
    t.match(steps, ['open node 1', 'close node 1 within 17000']);
    let isOver = false;
    const retired = keeper.retired().then(() => {
      isOver = true;
    });
    await Promise.resolve();
    t.notOk(isOver, 'an answer is still owed');
    release();
    await retired;
  },
);

t.test('CON-2 · an HTTP server that opens after the gateway was stopped is closed again', async (t) => {
  const { keeper, steps } = makeKeeper();
  const stopped = new AbortController();
  const opening = keeper.open(stopped.signal);
  stopped.abort();
  await t.rejects(opening, { message: 'the gateway stops' });
  t.same(steps, ['open node 1', 'close node 1 within 17000']);
  t.equal(keeper.current(), undefined);
});
