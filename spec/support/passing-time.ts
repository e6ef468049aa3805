/**
 * Loaded into a daemon before anything else: lets its time pass at the word of the spec that started it. The wall clock,
 * the steady clock and the waits of its code jump together; between two jumps they run as ever.
 */

/** What a spec sends; the same comes back once what fell due in it is about to ring. */
export interface Passing {
  readonly passMs: number;
}

const trueWait = globalThis.setTimeout;
const endTrueWait = globalThis.clearTimeout;
const trueNow = Date.now;
const trueSteady = performance.now.bind(performance);
let passedMs = 0;

const waits = new Set<Wait>();

class Wait {
  readonly #ring: () => void;
  readonly #waitMs: number;
  readonly #repeats: boolean;
  #keepsAlive = true;
  #trueTimer: NodeJS.Timeout | undefined;
  dueMs = 0;

  constructor(ring: () => void, waitMs: number, repeats: boolean) {
    this.#ring = ring;
    this.#waitMs = Math.max(1, Number(waitMs) || 1);
    this.#repeats = repeats;
    this.refresh();
  }

  refresh(): this {
    this.dueMs = performance.now() + this.#waitMs;
    waits.add(this);
    return this.arm();
  }

  arm(): this {
    endTrueWait(this.#trueTimer);
    this.#trueTimer = trueWait(
      () => {
        if (this.#repeats) this.refresh();
        else waits.delete(this);
        this.#ring();
      },
      Math.max(0, this.dueMs - performance.now()),
    );
    return this.#keepsAlive ? this.ref() : this.unref();
  }

  ref(): this {
    this.#keepsAlive = true;
    this.#trueTimer?.ref();
    return this;
  }

  unref(): this {
    this.#keepsAlive = false;
    this.#trueTimer?.unref();
    return this;
  }

  hasRef(): boolean {
    return this.#keepsAlive;
  }

  close(): void {
    waits.delete(this);
    endTrueWait(this.#trueTimer);
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const waiting =
  (repeats: boolean) =>
  (ring: (...given: unknown[]) => void, waitMs = 1, ...given: unknown[]) =>
    new Wait(() => ring(...given), waitMs, repeats);
const ended = (wait: unknown): void => (wait instanceof Wait ? wait.close() : endTrueWait(wait as NodeJS.Timeout));

Date.now = () => trueNow() + passedMs;
performance.now = () => trueSteady() + passedMs;
Object.assign(globalThis, {
  setTimeout: waiting(false),
  setInterval: waiting(true),
  clearTimeout: ended,
  clearInterval: ended,
});

process.on('message', (message: Passing) => {
  passedMs += message.passMs;
  // Those that are due ring in the order in which they are armed.
  for (const wait of [...waits].sort((one, other) => one.dueMs - other.dueMs)) wait.arm();
  process.send?.(message);
});
// It is the daemon's work that keeps it alive, not who may let its time pass.
process.channel?.unref();
