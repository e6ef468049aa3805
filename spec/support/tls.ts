/** Certificates for a spec, made with the openssl command line: a CA, a server, clients, and a stranger's CA. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificates {
  /** The CA that signed the server's certificate and the clients'. */
  readonly ca: string;
  /** A CA that signed none of them. */
  readonly otherCa: string;
  /** For a server on 127.0.0.1, localhost and mcp.test. */
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
  /** The client's certificate and key in one file. */
  readonly clientBoth: string;
  /** The client's key, encrypted with `password`. */
  readonly clientLockedKey: string;
  readonly password: string;
  /** What a server or a client reads. */
  read(file: string): Buffer;
}

/** A key and a certificate of it, as PEM. */
export function selfSigned(algorithm = 'rsa:2048'): { readonly key: string; readonly pem: string } {
  const folder = mkdtempSync(join(tmpdir(), 'agent-spec-'));
  const [key, pem] = [join(folder, 'key'), join(folder, 'pem')];
  const words = ['req', '-x509', '-newkey', algorithm, '-nodes', '-subj', '/CN=signer', '-days', '2'];
  execFileSync('openssl', [...words, '-keyout', key, '-out', pem], { stdio: 'ignore' });
  const made = { key: readFileSync(key, 'utf8'), pem: readFileSync(pem, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

/** Makes them in a folder; every value but the password is a path. */
export function makeCertificates(folder: string): TestCertificates {
  const at = (name: string): string => join(folder, name);
  const openssl = (...words: string[]): void => {
    execFileSync('openssl', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  };
  const key = (name: string): string => {
    openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', at(name));
    return at(name);
  };
  const authority = (name: string): string => {
    const itsKey = key(`${name}.key`);
    openssl(
      ...['req', '-x509', '-new', '-key', itsKey, '-subj', `/CN=${name}`, '-days', '2', '-out', at(`${name}.pem`)],
      ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', 'keyUsage=critical,keyCertSign'],
    );
    return at(`${name}.pem`);
  };
  const signed = (name: string, extensions: string): string => {
    openssl('req', '-new', '-key', at(`${name}.key`), '-subj', `/CN=${name}`, '-out', at(`${name}.csr`));
    writeFileSync(at(`${name}.ext`), extensions);
    openssl(
      ...['x509', '-req', '-in', at(`${name}.csr`), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-days', '2'],
      ...['-set_serial', name === 'server' ? '2' : '3', '-extfile', at(`${name}.ext`), '-out', at(`${name}.pem`)],
    );
    return at(`${name}.pem`);
  };

  const password = 'open-sesame';
  const ca = authority('ca');
  const otherCa = authority('other-ca');
  const serverKey = key('server.key');
  const serverCert = signed(
    'server',
    'subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:mcp.test\nextendedKeyUsage=serverAuth\n',
  );
  const clientKey = key('client.key');
  const clientCert = signed('client', 'extendedKeyUsage=clientAuth\n');
  const clientBoth = at('client-both.pem');
  writeFileSync(clientBoth, `${readFileSync(clientCert, 'utf8')}${readFileSync(clientKey, 'utf8')}`, { mode: 0o600 });
  const clientLockedKey = at('client-locked.key');
  openssl('pkey', '-in', clientKey, '-aes256', '-passout', `pass:${password}`, '-out', clientLockedKey);
  return {
    ...{ ca, otherCa, serverCert, serverKey, clientCert, clientKey, clientBoth, clientLockedKey, password },
    read: (file) => readFileSync(file),
  };
}
