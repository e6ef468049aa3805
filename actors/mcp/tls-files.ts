/**
 * Reads the certificates of a server entry when a connection needs them, and loads them into the TLS library at once, so
 * that a wrong file is named before any handshake.
 * @see TLS-1 and INT-3 in docs/specification.md
 */

import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createSecureContext, rootCertificates, type SecureContext, type SecureContextOptions } from 'node:tls';
import { expandTilde } from '../../machines/config/interpolate.ts';
import type { TlsPlan } from '../../machines/mcp/server-settings.ts';
import { isExhausted } from '../exhaustion.ts';
import { type SettingFile, settingError } from './connect-errors.ts';

interface TlsRequest {
  readonly server: string;
  readonly plan: TlsPlan;
  /** The folder that `~` refers to. */
  readonly userHome: string;
}

export interface ServerTls {
  readonly verify: boolean;
  /** Trusts the CAs of the entry, and presents its client certificate. */
  readonly own: SecureContext;
  /** Trusts the same CAs and presents no certificate: for every other origin. */
  readonly other: SecureContext;
}

interface Pem {
  readonly file: SettingFile;
  readonly text: string;
}

/** The CA bundles of common systems; the first that exists is used, after SSL_CERT_FILE. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const certificatePattern = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[^-]+-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** Cached, since 300 CAs take 40 ms and 1.5 MB each time, and most servers need exactly these. */
let systemTrust: Promise<SecureContext> | undefined;

/** Throws a ConnectError that names the entry's key and the file; the error itself for lack of descriptors. */
export async function readTlsFiles({ server, plan, userHome }: TlsRequest): Promise<ServerTls> {
  const read = (key: string, path: string): Promise<Pem> =>
    readPem(server, { key, path, resolved: at(path, userHome) });
  const { verify, cert, key = cert, password } = plan;
  const bundle = typeof verify === 'string' ? await read('ssl_verify', verify) : undefined;
  if (bundle !== undefined) checkCertificates(server, bundle);
  const trust = bundle === undefined ? {} : { ca: bundle.text };
  const other = verify === true ? await trustSystem() : createSecureContext(trust);
  if (cert === undefined || key === undefined) return { verify: verify !== false, own: other, other };

  const certPem = await read(plan.certKey, cert);
  const keyPem = key === cert ? certPem : await read(plan.keyKey, key);
  checkCertificates(server, certPem);
  const own = contextOf(server, keyPem, {
    ...(verify === true ? { ca: await systemCas() } : trust),
    cert: certPem.text,
    key: keyPem.text,
    ...(password === undefined ? {} : { passphrase: password }),
  });
  return { verify: verify !== false, own, other };
}

function at(path: string, userHome: string): string {
  return resolve(expandTilde(path, userHome));
}

async function readPem(server: string, file: SettingFile): Promise<Pem> {
  try {
    // Reading a pipe or a device may never end, and the connect timeout does not abort it.
    const found = await stat(file.resolved);
    if (!found.isFile() && !found.isDirectory()) throw Object.assign(new Error('no file'), { code: 'no regular file' });
    return { file, text: await readFile(file.resolved, 'utf8') };
  } catch (thrown) {
    // No setting is wrong then, so that the connection is tried again.
    if (isExhausted(thrown)) throw thrown;
    const { code } = thrown as NodeJS.ErrnoException;
    const missing = code === 'ENOENT' || code === 'ENOTDIR';
    throw settingError(
      messageOf(server, file, missing ? 'file not found' : `file cannot be read (${code})`),
      missing ? 'tls-file-missing' : 'tls-file-unreadable',
      file,
    );
  }
}

function messageOf(server: string, { key, path, resolved }: SettingFile, what: string, check = key): string {
  return `mcp server "${server}": ${key} ${what}: ${path} (resolved ${resolved}); check ${check}`;
}

/** The TLS library accepts a bundle without a certificate as empty, and every handshake would fail. */
function checkCertificates(server: string, { file, text }: Pem): void {
  const found = text.match(certificatePattern) ?? [];
  if (found.length > 0 && found.every(isCertificate)) return;
  throw settingError(messageOf(server, file, 'file holds no PEM certificate'), 'tls-file-invalid', file);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

function contextOf(server: string, { file, text }: Pem, options: SecureContextOptions): SecureContext {
  try {
    return createSecureContext(options);
  } catch (thrown) {
    // The library's message may contain anything; its code is enough.
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
    if (code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH') {
      const what = 'file holds a key that does not belong to the certificate';
      throw settingError(messageOf(server, file, what, 'client_cert and client_key'), 'tls-key-mismatch', file);
    }
    if (text.includes('ENCRYPTED')) {
      const what =
        options.passphrase === undefined
          ? 'file holds an encrypted key and no password is given'
          : 'file holds an encrypted key that the password does not open';
      const cure = 'client_cert, whose third item is the password';
      throw settingError(messageOf(server, file, what, cure), 'tls-key-password', file);
    }
    throw settingError(messageOf(server, file, `file holds no usable key (${code})`), 'tls-file-invalid', file);
  }
}

function trustSystem(): Promise<SecureContext> {
  systemTrust ??= systemCas()
    .then((ca) => createSecureContext({ ca }))
    .catch((thrown: unknown) => {
      systemTrust = undefined;
      throw thrown;
    });
  return systemTrust;
}

/** The CAs of Node, of the system and of NODE_EXTRA_CA_CERTS, which Node ignores once a list is given. */
async function systemCas(): Promise<string[]> {
  const system = await firstText([process.env.SSL_CERT_FILE, ...systemBundles]);
  const extra = await firstText([process.env.NODE_EXTRA_CA_CERTS]);
  return [...rootCertificates, system, extra].filter((text) => text !== '');
}

async function firstText(paths: readonly (string | undefined)[]): Promise<string> {
  for (const path of paths) {
    if (path === undefined || path === '') continue;
    const text = await readFile(path, 'utf8').catch((thrown: unknown) => {
      if (isExhausted(thrown)) throw thrown;
      return '';
    });
    if (text !== '') return text;
  }
  return '';
}
