/**
 * One `mcp_servers` entry as the connection needs it: typed, in milliseconds, with its transport chosen. The entry has
 * been validated; what is missing here gets its default. Holds secrets (headers, environment, a key's password): never
 * logged, never in a context.
 * @see CFG-1, CFG-5, LIF-3, LIF-4, LIF-5, TLS-1, TRU-1, FLT-2, SRV-1 and SRV-2 in docs/specification.md
 */

import { type Json, type JsonObject, objectAt } from '../base/json.ts';
import type { ServerEntry } from '../config/settings.ts';
import { type OauthSettings, readOauthSettings } from '../oauth/oauth-settings.ts';

export interface StdioPlan {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the command starts, absolute; the home of its profile where none is given. */
  readonly cwd?: string;
}

/** The certificate paths are as configured: `~` is not expanded yet. */
export interface TlsPlan {
  /** False turns verification off; a path names a PEM bundle of CAs. */
  readonly verify: boolean | string;
  readonly cert?: string;
  readonly key?: string;
  readonly password?: string;
  /** The entry's key that each path was read from, for the error that names it. */
  readonly certKey: 'client_cert';
  readonly keyKey: 'client_cert' | 'client_key';
}

export interface HttpPlan {
  readonly kind: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a redirect may take a body to another origin. */
  readonly crossOriginRedirects: boolean;
  readonly tls: TlsPlan;
  readonly skipPreflight: boolean;
  /** How to log in; null where the entry does not ask for OAuth. */
  readonly oauth: OauthSettings | null;
}

export type TransportPlan = StdioPlan | HttpPlan;
export type Protocol = 'auto' | 'stateless' | 'legacy';

export interface ToolPolicy {
  /** Undefined: every native tool; empty: none (FLT-1). */
  readonly include?: readonly string[];
  readonly exclude: readonly string[];
  readonly resources: boolean;
  readonly prompts: boolean;
}

export interface SamplingPolicy {
  readonly enabled: boolean;
  readonly model?: string;
  readonly allowedModels: readonly string[];
  readonly maxTokensCap: number;
  readonly timeoutMs: number;
  readonly maxRequestsPerMinute: number;
  readonly maxToolRounds: number;
}

export interface ServerSettings {
  readonly name: string;
  readonly enabled: boolean;
  readonly transport: TransportPlan;
  readonly protocol: Protocol;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly parallel: boolean;
  readonly lazy: boolean;
  /** Undefined: no liveness ping. */
  readonly keepaliveMs?: number;
  /** 0: never. */
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
  readonly trust: 'full' | 'untrusted';
  /** The folders that `roots/list` answers, absolute. */
  readonly roots: readonly string[];
  readonly tools: ToolPolicy;
  readonly sampling: SamplingPolicy;
  readonly elicitation: { readonly enabled: boolean; readonly timeoutMs: number };
  /** Characters of text that one result may hold (LIF-13). */
  readonly resultCap: number;
  /** Failures of the transport in a row that open the breaker, and how long it stays open (LIF-8). */
  readonly breaker: { readonly failures: number; readonly resetMs: number };
}

const defaultResultCap = 2_000_000;
const defaultBreaker = { failures: 5, resetSeconds: 30 };

export function readServerSettings(server: ServerEntry): ServerSettings {
  const { entry } = server;
  const breaker = objectAt(entry, 'circuit_breaker');
  return {
    name: server.name,
    enabled: server.enabled,
    transport: typeof entry.command === 'string' ? stdioPlan(entry) : httpPlan(entry),
    protocol: protocolOf(entry.protocol),
    timeoutMs: seconds(entry.timeout, 300),
    connectTimeoutMs: seconds(entry.connect_timeout, 60),
    parallel: entry.supports_parallel_tool_calls === true,
    lazy: entry.lazy === true,
    ...(typeof entry.keepalive_interval === 'number' ? { keepaliveMs: seconds(entry.keepalive_interval, 0) } : {}),
    idleTimeoutMs: seconds(entry.idle_timeout_seconds, 0),
    maxLifetimeMs: seconds(entry.max_lifetime_seconds, 0),
    trust: entry.trust === undefined || entry.trust === 'full' ? 'full' : 'untrusted',
    roots: strings(entry.roots),
    tools: toolPolicy(objectAt(entry, 'tools')),
    sampling: samplingPolicy(objectAt(entry, 'sampling')),
    elicitation: elicitationPolicy(objectAt(entry, 'elicitation')),
    resultCap: number(entry.max_result_chars, defaultResultCap),
    breaker: {
      failures: number(breaker.failures, defaultBreaker.failures),
      resetMs: seconds(breaker.reset_seconds, defaultBreaker.resetSeconds),
    },
  };
}

/** Reads true/1/yes/on and false/0/no/off in any case; anything else is the default, for validation has spoken. */
export function boolLike(value: Json | undefined, otherwise: boolean): boolean {
  const word = String(value).toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  if (['false', '0', 'no', 'off'].includes(word)) return false;
  return otherwise;
}

function stdioPlan(entry: JsonObject): StdioPlan {
  return {
    kind: 'stdio',
    command: String(entry.command),
    args: strings(entry.args),
    env: stringMap(objectAt(entry, 'env')),
    ...(typeof entry.cwd === 'string' ? { cwd: entry.cwd } : {}),
  };
}

function httpPlan(entry: JsonObject): HttpPlan {
  return {
    kind: entry.transport === 'sse' ? 'sse' : 'http',
    url: String(entry.url ?? ''),
    headers: stringMap(objectAt(entry, 'headers')),
    crossOriginRedirects: entry.cross_origin_redirects === true,
    tls: tlsPlan(entry),
    skipPreflight: entry.skip_preflight === true,
    oauth: entry.auth === 'oauth' ? readOauthSettings(entry) : null,
  };
}

function tlsPlan(entry: JsonObject): TlsPlan {
  const verify = typeof entry.ssl_verify === 'string' ? entry.ssl_verify : entry.ssl_verify !== false;
  const given = entry.client_cert;
  if (typeof given === 'string') {
    const key = typeof entry.client_key === 'string' ? entry.client_key : given;
    return {
      verify,
      cert: given,
      key,
      certKey: 'client_cert',
      keyKey: key === given ? 'client_cert' : 'client_key',
    };
  }
  if (!Array.isArray(given)) return { verify, certKey: 'client_cert', keyKey: 'client_cert' };
  const [cert, key, password] = strings(given);
  return {
    verify,
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(password === undefined ? {} : { password }),
    certKey: 'client_cert',
    keyKey: 'client_cert',
  };
}

function toolPolicy(tools: JsonObject): ToolPolicy {
  return {
    ...(tools.include === undefined ? {} : { include: nameList(tools.include) }),
    exclude: nameList(tools.exclude),
    resources: boolLike(tools.resources, true),
    prompts: boolLike(tools.prompts, true),
  };
}

function samplingPolicy(sampling: JsonObject): SamplingPolicy {
  return {
    enabled: sampling.enabled !== false,
    ...(typeof sampling.model === 'string' ? { model: sampling.model } : {}),
    allowedModels: strings(sampling.allowed_models),
    maxTokensCap: number(sampling.max_tokens_cap, 4096),
    timeoutMs: seconds(sampling.timeout, 30),
    maxRequestsPerMinute: number(sampling.max_rpm, 10),
    maxToolRounds: number(sampling.max_tool_rounds, 5),
  };
}

function elicitationPolicy(elicitation: JsonObject): ServerSettings['elicitation'] {
  return { enabled: elicitation.enabled !== false, timeoutMs: seconds(elicitation.timeout, 300) };
}

function protocolOf(value: Json | undefined): Protocol {
  return value === 'stateless' || value === 'legacy' ? value : 'auto';
}

function nameList(value: Json | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : strings(value);
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function stringMap(value: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, String(each)]));
}

function seconds(value: Json | undefined, otherwise: number): number {
  return (typeof value === 'number' ? value : otherwise) * 1_000;
}

function number(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}
