import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ConnectError } from '../../../actors/mcp/connect-errors.ts';
import { readTlsFiles } from '../../../actors/mcp/tls-files.ts';
import type { TlsPlan } from '../../../machines/mcp/server-settings.ts';
import { makeHome } from '../../support/home.ts';
import { makeCertificates } from '../../support/tls.ts';

const plain: TlsPlan = { verify: true, certKey: 'client_cert', keyKey: 'client_cert' };

async function failure(plan: Partial<TlsPlan>, userHome = '/nowhere'): Promise<ConnectError> {
  const thrown = await readTlsFiles({ server: 'github', plan: { ...plain, ...plan }, userHome }).catch(
    (error) => error,
  );
  if (!(thrown instanceof ConnectError)) throw new Error(`no failure: ${thrown}`);
  return thrown;
}

t.test('TLS-1 · a file that is not there is named with server, key and resolved path', async (t) => {
  const missing = await failure({ cert: '~/certs/gh.pem' }, '/home/me');
  t.equal(
    missing.message,
    'mcp server "github": client_cert file not found: ~/certs/gh.pem (resolved /home/me/certs/gh.pem); check client_cert [tls-file-missing]',
  );
  t.same(missing.failure, {
    kind: 'tlsFile',
    key: 'client_cert',
    path: '~/certs/gh.pem',
    resolved: '/home/me/certs/gh.pem',
  });
  t.match(await failure({ verify: '/no/ca.pem' }), { message: /: ssl_verify file not found.*\[tls-file-missing\]$/ });
});

t.test('TLS-1 · every way to give a certificate is read', async (t) => {
  const { path } = makeHome(t);
  const made = makeCertificates(path);
  for (const plan of [
    {},
    { verify: false },
    { verify: made.ca },
    { cert: made.clientBoth, key: made.clientBoth },
    { cert: made.clientBoth },
    { cert: '~/client.pem', key: '~/client.key', keyKey: 'client_key' as const },
    { cert: made.clientCert, key: made.clientLockedKey, password: made.password },
  ]) {
    const tls = await readTlsFiles({ server: 'github', plan: { ...plain, ...plan }, userHome: path });
    t.equal(tls.verify, !('verify' in plan && plan.verify === false));
    t.equal(tls.own === tls.other, !('cert' in plan), 'other origins are not shown the certificate');
  }
});

t.test('TLS-1 · a file of the wrong kind, a wrong password and a foreign key are distinguished', async (t) => {
  const { path } = makeHome(t);
  const made = makeCertificates(path);
  const garbage = join(path, 'garbage.pem');
  writeFileSync(garbage, 'no certificate');
  const broken = join(path, 'broken.pem');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  const locked = { cert: made.clientCert, key: made.clientLockedKey, keyKey: 'client_key' } as const;
  for (const [plan, code, message] of [
    [{ verify: garbage }, 'tls-file-invalid', /ssl_verify file holds no PEM certificate: .*garbage.pem/],
    [{ verify: broken }, 'tls-file-invalid', /ssl_verify file holds no PEM certificate/],
    [{ verify: path }, 'tls-file-unreadable', /ssl_verify file cannot be read \(EISDIR\)/],
    [{ verify: '/dev/zero' }, 'tls-file-unreadable', /ssl_verify file cannot be read \(no regular file\)/],
    [{ cert: garbage }, 'tls-file-invalid', /client_cert file holds no PEM certificate/],
    [{ cert: made.clientCert }, 'tls-file-invalid', /client_cert file holds no usable key/],
    [
      { cert: made.clientCert, key: garbage, keyKey: 'client_key' },
      'tls-file-invalid',
      /client_key file holds no usable/,
    ],
    [{ cert: made.clientCert, key: made.serverKey }, 'tls-key-mismatch', /does not belong to the certificate/],
    [{ ...locked, password: 'wrong-password' }, 'tls-key-password', /client_key .*the password does not open/],
    [locked, 'tls-key-password', /no password is given/],
  ] as const) {
    const thrown = await failure(plan);
    t.match(thrown.message, message);
    t.ok(thrown.message.endsWith(`[${code}]`), code);
    t.notMatch(thrown.message, /wrong-password/);
  }
});

const root = process.getuid?.() === 0 ? 'root reads everything' : false;
t.test('TLS-1 · an unreadable file differs from a missing one', { skip: root }, async (t) => {
  const { path } = makeHome(t);
  const secret = join(path, 'secret.pem');
  writeFileSync(secret, '');
  chmodSync(secret, 0);
  t.match(await failure({ cert: secret }), { message: /cannot be read \(EACCES\).*\[tls-file-unreadable\]$/ });
});
