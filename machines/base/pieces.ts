/** Long work that pauses after each piece, so that its caller can do other work in between. */

export type Pieces<Result> = Generator<undefined, Result>;

export function atOnce<Result>(pieces: Pieces<Result>): Result {
  for (;;) {
    const next = pieces.next();
    if (next.done === true) return next.value;
  }
}
