/**
 * Gathers the chunks of one body up to a limit and settles once. Shared by both fronts, so that they cut off alike.
 * @see LIM-1 in docs/specification.md
 */

import type { BodyOutcome } from './front.ts';

const empty = Buffer.alloc(0);

/** A class, because one is made per request and closures would be made anew with each. */
export class BodyReader {
  /** When the last byte came, in milliseconds of the front's own clock. */
  lastByteAtMs = performance.now();
  readonly #maxBytes: number;
  readonly #settle: (outcome: BodyOutcome) => void;
  #settled = false;
  #first: Buffer | undefined = undefined;
  #more: Buffer[] | undefined = undefined;
  #size = 0;

  constructor(maxBytes: number, settle: (outcome: BodyOutcome) => void) {
    this.#maxBytes = maxBytes;
    this.#settle = settle;
  }

  /** Whether the outcome is known. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Adds a chunk that the caller has copied. */
  add(chunk: Buffer): void {
    if (this.#settled) return;
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) {
      this.#finish({ kind: 'tooLarge' });
      return;
    }
    if (this.#first === undefined) {
      this.#first = chunk;
      return;
    }
    this.#more ??= [this.#first];
    this.#more.push(chunk);
  }

  end(): void {
    if (this.#settled) return;
    const bytes = this.#more === undefined ? (this.#first ?? empty) : Buffer.concat(this.#more, this.#size);
    this.#finish({ kind: 'read', bytes });
  }

  abort(): void {
    if (!this.#settled) this.#finish({ kind: 'aborted' });
  }

  #finish(outcome: BodyOutcome): void {
    this.#settled = true;
    this.#first = undefined;
    this.#more = undefined;
    this.#settle(outcome);
  }
}
