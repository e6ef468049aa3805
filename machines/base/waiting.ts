/**
 * Which runs wait for a person, and the words for it: on the command line, in the tree of actors and on the inspector's
 * page. A run's chart does not include the question; another actor asks it.
 * @see TRU-3 in docs/specification.md
 */

/** Shown instead of the state while a person must answer. */
const waitingForYou = 'waiting for you';

/** The state to show: the given one, or `waiting for you` while there is a question. */
export function shownState(state: string, question: string | undefined): string {
  return question === undefined ? state : waitingForYou;
}

/** The fields of an actor's row: its address, its chart, and the key of its run. */
export interface RunningActor {
  readonly id: string;
  readonly machine: string;
  readonly meta?: { readonly key?: string };
}

/** The addresses of runs that wait for a person, each with the id of its oldest question. */
export function runsAtQuestions(actors: Iterable<RunningActor>): ReadonlyMap<string, string> {
  const waiting = new Map<string, string>();
  for (const { id, machine, meta } of actors) {
    if (machine !== 'approval' || meta?.key === undefined) continue;
    const run = `runs/${meta.key}`;
    if (!waiting.has(run)) waiting.set(run, id.slice(id.indexOf('/') + 1));
  }
  return waiting;
}
