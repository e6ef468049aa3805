/** MCP servers: their entries, connections, tools and calls. */

import type { Json, JsonObject } from '../../../machines/base/json.ts';
import type { Diagnostic } from '../../../machines/config/diagnostic.ts';
import type { VariableSource } from '../../../machines/config/shown-settings.ts';
import type { CallFault } from '../../../machines/mcp/call-faults.ts';
import type { ShownFailure } from '../../../machines/mcp/connect-failure.ts';
import type { InProfile } from './choices.ts';

export interface ServerChoice extends InProfile {
  readonly server: string;
}

/** The caller of a tool or reader of an offer. */
export interface Caller extends InProfile {
  readonly caller?: string;
  readonly program?: string;
  readonly run?: string;
  /** In the format of W3C Trace Context. */
  readonly traceparent?: string;
  /** Globs that limit the caller's tools, separated by commas. */
  readonly toolsets?: string;
  /** The toolsets of the caller's run. */
  readonly lent?: readonly string[];
}

/** A link, parsed for one profile. */
export interface LinkReading {
  readonly name: string;
  readonly kind: 'command' | 'url';
  readonly config: JsonObject;
  /** A sentence for each setting of the entry that weakens a protection. */
  readonly lowers: readonly string[];
  /** The profile already has a server of that name. */
  readonly taken: boolean;
  /** The profiles to which it may be added. */
  readonly profiles: readonly string[];
}

/** A call without a result. */
export interface Failed {
  readonly error: CallFault;
}

/** The protocol's answer, or why there is none. */
export type Offered = Json | undefined | Failed;

export interface ServerRow {
  readonly name: string;
  readonly profile: string;
  readonly state: string;
  readonly transport: string;
  readonly era: string | null;
  readonly tools: number;
  readonly since: string;
  /** Calls that ended in the last hour, and the median of the durations of those without a failure. */
  readonly calls?: number;
  readonly median_ms?: number;
  /** Consecutive failed attempts and sessions. */
  readonly failures?: number;
  /** The time of the next attempt, if one is planned. */
  readonly next_at?: string;
  readonly error?: string;
  readonly failure?: ShownFailure;
  /** Its references to variables that are not set. */
  readonly unset?: readonly string[];
  /** The tools that are left out, and why, and the patterns of the filter that match none. */
  readonly left_out?: readonly string[];
}

/** The outcome of a change of config.yaml. */
export interface ChangedServer {
  readonly profile: string;
  /** Names of the variables that were written into `.env`. */
  readonly variables: readonly string[];
  /** Variables of `.env` without a reference left. */
  readonly unused: readonly string[];
  /** The file says so already. */
  readonly unchanged?: true;
  /** Why the current file is not applied; absent if it is, or no daemon runs. */
  readonly not_in_force?: string;
}

/** An entry as written in the file, secrets masked. */
export interface ServerDetail {
  readonly name: string;
  readonly profile: string;
  readonly file: string;
  readonly line: number;
  readonly entry: JsonObject;
  readonly enabled: boolean;
  /** The working folder of its command. */
  readonly cwd?: string;
  readonly variables: readonly { readonly name: string; readonly from: VariableSource }[];
  readonly findings: readonly Diagnostic[];
  /** A sentence for each setting that weakens a protection. */
  readonly lowers: readonly string[];
  /** Those of them about neither its trust nor the names of its variables. */
  readonly further: readonly string[];
  /** Variables of `.env` that only this entry refers to. */
  readonly own_variables: readonly string[];
}

export interface ServerCall {
  readonly id: string;
  /** The registered name. */
  readonly tool: string;
  readonly caller: string;
  /** `result`, `error` if the tool reports one, or the code of the fault. */
  readonly outcome: string;
  readonly why?: string;
  readonly started_at: string;
  readonly milliseconds: number;
  /** How often it was passed to a session. */
  readonly tries: number;
}

/** A server of another agent program, without the values of its variables. */
export interface ImportableServer {
  readonly name: string;
  readonly program: string;
  readonly file: string;
  readonly foreign_name: string;
  readonly entry: JsonObject;
  /** Variables that are written into `.env`. */
  readonly variables: readonly string[];
  /** Variables that are not set yet. */
  readonly missing: readonly string[];
  /** Sentences for the person who decides. */
  readonly notes: readonly string[];
  /** `new` and `taken` can be added, `taken` under the given name. */
  readonly standing: 'new' | 'same' | 'taken' | 'unusable';
  readonly why?: string;
}

export interface ToolRow {
  readonly name: string;
  readonly server: string;
  readonly tool: string;
  readonly description: string;
  readonly available: boolean;
  readonly input_schema: Json;
  readonly output_schema?: Json;
  readonly title?: Json;
  readonly icons?: Json;
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** The result of a separate connection; with `connect: false`, whether the entry is valid. */
export type ProbeReport =
  | {
      readonly ok: true;
      readonly needs_login?: never;
      readonly era?: string;
      readonly milliseconds?: number;
      readonly tools?: readonly {
        readonly name: string;
        readonly tool: string;
        readonly description: string;
        /** A person is asked before it runs. */
        readonly asks: boolean;
        readonly read_only: boolean;
      }[];
      readonly filtered?: number;
      /** The tools that are left out, and why, and the patterns of the filter that match none. */
      readonly left_out?: readonly string[];
      readonly instructions?: string;
    }
  /** With `needs_login` the server was reached, and only a person can continue. */
  | {
      readonly ok: false;
      readonly error: string;
      readonly needs_login?: true;
      /** Its refusal names resource metadata: it logs in by OAuth. */
      readonly names_oauth?: true;
      /** The last lines of its standard error. */
      readonly stderr?: readonly string[];
    };

export type LinkVerdict =
  | { readonly kind: 'link'; readonly url: string }
  | { readonly kind: 'refused'; readonly why: string };
