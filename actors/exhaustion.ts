/**
 * Whether the system refused an operation for lack of descriptors, processes or memory. Nothing has begun then, and the
 * same operation may succeed later.
 * @see LIM-5 in docs/specification.md
 * @see [errno(3)](https://man7.org/linux/man-pages/man3/errno.3.html)
 */

const codes = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM']);

export function isExhausted(thrown: unknown): boolean {
  return codes.has((thrown as NodeJS.ErrnoException | undefined)?.code ?? '');
}
