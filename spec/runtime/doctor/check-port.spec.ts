import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import t from 'tap';
import { tryLock } from '../../../actors/lock-file.ts';
import { checkPort } from '../../../runtime/doctor/check-port.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';
import { listenOn } from '../../support/http-listener.ts';

const config = (host: string, port: number, more = ''): Record<string, string> => ({
  'config.yaml': `platforms: {webhook: {enabled: true, extra: {host: "${host}", port: ${port}, secret: any-secret-at-all}}}\ninspector: {enabled: false}\n${more}`,
});

t.test('ADP-1 · CLI-2 · a port that is taken or refused is reported, with another way', async (t) => {
  const other = createServer();
  const port = await listenOn(t, other);
  const rows: readonly (readonly [Record<string, string>, readonly string[]])[] = [
    [config('127.0.0.1', 0), []],
    [config('127.0.0.1', port), ['wrong port-taken']],
    [config('192.0.2.1', 0), ['note bound-widely']],
    [config('192.0.2.1', 8_644), ['wrong port-refused']],
    [{ 'config.yaml': `inspector: {port: ${port}}\n` }, ['warning port-taken']],
    [{ 'config.yaml': 'inspector: {enabled: false}\n' }, []],
  ];
  for (const [files, expected] of rows)
    t.same(codes(await checkPort(examined(t, files))), expected, files['config.yaml'] ?? '');
  const [found] = troubles(await checkPort(examined(t, config('127.0.0.1', port)), 'linux'));
  t.match(found, { place: `127.0.0.1:${port}`, cure: /ss -ltnp.*agent gateway setup --port/ });
  const [onMac] = troubles(await checkPort(examined(t, config('127.0.0.1', port)), 'darwin'));
  const hung = examined(t, config('127.0.0.1', port));
  const held = tryLock(hung.paths.lock);
  t.same(await checkPort(hung), [], 'a gateway that does not answer may hold it itself');
  if (held.kind === 'taken') held.lock.release();
  const starting = examined(t, { ...config('127.0.0.1', port), 'gateway.lock': '' });
  const { now } = Date;
  t.teardown(() => Object.assign(Date, { now }));
  const { mtimeMs } = statSync(starting.paths.lock);
  Date.now = () => mtimeMs;
  t.same(await checkPort(starting), [], 'so may one that is starting, whose lock names no process yet');
  t.match(onMac, { cure: new RegExp(`^\`lsof -nP -iTCP:${port} -sTCP:LISTEN\` shows`) }, 'which has no ss');
});

t.test('CLI-2 · a gateway that runs and does not listen says why', async (t) => {
  const one = examined(t, config('127.0.0.1', 8_644));
  t.same(codes(await checkPort({ ...one, gateway: answering({}) })), []);
  const silent = answering({ status: { webhook: { enabled: true, url: null, fault: 'the port is taken [x]' } } });
  t.match(troubles(await checkPort({ ...one, gateway: silent })), [
    { code: 'not-listening', what: 'the port is taken [x]' },
  ]);
  const home = { ...one.home, webhookBlocked: [{ message: 'the port is taken' }] } as unknown as typeof one.home;
  t.match(
    troubles(await checkPort({ ...one, home, gateway: silent })),
    [{ code: 'not-listening', what: 'the gateway does not listen until its findings are corrected' }],
    'a finding of the configuration is shown once',
  );
  const stayed = answering({ status: { webhook: { enabled: true, url: 'http://127.0.0.1:1', fault: 'taken [x]' } } });
  t.match(troubles(await checkPort({ ...one, gateway: stayed })), [{ code: 'config-refused', what: 'taken [x]' }]);
  const closed = answering({ status: { inspector: { enabled: true, url: null, fault: 'inspector: taken' } } });
  t.match(troubles(await checkPort({ ...one, gateway: closed })), [
    {
      level: 'warning',
      code: 'not-listening',
      place: '127.0.0.1:8645',
      what: 'inspector: taken',
      cure: /^fix what it says/,
    },
  ]);
});
