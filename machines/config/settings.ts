/**
 * The whole of one home's configuration once read: defaults filled in, seconds turned into milliseconds, secrets
 * interpolated. Produced by `read-config.ts`, consumed by the wiring; nothing here is written back to a file.
 * @see CON-3, ADP-1 and CFG-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { RouteWithSecret } from './route.ts';
import type { ServerEntry } from './server-entry.ts';

export interface WebhookSettings {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** The global fallback secret; absent where none is configured. */
  readonly secret?: string;
  /** Requests per 60 s and route (LIM-2). */
  readonly rateLimit: number;
  readonly maxBodyBytes: number;
  /** Bodies under way that no signature was checked of hold no more than this, together (SEC-3). */
  readonly maxUnverifiedBytes: number;
  /** Scripts of routes that run at once (LIM-4). */
  readonly scriptConcurrency: number;
  /** Whether a weak secret on a listener outside loopback is a warning alone (SEC-6). */
  readonly allowWeakSecrets: boolean;
  /** Where senders reach the listener (SRC-2). */
  readonly publicUrl?: string;
  readonly routes: readonly RouteWithSecret[];
}

export interface ModelSettings {
  readonly provider: 'openai-compatible' | 'anthropic';
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly name: string;
  readonly maxSteps: number;
  /** How long one answer may be, in tokens; the endpoint's own limit unless given. */
  readonly maxTokens?: number;
  readonly prices?: ModelPrices;
  /** Those of other models of the endpoint, by name: a cron job may ask for one. */
  readonly otherPrices?: Readonly<Record<string, ModelPrices>>;
}

/** What a million tokens cost, in whatever money the owner counts in. */
export interface ModelPrices {
  readonly inputPerMillion: number;
  readonly outputPerMillion: number;
}

/** Where `web_search` asks: an endpoint that speaks SearXNG's JSON. */
export interface SearchSettings {
  /** Such as `http://127.0.0.1:8888`. */
  readonly baseUrl: string;
  /** Sent as a bearer token. */
  readonly apiKey?: string;
}

export interface AgentSettings {
  readonly runner: 'model' | 'command' | 'echo';
  /** The argv of a command runner; empty for the others. */
  readonly command: readonly string[];
  /** The variables of its program, beside those that every child process has and those of its run. Secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly onInterrupted: 'rerun' | 'report';
  readonly model?: ModelSettings;
  readonly search?: SearchSettings;
}

export interface GatewaySettings {
  readonly multiplexProfiles: boolean;
  /** `auto` takes uWebSockets.js where its binary loads and passes a self-test, node:http elsewhere. */
  readonly front: 'auto' | 'uws' | 'node';
  /** `lmdb` keeps the journal on disk, `postgres` in a database; `memory` forgets it at exit and is for tests and measurements. */
  readonly journal: 'lmdb' | 'memory' | 'postgres';
  /** The database of the journal. Secret; empty where its reference is unset or none is given. */
  readonly postgres?: { readonly url: string; readonly pool: number };
  /** The name of this gateway among those on one database; absent: its machine and its home. */
  readonly node?: string;
  /** How long runs may continue after SIGTERM before they are parked. */
  readonly drainTimeoutMs: number;
  readonly history: { readonly maxAgeMs: number; readonly maxBytes: number };
}

export interface InspectorSettings {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** What `/metrics` and `/ready` ask for; absent: they are open. Empty, where its reference is unset: no request fits. */
  readonly scrapeToken?: string;
  /** The origin at which a proxy serves the page, such as `https://agent.example.com`. */
  readonly publicUrl?: string;
  /** Who may sign in with a password; absent where none may. */
  readonly users?: readonly PageUser[];
}

export interface PageUser {
  readonly name: string;
  /** Secret: never logged or shown. */
  readonly password: string;
  /** Absent: everything that the page offers. */
  readonly role?: 'reader';
}

export interface TelemetrySettings {
  /** Where traces are sent; absent where none are wanted, or the environment says it. */
  readonly otlpEndpoint?: string;
}

/** How deliveries to a platform that failed are tried again. */
export interface RetryPolicy {
  /** Tries in all; a platform's request to wait is none. */
  readonly attempts: number;
  readonly baseDelayMs: number;
  readonly longestDelayMs: number;
}

/** A delivery platform's settings: the shared keys read, its own credentials as they stand. */
export interface PlatformSettings {
  readonly enabled: boolean;
  /** The name in the configuration (DLV-5); absent where it is not an alias. */
  readonly name?: string;
  readonly apiBase?: string;
  readonly homeChannel?: string;
  readonly timeoutMs: number;
  readonly retries?: RetryPolicy;
  /** Deliveries at the same time, where it is not the usual number. */
  readonly concurrency?: number;
  /** For how long later texts of a chat wait for one that is tried again. */
  readonly orderHoldMs?: number;
  /** Messages begun in a minute, where it is not the platform's own bound. */
  readonly perMinute?: number;
  /** Target-specific keys, interpolated. Secret: never logged or shown. */
  readonly options: JsonObject;
  /** The first finding of an entry that cannot be used (CFG-3). */
  readonly problem?: string;
}

export interface Settings {
  readonly gateway: GatewaySettings;
  readonly webhook: WebhookSettings;
  readonly agent: AgentSettings;
  readonly inspector: InspectorSettings;
  readonly telemetry: TelemetrySettings;
  /** Whether each accepted event has a line in the log, or those of a second share one (OBS-1). */
  readonly log: { readonly events: 'summary' | 'all' };
  /** By the target's name. */
  readonly platforms: Readonly<Record<string, PlatformSettings>>;
  readonly servers: readonly ServerEntry[];
  /** What `${workspaceFolder}` stands for and where stdio servers start, absolute. */
  readonly workspace?: string;
}
