/**
 * Says why a request over the network failed, without a word of the other side: codes of the system and of the client are
 * shown, messages may hold addresses with secrets in them.
 * @see OBS-1 in docs/specification.md
 */

/** The codes of Node and undici are words like these. */
const codePattern = /^[A-Z][A-Z0-9_]{2,48}$/;
/** A cause may come to be its own. */
const deepestCause = 8;

/** The code of the innermost error that has one; undefined where none has, or it is no such word. */
export function connectionCode(thrown: unknown): string | undefined {
  let code: unknown;
  let error = thrown;
  for (let depth = 0; error instanceof Error && depth < deepestCause; depth += 1) {
    const { code: its, originalCode } = error as NodeJS.ErrnoException & { readonly originalCode?: unknown };
    // nodemailer puts a code of its own in the place of the system's.
    code = originalCode ?? its ?? code;
    error = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  }
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
}

/** Codes of OpenSSL and Node for a certificate that is not trusted, has expired or names another host. */
const certificateCode =
  /^(?!.*_ALERT_).*(?:CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|HOSTNAME_MISMATCH|PATH_LENGTH_EXCEEDED)/;
/** Those that no later try changes. A date is judged by this machine's clock, and a certificate is renewed. */
const lastingCode = /SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY_LEAF)|HOSTNAME_MISMATCH|ALTNAME_INVALID/;

export interface CertificateProblem {
  /** For a person, with the cure. */
  readonly why: string;
  /** Whether a later try may succeed without anybody's doing. */
  readonly passes: boolean;
}

/** What is wrong with the other side's certificate; undefined where the cause is another. */
export function certificateProblem(thrown: unknown): CertificateProblem | undefined {
  const code = connectionCode(thrown);
  if (code === undefined || !certificateCode.test(code)) return undefined;
  const passes = !lastingCode.test(code);
  const cure = passes
    ? 'it is tried again; if that lasts, correct it, or the clock of this machine'
    : 'correct it, or name its authority in NODE_EXTRA_CA_CERTS and restart';
  return { why: `its certificate is not trusted (${code}); ${cure}`, passes };
}

/** The same as words for a person. */
export function connectionCause(thrown: unknown): string {
  const code = connectionCode(thrown);
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
