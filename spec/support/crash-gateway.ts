/**
 * The command line with a flaw to call on: at SIGUSR2 the gateway's chart falls, as charts that hold one do. What lives in
 * it is neither asked nor told. Runs from the single modules: the gathered program has an xstate of its own.
 */

import { Actor, type AnyActorRef } from 'xstate';
import { runWords } from '../../cli/run.ts';

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
});

process.exitCode = await runWords(process.argv.slice(2));
