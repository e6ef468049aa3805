/**
 * One `mcp_servers` entry as the connection needs it: typed, in milliseconds, with its transport. The entry was validated;
 * absent keys get their defaults. Contains secrets (headers, environment, a key's password): never logged, never in a
 * context.
 * @see CFG-1, CFG-5, LIF-3, LIF-4, LIF-5, TLS-1, TRU-1, FLT-2, SRV-1 and SRV-2 in docs/specification.md
 */

import { defined, type Json, scalarText } from '../base/json.ts';
import type { ServerEntry, WrittenServer } from '../config/server-entry.ts';
import { type OauthSettings, readOauthSettings } from '../oauth/oauth-settings.ts';

export interface StdioPlan {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working folder of the command, absolute; absent: the home of its profile. */
  readonly cwd?: string;
}

/** Certificate paths are as configured: `~` is not expanded yet. */
export interface TlsPlan {
  /** False disables verification; a path is a PEM bundle of CAs. */
  readonly verify: boolean | string;
  readonly cert?: string;
  readonly key?: string;
  readonly password?: string;
  /** The entry's key that each path comes from, for error messages. */
  readonly certKey: 'client_cert';
  readonly keyKey: 'client_cert' | 'client_key';
}

export interface HttpPlan {
  readonly kind: 'http' | 'sse';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a redirect may send a body to another origin. */
  readonly crossOriginRedirects: boolean;
  readonly tls: TlsPlan;
  readonly skipPreflight: boolean;
  /** How to log in; null if the entry does not use OAuth. */
  readonly oauth: OauthSettings | null;
}

export type TransportPlan = StdioPlan | HttpPlan;
type OauthPlan = HttpPlan & { readonly oauth: OauthSettings };
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
  /** The findings of its references to variables that are not set. */
  readonly unset?: readonly string[];
  readonly transport: TransportPlan;
  readonly protocol: Protocol;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly parallel: boolean;
  readonly lazy: boolean;
  /** Whether only one gateway at a time runs the server, if several share a database (SCA-1). */
  readonly isPlacedOnce: boolean;
  /** Undefined: no liveness ping. */
  readonly keepaliveMs?: number;
  /** 0: never. */
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
  readonly trust: 'full' | 'untrusted';
  /** The folders in the answer to `roots/list`, absolute. */
  readonly roots: readonly string[];
  readonly tools: ToolPolicy;
  readonly sampling: SamplingPolicy;
  readonly elicitation: { readonly enabled: boolean; readonly timeoutMs: number };
  /** The most characters of text in one result (LIF-13). */
  readonly resultCap: number;
  /** Consecutive transport failures that open the breaker, and how long it stays open (LIF-8). */
  readonly breaker: { readonly failures: number; readonly resetMs: number };
}

export function readServerSettings({ name, enabled, entry, unset }: ServerEntry): ServerSettings {
  const { tools, sampling, elicitation, circuit_breaker: breaker } = entry;
  return defined({
    name,
    enabled,
    unset,
    transport: entry.command === undefined ? httpPlan(entry) : stdioPlan(entry.command, entry),
    protocol: entry.protocol,
    timeoutMs: entry.timeout * 1_000,
    connectTimeoutMs: entry.connect_timeout * 1_000,
    parallel: entry.supports_parallel_tool_calls,
    lazy: entry.lazy,
    isPlacedOnce: entry.placement === 'one',
    keepaliveMs: entry.keepalive_interval === undefined ? undefined : entry.keepalive_interval * 1_000,
    idleTimeoutMs: entry.idle_timeout_seconds * 1_000,
    maxLifetimeMs: entry.max_lifetime_seconds * 1_000,
    trust: entry.trust === 'full' ? 'full' : 'untrusted',
    roots: entry.roots,
    tools: defined({
      include: tools.include === undefined ? undefined : [tools.include].flat(),
      exclude: [tools.exclude].flat(),
      resources: boolLike(tools.resources, true),
      prompts: boolLike(tools.prompts, true),
    }),
    sampling: defined({
      enabled: sampling.enabled,
      model: sampling.model,
      allowedModels: sampling.allowed_models,
      maxTokensCap: sampling.max_tokens_cap,
      timeoutMs: sampling.timeout * 1_000,
      maxRequestsPerMinute: sampling.max_rpm,
      maxToolRounds: sampling.max_tool_rounds,
    }),
    elicitation: { enabled: elicitation.enabled, timeoutMs: elicitation.timeout * 1_000 },
    resultCap: entry.max_result_chars,
    breaker: { failures: breaker.failures, resetMs: breaker.reset_seconds * 1_000 },
  });
}

/** Reads true/1/yes/on and false/0/no/off in any case; else returns the default, because validation has reported it. */
export function boolLike(value: Json | undefined, otherwise: boolean): boolean {
  const word = scalarText(value).toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(word)) return true;
  if (['false', '0', 'no', 'off'].includes(word)) return false;
  return otherwise;
}

/** The plan of a server that logs in by OAuth; undefined for any other. */
export function oauthPlanOf(plan: TransportPlan): OauthPlan | undefined {
  return plan.kind === 'stdio' || plan.oauth === null ? undefined : (plan as OauthPlan);
}

function stdioPlan(command: string, { args, env, cwd }: WrittenServer): StdioPlan {
  return defined({ kind: 'stdio', command, args: args.map(String), env: texts(env), cwd });
}

function httpPlan(entry: WrittenServer): HttpPlan {
  return {
    kind: entry.transport === 'sse' ? 'sse' : 'http',
    url: entry.url ?? '',
    headers: texts(entry.headers),
    crossOriginRedirects: entry.cross_origin_redirects,
    tls: tlsPlan(entry),
    skipPreflight: entry.skip_preflight,
    oauth: entry.auth === undefined ? null : readOauthSettings(entry),
  };
}

function tlsPlan({ ssl_verify: verify, client_cert: given = [], client_key }: WrittenServer): TlsPlan {
  if (typeof given === 'string') {
    const key = client_key ?? given;
    return { verify, cert: given, key, certKey: 'client_cert', keyKey: key === given ? 'client_cert' : 'client_key' };
  }
  const [cert, key, password] = given;
  return defined({ verify, cert, key, password, certKey: 'client_cert', keyKey: 'client_cert' });
}

function texts(map: Readonly<Record<string, string | number | boolean>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([key, each]) => [key, String(each)]));
}
