/**
 * Which runs wait for a person, and the words for it: on the command line, in the tree of the living and on the inspector's
 * page. A run's chart knows nothing of the question; who asks is another actor.
 * @see TRU-3 in docs/specification.md
 */

/** What stands in the place of a state while a person must answer. */
export const waitingForYou = 'waiting for you';

/** What something that is in a state is shown as: under way for nobody else, while a person must answer. */
export function shownState(state: string, question: string | undefined): string {
  return question === undefined ? state : waitingForYou;
}

/** Of a row of the living: its address, its chart, and the run that it is about. */
export interface LivingOne {
  readonly id: string;
  readonly machine: string;
  readonly meta?: { readonly key?: string };
}

/** The addresses of the runs that wait for a person, each with the id of its oldest question. */
export function runsAtQuestions(living: Iterable<LivingOne>): ReadonlyMap<string, string> {
  const waiting = new Map<string, string>();
  for (const { id, machine, meta } of living) {
    if (machine !== 'approval' || meta?.key === undefined) continue;
    const run = `runs/${meta.key}`;
    if (!waiting.has(run)) waiting.set(run, id.slice(id.indexOf('/') + 1));
  }
  return waiting;
}
