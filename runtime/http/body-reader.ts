/**
 * Collects the chunks of one body up to a limit and settles once. Both HTTP servers use it, so their limits are the same.
 * @see LIM-1 and RTE-4 in docs/specification.md
 */

import type { BodyOutcome } from './http-server.ts';

const empty = Buffer.alloc(0);
/** Bytes that must arrive in each span of `bodyTimeoutMs`, else the body is aborted: a slow trickle holds no connection. */
export const leastBytes = 16_384;

/** A class, because one is created per request, and closures would be created again each time. */
export class BodyReader {
  /** Start of the current span, in milliseconds of `performance.now()`. */
  spanBeganAtMs = performance.now();
  #inSpan = 0;
  readonly #maxBytes: number;
  readonly #settle: (outcome: BodyOutcome) => void;
  readonly #mayKeep: ((bytes: number) => boolean) | undefined;
  #settled = false;
  /**
   * The received bytes are at its beginning: many small chunks kept separately would use far more memory than their
   * bytes.
   */
  #block: Buffer = empty;
  #size = 0;

  constructor(maxBytes: number, settle: (outcome: BodyOutcome) => void, mayKeep?: (bytes: number) => boolean) {
    this.#maxBytes = maxBytes;
    this.#mayKeep = mayKeep;
    this.#settle = settle;
  }

  /** Whether the body was read to its end. */
  isWhole = false;

  /** Whether the outcome is known. */
  get settled(): boolean {
    return this.#settled;
  }

  /** Adds a chunk that the caller has copied, if `mayKeep` permits the memory. Returns whether a new span began. */
  add(chunk: Buffer): boolean {
    if (this.#settled) return false;
    const size = this.#size + chunk.length;
    if (size > this.#maxBytes) {
      this.#finish({ kind: 'tooLarge' });
      return false;
    }
    if (size > this.#block.length && !this.#grow(chunk, size)) {
      this.#finish({ kind: 'crowded' });
      return false;
    }
    if (this.#block !== chunk) this.#block.set(chunk, this.#size);
    this.#size = size;
    this.#inSpan += chunk.length;
    if (this.#inSpan < leastBytes) return false;
    this.#inSpan = 0;
    this.spanBeganAtMs = performance.now();
    return true;
  }

  /**
   * Makes room for the chunk; returns whether `mayKeep` permits it. Most bodies are one chunk, which is kept without a
   * copy.
   */
  #grow(chunk: Buffer, size: number): boolean {
    const isFirst = this.#size === 0;
    const room = isFirst ? size : Math.min(2 * size, this.#maxBytes);
    if (this.#mayKeep?.(room - this.#block.length) === false) return false;
    const block = isFirst ? chunk : Buffer.allocUnsafeSlow(room);
    if (!isFirst) block.set(this.#block.subarray(0, this.#size));
    this.#block = block;
    return true;
  }

  end(): void {
    if (this.#settled) return;
    // A body that is kept longer uses no more memory than its bytes.
    const bytes = this.#size === this.#block.length ? this.#block : Buffer.from(this.#block.subarray(0, this.#size));
    this.isWhole = true;
    this.#finish({ kind: 'read', bytes });
  }

  abort(): void {
    if (!this.#settled) this.#finish({ kind: 'aborted' });
  }

  #finish(outcome: BodyOutcome): void {
    this.#settled = true;
    this.#block = empty;
    this.#settle(outcome);
  }
}
