import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { serverEntrySchema } from '../../../machines/config/server-entry.ts';
import { loweredGuards } from '../../../machines/mcp/link-guards.ts';

t.test('SEC-2 · each setting that lowers a guard is named with what it does', (t) => {
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, []],
    [{ ssl_verify: true, cross_origin_redirects: false, roots: [], env: {} }, []],
    [{ ssl_verify: false }, ['ssl_verify: anyone between you and the server can read and change everything.']],
    [{ ssl_verify: '/ca.pem' }, ['ssl_verify: it trusts the certificates in /ca.pem.']],
    [{ cross_origin_redirects: true }, ['cross_origin_redirects: what you send may be taken to other servers.']],
    [
      { client_cert: ['~/a.pem', '~/a.key', 'x'], client_key: '~/b.key' },
      ['client_cert, client_key: it logs in with ~/a.pem and ~/a.key and x and ~/b.key of this computer.'],
    ],
    [{ roots: ['~', '/etc'] }, ['roots: it is given the folders ~, /etc.']],
    [{ env: { PATH: '.', LD_PRELOAD: 'x' } }, ['env: it sets PATH, LD_PRELOAD for the command.']],
  ];
  for (const [entry, expected] of rows) {
    t.same(loweredGuards({ ...entry, trust: 'untrusted' }), expected, JSON.stringify(entry));
    for (const key of Object.keys(entry)) t.ok(Object.hasOwn(serverEntrySchema.properties, key), key);
  }
  const unasked = ['trust: its tools run without asking you.'];
  t.same(loweredGuards({ trust: 'full' }), unasked);
  t.same(loweredGuards({}), unasked, 'as without the key');
  t.end();
});
