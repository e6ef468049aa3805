/**
 * Typed placeholders for the actions and actors that a chart names and the wiring provides, and the usual parameters of
 * both. A placeholder that was not provided fails with its name when it is first used.
 */

import {
  type ActorLogic,
  type AnyEventObject,
  fromPromise,
  type NonReducibleUnknown,
  type PromiseActorLogic,
  type Snapshot,
} from 'xstate';

/** The event, as the parameter of a guard or an action. */
export function itself<Event>({ event }: { event: Event }): Event {
  return event;
}

/** The output of an invoked effect, as the parameter of a guard or an action. */
export function itsOutput<Output>({ event }: { event: { output: Output } }): Output {
  return event.output;
}

/** A placeholder for an action that the wiring provides. */
export function effect(name: string) {
  return (): void => {
    throw new Error(unfilled(name));
  };
}

/** A placeholder for an action with parameters. */
export function effectOf<Params>(name: string) {
  return (_args: unknown, _params: Params): void => effect(name)();
}

/** A placeholder for a promise that the wiring provides. */
export function promisePlaceholder<Output, Input extends NonReducibleUnknown>(
  name: string,
): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(() => Promise.reject(new Error(unfilled(name))));
}

/** A placeholder for a child logic that the wiring provides: a pool or another chart. */
export function logicPlaceholder<Output = unknown, Input = undefined>(
  name: string,
): ActorLogic<Snapshot<Output>, AnyEventObject, Input> {
  return {
    transition: (snapshot) => snapshot,
    getInitialSnapshot: () => {
      throw new Error(unfilled(name));
    },
    getPersistedSnapshot: (snapshot) => snapshot,
  };
}

function unfilled(name: string): string {
  return `wiring: "${name}" was never provided by runtime/`;
}
