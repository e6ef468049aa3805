import t, { type Test } from 'tap';
import type { LogLevel } from '../../../actors/ports.ts';
import { openFront } from '../../../runtime/http/choose.ts';
import { runCli, startDaemon } from '../../support/daemon.ts';
import { noUws } from '../../support/fronts.ts';
import { makeHome } from '../../support/home.ts';
import { postSigned } from '../../support/sign.ts';
import { secret, webhookConfig } from '../../support/webhook-home.ts';

t.test('CON-2 · the front is chosen as configured, and one line says which', async (t) => {
  for (const [choice, kind, line] of [
    ['node', 'node', /^front: node:http$/],
    ['auto', noUws === false ? 'uws' : 'node', noUws === false ? /^front: uWebSockets\.js$/ : /cannot load/],
    ...(noUws === false ? ([['uws', 'uws', /^front: uWebSockets\.js$/]] as const) : []),
  ] as const) {
    const lines: string[] = [];
    const log = { log: (_: LogLevel, message: string) => void lines.push(message), warnOnce: () => {} };
    const front = await openFront(choice, { host: '127.0.0.1', port: 0, bodyTimeoutMs: 1_000 }, () => {}, log);
    t.equal(front.kind, kind);
    t.match(lines, [line]);
    t.equal(lines.length, 1);
    await front.close(0);
  }
});

const hook = String.raw`export async function resolve(name, from, next) {
  if (name === 'uWebSockets.js') throw new Error('This version supports many hosts.\n\nError: no such libc\n');
  return next(name, from);
}`;

/** A home on a host where the binary cannot load: the import fails, as it does there. */
function homeWithoutBinary(t: Test, more = '') {
  const home = makeHome(t, {
    'config.yaml': webhookConfig('        gh: {}\n', { more }),
    'hook.mjs': hook,
    'preload.mjs': "import { register } from 'node:module';\nregister(new URL('./hook.mjs', import.meta.url));\n",
  });
  return { path: home.path, env: { NODE_OPTIONS: `--import file://${home.path}/preload.mjs` } };
}

t.test('CON-2 · where the binary cannot load, the front is node:http and one line says why', async (t) => {
  const { path, env } = homeWithoutBinary(t);
  const daemon = await startDaemon(t, path, env);

  t.equal((await postSigned(`${daemon.url}/webhooks/gh`, {}, { secret })).status, 202);
  t.same(
    daemon.log.filter(({ message }) => message.startsWith('front: ')).map(({ message }) => message),
    ['front: node:http (uWebSockets.js cannot load: no such libc)'],
  );
});

t.test('CON-2 · a front that is forced and cannot load ends the start with the cure', async (t) => {
  const { path, env } = homeWithoutBinary(t, 'gateway: {front: uws}');
  const { code, stdout } = await runCli(['gateway', 'run'], path, env);

  t.equal(code, 1);
  t.match(
    stdout,
    /gateway\.front is \\"uws\\" but uWebSockets\.js cannot load: no such libc; set.*\\"auto\\" or \\"node\\"/,
  );
});
