/** The pools of charts under the supervisor: how one is created, and how it is found. */

import type { AnyActorRef, AnyStateMachine } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import { type CompiledLogic, type CompileOptions, compile } from '../../machines/base/compile.ts';
import { createWard, type WardHandle, type WardOptions, wardHandle } from '../../machines/base/ward.ts';

interface PoolPorts {
  readonly compiling: CompileOptions;
  readonly log: Logger;
}

interface PoolOptions<Machine extends AnyStateMachine>
  extends Omit<WardOptions<CompiledLogic<Machine>>, 'logic'>,
    Pick<CompileOptions, 'copy'> {
  readonly machine: Machine;
}

/** A pool of compiled charts. A crash is logged before it is handled. */
export function createPool<Machine extends AnyStateMachine>(
  { compiling, log }: PoolPorts,
  { machine, copy, onCrashed, ...options }: PoolOptions<Machine>,
) {
  return createWard<CompiledLogic<Machine>>({
    ...options,
    logic: compile(machine, copy === undefined ? compiling : { ...compiling, copy }),
    onCrashed(key, error) {
      const actor = `${options.name}/${key}`;
      log.log('error', `${actor} crashed`, { actor, error: String(error) });
      onCrashed?.(key, error);
    },
  });
}

/** Undefined while the pool does not run. */
export function poolUnder<Input>(root: AnyActorRef, name: string): WardHandle<Input> | undefined {
  const ref: AnyActorRef | undefined = root.system.get(name);
  return ref && wardHandle(ref);
}
