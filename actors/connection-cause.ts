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
    code = (error as NodeJS.ErrnoException).code ?? code;
    error = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined);
  }
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
}

/** The same as words for a person. */
export function connectionCause(thrown: unknown): string {
  const code = connectionCode(thrown);
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
