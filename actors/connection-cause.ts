/**
 * Why a network request failed, without any text of the other side: error codes are shown, but messages may contain
 * addresses with secrets.
 * @see OBS-1 in docs/specification.md
 */

/** The format of Node's and undici's codes; those of OpenSSL 3.5 have `SSL/TLS` in them. */
const codePattern = /^[A-Z][A-Z0-9_/]{2,48}$/;
/** An error may be its own cause. */
const deepestCause = 8;

/** The code of the innermost error that has one; undefined if there is none or it does not have the format above. */
export function connectionCode(thrown: unknown): string | undefined {
  let code: unknown;
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < deepestCause; depth += 1) {
    const { code: its, originalCode } = error as NodeJS.ErrnoException & { readonly originalCode?: unknown };
    // nodemailer replaces the system's code with its own.
    code = originalCode ?? its ?? code;
    error = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  }
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
}

/** OpenSSL and Node codes for a certificate that is untrusted, expired or issued for another host. */
const certificateCode =
  /^(?!.*_ALERT_).*(?:CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)/;
/** The ones that no retry changes. A date error may pass: clocks get set, and certificates get renewed. */
const lastingCode = /SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|HOSTNAME_MISMATCH|ALTNAME_INVALID/;

interface CertificateProblem {
  /** For a person, with the fix. */
  readonly why: string;
  /** Whether a later attempt may succeed without a change here. */
  readonly passes: boolean;
}

/**
 * The problem with the other side's certificate; undefined if the cause is another.
 * @param isRepeated whether the request is made again by itself if the problem may pass
 */
export function certificateProblem(thrown: unknown, isRepeated = true): CertificateProblem | undefined {
  const code = connectionCode(thrown);
  if (code === undefined || !certificateCode.test(code)) return undefined;
  const passes = !lastingCode.test(code);
  const cure = passes
    ? `${isRepeated ? 'it is tried again; if that lasts, ' : ''}correct it, or the clock of this machine`
    : 'correct it, or name its authority in NODE_EXTRA_CA_CERTS and restart';
  return { why: `its certificate is not trusted (${code}); ${cure}`, passes };
}

const wantsCertificate = 'the server may demand a client certificate';
/** The codes that do not say what to look at. */
const cures: Readonly<Record<string, string>> = {
  // An answer that is not TLS, such as that of a server to which `http://` leads.
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS at this port: correct the port, or use http://',
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: wantsCertificate,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: wantsCertificate,
  // The same two in OpenSSL 3.5, which Node 24 has.
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE': wantsCertificate,
  'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE': wantsCertificate,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: wantsCertificate,
};

/**
 * Whether the other side closed the connection without a byte of an answer: undici drops the alert with which a server of
 * TLS 1.3 refuses a request without a certificate.
 */
function isUnanswered(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < deepestCause; depth += 1) {
    const { socket } = error as { readonly socket?: { readonly bytesRead?: unknown } | null };
    if (socket?.bytesRead === 0) return true;
    error = error.cause;
  }
  return false;
}

/** undici shows only in words that a proxy did not open the tunnel, or requires a login. */
const notOpened = /^(?:Proxy response|Proxy Authentication Required) \((\d{3})\)/;
/** Behind a proxy, only the proxy is looked up and connected to. */
const neverReached = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

/** Why the proxy refused to carry a request, of which nothing was sent, with the fix; undefined if the cause is another. */
export function proxyRefusal(thrown: unknown): string | undefined {
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < deepestCause; depth += 1) {
    const [, status] = notOpened.exec(error.message) ?? [];
    const cure =
      status === '407' ? 'the login in HTTPS_PROXY or HTTP_PROXY' : 'what it allows, or name the host in NO_PROXY';
    if (status !== undefined)
      return `the proxy of the environment refused the connection (HTTP ${status}); check ${cure}`;
    error = error.cause;
  }
  return undefined;
}

/** The cause as words for a person. */
export function connectionCause(thrown: unknown, isProxied = false): string {
  const refusal = proxyRefusal(thrown);
  if (refusal !== undefined) return refusal;
  const code = connectionCode(thrown);
  if (code === undefined) return 'the connection failed';
  if (isProxied && neverReached.test(code)) return `the proxy of the environment was not reached (${code})`;
  const closed = code === 'UND_ERR_SOCKET' && isUnanswered(thrown);
  const cure = closed ? `the other side closed it without an answer; over HTTPS, ${wantsCertificate}` : cures[code];
  return `the connection failed (${code})${cure === undefined ? '' : `; ${cure}`}`;
}
