import t from 'tap';
import { checkEngine } from '../../../runtime/doctor/check-engine.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';

t.test(
  'CLI-2 · RTE-4 · Node, the native modules and the HTTP server are examined as the gateway uses them',
  async (t) => {
    const on = (front: string, journal = 'lmdb') =>
      examined(t, { 'config.yaml': `gateway: {front: ${front}, journal: ${journal}}\n` });
    const well = { lmdb: async () => undefined, native: async () => undefined };
    for (const [node, expected] of [
      ['20.19.0', []],
      ['24.1.0', []],
      ['20.18.9', ['wrong node-old']],
      ['18.20.1', ['wrong node-old']],
    ] as const)
      t.same(codes(await checkEngine(on('auto'), { ...well, node })), expected, node);
    t.same(codes(await checkEngine(on('node'))), [], 'what specs run on');

    const noLmdb = { ...well, lmdb: async () => 'no binary' };
    t.same(codes(await checkEngine(on('auto'), noLmdb)), ['wrong native-missing']);
    t.match(troubles(await checkEngine(on('auto'), noLmdb)), [{ cure: /on this machine, with --include=optional/ }]);
    t.same(codes(await checkEngine(on('auto', 'memory'), noLmdb)), [], 'it is not needed');

    for (const [kind, front, expected] of [
      ['absent', 'auto', []],
      ['absent', 'uws', [['wrong', 'front-fallback', 'why; webhooks do not listen']]],
      ['unloadable', 'auto', [['note', 'front-fallback', 'why; node:http serves']]],
      ['unloadable', 'uws', [['wrong', 'front-fallback', 'why; webhooks do not listen']]],
      ['invalid', 'auto', [['note', 'front-fallback', 'why; node:http serves']]],
      ['invalid', 'uws', [['warning', 'front-fallback', 'why']]],
      ['invalid', 'node', []],
    ] as const) {
      const found = await checkEngine(on(front), { ...well, native: async () => ({ kind, text: 'why' }) });
      const shown = found.flatMap((one) => (one.level === 'good' ? [] : [[one.level, one.code, one.what]]));
      t.same(shown, expected, `${kind} ${front}`);
    }
  },
);

t.test(
  'CLI-2 · RTE-4 · the HTTP server of a running gateway is its own, whatever this command could load',
  async (t) => {
    const lacks = { lmdb: async () => undefined, native: async () => ({ kind: 'unloadable', text: 'libc' }) as const };
    const shown = async (front: string, webhook: object, engine: object = lacks) => {
      const gateway = answering({ status: { version: '1.0.0', webhook: { enabled: true, ...webhook } } });
      const [one] = await checkEngine(
        { ...examined(t, { 'config.yaml': `gateway: {front: ${front}}\n` }), gateway },
        engine,
      );
      return `${one?.level}: ${one?.what}`;
    };
    t.match(await shown('auto', { server: 'uWebSockets.js' }), /^good: .*, HTTP server uWebSockets\.js, /);
    t.match(await shown('uws', { server: 'uWebSockets.js' }), /^good: /);
    const has = { ...lacks, native: async () => undefined };
    const remark = 'cannot load: no such libc';
    t.equal(
      await shown('auto', { server: 'node:http', server_remark: remark }, has),
      `note: ${remark}; node:http serves`,
    );
    t.match(
      await shown('auto', { server: 'node:http' }, has),
      /^good: .*, HTTP server node:http, /,
      'not installed there',
    );
    t.equal(
      await shown('uws', { server: 'uWebSockets.js', server_remark: 'does not take x' }),
      'warning: does not take x',
    );
    t.equal(await shown('auto', {}), 'note: libc; node:http serves', 'one that has no server does not say');
    t.equal(
      await shown('uws', { server: 'node:http' }),
      'wrong: libc; webhooks do not listen',
      'one that has refused the configuration does not say what the next one can do',
    );
    t.equal(
      await shown('uws', { server: 'node:http', server_remark: 'does not take x' }, has),
      'warning: does not take x; node:http serves',
    );
  },
);

t.test('PKG-2 · CLI-2 · a gateway that still runs another version after an upgrade is found', async (t) => {
  const well = { lmdb: async () => undefined, native: async () => undefined };
  const beside = (version: string) =>
    checkEngine({ ...examined(t), gateway: answering({ status: { version } }) }, well);
  t.match(troubles(await beside('0.9.0')), [
    { level: 'warning', code: 'restart-needed', what: 'is of version 0.9.0, and this command of 1.0.0' },
  ]);
  t.same(codes(await beside('1.0.0')), []);
});
