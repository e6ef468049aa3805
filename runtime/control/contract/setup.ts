/** The configuration as written and in force, and the first steps of a new home. */

import type { KnownProgram } from '../../../machines/agent/known-programs.ts';
import type { Diagnostic } from '../../../machines/config/diagnostic.ts';
import type { VariableSource } from '../../../machines/config/shown-settings.ts';
import type { ProviderWords } from './routes.ts';

export interface ConfigSource {
  readonly file: string;
  readonly profile: string;
  /** All served profiles. */
  readonly profiles: readonly string[];
  /** The lines of the file, with references unresolved. */
  readonly disk: readonly string[];
  readonly saved_at?: string;
  readonly findings: readonly Diagnostic[];
  /** Absent without a daemon. */
  readonly in_force?: {
    readonly lines: readonly string[];
    readonly since: string;
    /** Why the file on disk is not in force; absent if it is. */
    readonly refused?: string;
    /** Changed settings that take effect only at the next start. */
    readonly restart_for: readonly string[];
    /** Changes since the daemon started, newest first. */
    readonly changes: readonly {
      readonly at: string;
      readonly kind: 'applied' | 'refused';
      readonly what: readonly string[];
    }[];
  };
  /** The variables that the file refers to. */
  readonly variables: readonly { readonly name: string; readonly from: VariableSource }[];
}

/** Which of the first steps a profile of a home and its computer have completed. */
export interface Setup {
  readonly profile: string;
  /** The base URL of the webhooks; null while nothing listens. */
  readonly url: string | null;
  readonly webhooks_enabled: boolean;
  /** Whether other computers can reach the address, or a route has a public one. */
  readonly reachable: boolean;
  readonly home: string;
  readonly runner: string;
  readonly agents: readonly KnownProgram[];
  readonly sources: readonly SourceChoice[];
  /** Platforms that `setup.target` can write. */
  readonly targets: readonly { readonly name: string; readonly title: string }[];
  readonly done: {
    readonly route: boolean;
    readonly event: boolean;
    readonly agent: boolean;
    readonly server: boolean;
    readonly target: boolean;
  };
}

export interface SourceChoice extends Pick<ProviderWords, 'title' | 'page' | 'secret' | 'sample'> {
  readonly name: string;
  /** The provider generates the secret; otherwise one is generated if none is given. */
  readonly secret_needed: boolean;
}
