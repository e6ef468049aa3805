/**
 * Loaded into a daemon before anything else: at SIGUSR2 the gateway's chart falls over a flaw, as charts that hold one do.
 * What lives in it is neither asked nor told.
 */

import { Actor, type AnyActorRef } from 'xstate';

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
