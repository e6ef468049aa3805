/**
 * Decides which pages of a browser listen to the daemon: the visible ones, and one for all hidden ones. A browser opens six
 * connections to one daemon; with a stream for each page, the seventh page would wait for ever.
 * @see INS-2 in docs/specification.md
 */

const lockName = 'agent-stream';
/** Longer than a browser takes to give a free lock. */
const graceMs = 1_000;

/** Whether this hidden page listens for all. */
let isChosen = false;
let hasListened = false;
let leave = new AbortController();
let wake = (): void => {};
/** Gives the lock, or the wait for it, up. */
let release = (): void => {};

/**
 * Resolves once this page is to listen, with a signal that aborts when it is not any more. A page that was opened in the
 * background listens for a moment, so that it has something to show at once.
 */
export async function untilWanted(): Promise<AbortSignal> {
  while (document.hidden && !isChosen && hasListened) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  hasListened = true;
  leave = new AbortController();
  return leave.signal;
}

function look(): void {
  release();
  isChosen = false;
  if (document.hidden) void stand();
  else wake();
}

/** Waits for the lock, and has it until the page is visible again. */
async function stand(): Promise<void> {
  const seen = new AbortController();
  const { signal } = seen;
  const isOver = new Promise<void>((resolve) => {
    release = () => {
      seen.abort();
      resolve();
    };
  });
  const choose = (): void => {
    isChosen = true;
    wake();
  };
  setTimeout(() => {
    if (!isChosen && !signal.aborted) leave.abort();
  }, graceMs);
  try {
    await navigator.locks.request(lockName, { signal }, () => {
      choose();
      return isOver;
    });
  } catch {
    // A browser that has no locks to give.
    if (!signal.aborted) choose();
  }
}

document.addEventListener('visibilitychange', look);
if (document.hidden) look();
