/** The pools of charts under the supervisor: how one is created, and how it is found. */

import type { AnyActorRef, AnyStateMachine } from 'xstate';
import type { Logger } from '../../actors/ports.ts';
import { type CompiledLogic, type CompileOptions, compile } from '../../machines/base/compile.ts';
import { createPool, type PoolHandle, type PoolOptions, poolHandle } from '../../machines/base/pool.ts';

interface ChartPoolPorts {
  readonly compiling: CompileOptions;
  readonly log: Logger;
}

interface ChartPoolOptions<Machine extends AnyStateMachine>
  extends Omit<PoolOptions<CompiledLogic<Machine>>, 'logic'>,
    Pick<CompileOptions, 'copy'> {
  readonly machine: Machine;
}

/** A pool of compiled charts. A crash is logged before it is handled. */
export function createChartPool<Machine extends AnyStateMachine>(
  { compiling, log }: ChartPoolPorts,
  { machine, copy, onCrashed, ...options }: ChartPoolOptions<Machine>,
) {
  return createPool<CompiledLogic<Machine>>({
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
export function poolUnder(root: AnyActorRef, name: string): PoolHandle<never> | undefined {
  const ref: AnyActorRef | undefined = root.system.get(name);
  return ref && poolHandle(ref);
}
