/**
 * Gathers the chunks of one body up to a limit and settles once. Shared by both fronts, so that they cut off alike.
 * @see LIM-1 and RTE-4 in docs/specification.md
 */

import type { BodyOutcome } from './front.ts';

const empty = Buffer.alloc(0);
/** So much must come within each span of `bodyTimeoutMs`, else the body is cut: a byte now and then holds no connection. */
export const leastBytes = 16_384;

/** A class, because one is made per request and closures would be made anew with each. */
export class BodyReader {
  /** When the span began in which the least number of bytes must come, in milliseconds of the front's own clock. */
  spanBeganAtMs = performance.now();
  #inSpan = 0;
  readonly #maxBytes: number;
  readonly #settle: (outcome: BodyOutcome) => void;
  readonly #mayKeep: ((bytes: number) => boolean) | undefined;
  #settled = false;
  /** What has come lies at its beginning: of many small chunks, each kept by itself would cost far more than its bytes. */
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

  /** Adds a chunk that the caller has copied; `mayKeep` is asked for the memory that it takes. Returns whether a new span began. */
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

  /** Makes room for the chunk; returns whether there may be. Most bodies are one chunk, which is kept as it came. */
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
    // A body that is kept for longer holds no more than its bytes.
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
