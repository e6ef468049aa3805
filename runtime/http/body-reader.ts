/**
 * Gathers the chunks of one body up to a limit and settles once. Shared by both fronts, so that they cut off alike.
 * @see LIM-1 in docs/specification.md
 */

import type { BodyOutcome } from './front.ts';

export interface BodyReader {
  /** Adds a chunk that the caller has copied. */
  add(chunk: Buffer): void;
  end(): void;
  abort(): void;
  /** Whether the outcome is known. */
  readonly settled: boolean;
  /** When the last byte came, in milliseconds of the front's own clock. */
  lastByteAtMs: number;
}

const empty = Buffer.alloc(0);

export function createBodyReader(maxBytes: number, settle: (outcome: BodyOutcome) => void): BodyReader {
  let first: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;

  const reader = {
    settled: false,
    lastByteAtMs: performance.now(),
    add(chunk: Buffer) {
      if (reader.settled) return;
      size += chunk.length;
      if (size > maxBytes) {
        finish({ kind: 'tooLarge' });
        return;
      }
      if (first === undefined) {
        first = chunk;
        return;
      }
      more ??= [first];
      more.push(chunk);
    },
    end() {
      if (!reader.settled)
        finish({ kind: 'read', bytes: more === undefined ? (first ?? empty) : Buffer.concat(more, size) });
    },
    abort() {
      if (!reader.settled) finish({ kind: 'aborted' });
    },
  };

  function finish(outcome: BodyOutcome): void {
    reader.settled = true;
    first = undefined;
    more = undefined;
    settle(outcome);
  }

  return reader;
}
