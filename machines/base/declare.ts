/**
 * Typed holes: the effects and child logics that a chart names but does not own. The wiring fills every one; a hole left
 * open says so by name the first time it is used.
 */

import {
  type ActorLogic,
  type AnyEventObject,
  fromPromise,
  type NonReducibleUnknown,
  type PromiseActorLogic,
  type Snapshot,
} from 'xstate';

/** Stands for an action that the wiring provides. */
export function effect(name: string) {
  return (): void => {
    throw new Error(unfilled(name));
  };
}

/** An action that the wiring provides and that takes parameters. */
export function effectOf<Params>(name: string) {
  return (_args: unknown, _params: Params): void => effect(name)();
}

/** Stands for a promise that the wiring provides. */
export function promiseHole<Output, Input extends NonReducibleUnknown>(name: string): PromiseActorLogic<Output, Input> {
  return fromPromise<Output, Input>(() => Promise.reject(new Error(unfilled(name))));
}

/** Stands for a whole child logic that the wiring provides: a ward or another chart. */
export function logicHole<Output = unknown, Input = undefined>(
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
