/** What all parts of the daemon are assembled with. */

import type { AnyActorRef } from 'xstate';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import type { Logger } from '../../actors/ports.ts';
import type { CompileOptions } from '../../machines/base/compile.ts';
import type { HomePaths } from '../../machines/config/profile.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Redactor } from '../observe/redact.ts';
import type { Tracing } from '../observe/tracing.ts';

export interface SharedPorts {
  readonly paths: HomePaths;
  readonly root: () => AnyActorRef;
  /** The home as it was last read. */
  readonly home: () => LoadedHome;
  readonly redactor: Redactor;
  readonly compiling: CompileOptions;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly nowMs: () => number;
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
  readonly log: Logger;
}
