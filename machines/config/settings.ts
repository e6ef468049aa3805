/**
 * A home's complete configuration after reading: with defaults, in milliseconds, secrets interpolated. Produced by
 * `read-config.ts`, used by the wiring, never written back to a file.
 * @see CON-3, ADP-1 and CFG-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { RouteWithSecret } from './route.ts';
import type { ServerEntry } from './server-entry.ts';

export interface WebhookSettings {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  /** The global fallback secret; absent if none is configured. */
  readonly secret?: string;
  /** Requests per 60 s and route (LIM-2). */
  readonly rateLimit: number;
  readonly maxBodyBytes: number;
  /** The most memory, in total, for bodies whose signature is not verified yet (SEC-3). */
  readonly maxUnverifiedBytes: number;
  /** Concurrent route scripts (LIM-4). */
  readonly scriptConcurrency: number;
  /** Whether a weak secret on a listener outside loopback is only a warning (SEC-6). */
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
  /** The longest answer in tokens; absent: the endpoint's own limit. */
  readonly maxTokens?: number;
  readonly prices?: ModelPrices;
  /** Prices of the endpoint's other models by name, since a cron job may use one. */
  readonly otherPrices?: Readonly<Record<string, ModelPrices>>;
}

/** The price of a million tokens, in the owner's currency. */
export interface ModelPrices {
  readonly inputPerMillion: number;
  /** Of tokens read from the endpoint's cache. */
  readonly cachedPerMillion: number;
  /** Of tokens written to it. */
  readonly writtenPerMillion: number;
  readonly outputPerMillion: number;
}

/** The endpoint of `web_search`. */
export interface SearchSettings {
  readonly provider: 'searxng' | 'brave' | 'tavily' | 'exa';
  /** Such as `http://127.0.0.1:8888`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
}

export interface AgentSettings {
  readonly runner: 'model' | 'command' | 'echo';
  /** The argv of a command runner; empty for other runners. */
  readonly command: readonly string[];
  /** The folder in which its program starts; absent: the home of the profile. */
  readonly cwd?: string;
  /** The variables of its program, in addition to those of every child process and of its run. Secret. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly onInterrupted: 'rerun' | 'report';
  readonly model?: ModelSettings;
  readonly search?: SearchSettings;
}

export interface GatewaySettings {
  readonly multiplexProfiles: boolean;
  /** `auto` uses uWebSockets.js if its binary loads and passes a self-test, else node:http. */
  readonly front: 'auto' | 'uws' | 'node';
  /** `lmdb`: on disk; `postgres`: in a database; `memory`: lost at exit, for tests and measurements. */
  readonly journal: 'lmdb' | 'memory' | 'postgres';
  /** The journal's database. Secret; empty if its reference is unset or none is given. */
  readonly postgres?: { readonly url: string; readonly pool: number };
  /** This gateway's name among those that share a database; absent: its machine and home. */
  readonly node?: string;
  /** How long runs may continue after SIGTERM before they are parked. */
  readonly drainTimeoutMs: number;
  readonly history: { readonly maxAgeMs: number; readonly maxBytes: number };
}

export interface InspectorSettings extends Pick<WebhookSettings, 'enabled' | 'host' | 'port'> {
  /** The token for `/metrics` and `/ready`; absent: open. Empty if its reference is unset: no request matches. */
  readonly scrapeToken?: string;
  /** The origin at which a proxy serves the page, such as `https://agent.example.com`. */
  readonly publicUrl?: string;
  /** The users who may sign in with a password; absent if there are none. */
  readonly users?: readonly PageUser[];
}

export interface PageUser {
  readonly name: string;
  /** Secret: never logged or shown. */
  readonly password: string;
  /** Absent: all functions of the page. */
  readonly role?: 'reader';
}

interface TelemetrySettings {
  /** Where traces are sent; absent if there are none or the environment sets it. */
  readonly otlpEndpoint?: string;
}

/** How failed deliveries to a platform are retried. */
export interface RetryPolicy {
  /** Attempts in total; a wait that the platform requests does not count as one. */
  readonly attempts: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
}

/** A delivery platform's settings: the shared keys read, its own keys unchanged. */
export interface PlatformSettings {
  readonly enabled: boolean;
  /** The name in the configuration (DLV-5); absent if it is not an alias. */
  readonly name?: string;
  readonly apiBase?: string;
  readonly homeChannel?: string;
  readonly timeoutMs: number;
  readonly retries?: RetryPolicy;
  /** Concurrent deliveries; absent: the default. */
  readonly concurrency?: number;
  /** How long later messages of a chat wait for one that is being retried. */
  readonly orderHoldMs?: number;
  /** Messages started per minute; absent: the platform's own limit. */
  readonly perMinute?: number;
  /** Target-specific keys, interpolated. Secret: never logged or shown. */
  readonly options: JsonObject;
  /** The first finding of an unusable entry (CFG-3). */
  readonly problem?: string;
}

export interface Settings {
  readonly gateway: GatewaySettings;
  readonly webhook: WebhookSettings;
  readonly agent: AgentSettings;
  readonly inspector: InspectorSettings;
  readonly telemetry: TelemetrySettings;
  /** Whether each accepted event has its own log line, or those of a second share one (OBS-1). */
  readonly log: { readonly events: 'summary' | 'all' };
  /** Keyed by target name. */
  readonly platforms: Readonly<Record<string, PlatformSettings>>;
  readonly servers: readonly ServerEntry[];
  /** The value of `${workspaceFolder}` and the folder in which stdio servers start, absolute. */
  readonly workspace?: string;
}
