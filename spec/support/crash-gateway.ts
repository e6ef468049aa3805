/**
 * The command line with a flaw to call on: at SIGUSR2 the gateway's chart falls, as charts that hold one do. What lives in
 * it is neither asked nor told. Runs from the single modules: the gathered program has an xstate of its own. While a file
 * stands that SPEC_HOLD_FILE names, nothing lands in the journal in memory; what was held lands shortly after the fall.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { Actor, type AnyActorRef } from 'xstate';
import { runWords } from '../../cli/run.ts';

const holdFile = process.env.SPEC_HOLD_FILE;
/** Long enough for the fall, shorter than the wait before the gateway is started again. */
const heldForMs = 20;
const held: (() => void)[] = [];
if (holdFile !== undefined) {
  const later = globalThis.setImmediate;
  globalThis.setImmediate = ((callback: () => void, ...given: unknown[]) => {
    if (callback.name !== 'land' || !existsSync(holdFile)) return later(callback, ...(given as []));
    held.push(callback);
    writeFileSync(`${holdFile}.held`, '');
    return undefined;
  }) as typeof setImmediate;
}

let gateway: AnyActorRef | undefined;
const { start } = Actor.prototype;

Actor.prototype.start = function (this: Actor<never>) {
  if (this.id === 'gateway') gateway = this as unknown as AnyActorRef;
  return start.call(this);
};

process.on('SIGUSR2', () => {
  gateway?.send({
    type: 'gateway.reopen',
    get enabled(): boolean {
      throw new Error('a flaw of the chart');
    },
  });
  setTimeout(() => {
    for (const land of held.splice(0)) land();
  }, heldForMs);
});

process.exitCode = await runWords(process.argv.slice(2));
