/** Loaded into a daemon before anything else: lets its time pass at the word of the spec that started it. */

import { lendTime } from './lent-time.ts';

/** What a spec sends; the same comes back once what fell due in it has fired. */
export interface Passing {
  readonly passMs: number;
}

const time = lendTime({ runs: true });

process.on('message', ({ passMs }: Passing) => {
  time.pass(passMs);
  process.send?.({ passMs });
});
// It is the daemon's work that keeps it alive, not who may let its time pass.
process.channel?.unref();
