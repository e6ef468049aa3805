/**
 * The webhook adapter's settings from their three places: `extra`, the keys beside it, the environment. `extra` wins, and
 * the configuration beats the environment.
 * @see ADP-1 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

export interface ListenerSettings {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  readonly secret?: string;
  readonly rateLimit: number;
  readonly maxBodyBytes: number;
  readonly maxUnverifiedBytes: number;
  readonly scriptConcurrency: number;
  /** Whether a weak secret outside loopback is a warning alone. */
  readonly allowWeakSecrets: boolean;
  /** Where senders reach the listener, for schemes that sign the address. */
  readonly publicUrl?: string;
}

export interface VariableFinding {
  readonly variable: string;
  readonly message: string;
  readonly code: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const bools: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', ''].map((word) => [word, false] as const),
]);

/** The value of a key where it counts: under `extra`, else beside it; with where it stands. */
export function webhookKey(
  webhook: JsonObject,
  key: string,
): { readonly value: Json; readonly under: 'extra' | 'direct' } | undefined {
  const { extra } = webhook;
  if (isJsonObject(extra) && extra[key] !== undefined) return { value: extra[key], under: 'extra' };
  return webhook[key] === undefined ? undefined : { value: webhook[key], under: 'direct' };
}

/** Reads settings whose shape the schema has accepted. */
export function readListener(
  webhook: JsonObject,
  env: Env,
): { readonly settings: ListenerSettings; readonly findings: readonly VariableFinding[] } {
  const findings: VariableFinding[] = [];
  const enabled = readEnabled(webhook, env, findings);
  const port = readPort(webhook, env, findings);
  const secret = (webhookKey(webhook, 'secret')?.value as string | undefined) ?? env.WEBHOOK_SECRET;
  const publicUrl = webhookKey(webhook, 'public_url')?.value as string | undefined;
  return {
    settings: {
      enabled,
      host: (webhookKey(webhook, 'host')?.value as string | undefined) ?? '0.0.0.0',
      port,
      rateLimit: (webhookKey(webhook, 'rate_limit')?.value as number | undefined) ?? 30,
      maxUnverifiedBytes: (webhookKey(webhook, 'max_unverified_bytes')?.value as number | undefined) ?? 67_108_864,
      scriptConcurrency: (webhookKey(webhook, 'script_concurrency')?.value as number | undefined) ?? 8,
      allowWeakSecrets: webhookKey(webhook, 'allow_weak_secrets')?.value === true,
      maxBodyBytes: (webhookKey(webhook, 'max_body_bytes')?.value as number | undefined) ?? 1_048_576,
      ...(secret === undefined || secret === '' ? {} : { secret }),
      ...(publicUrl === undefined ? {} : { publicUrl }),
    },
    findings,
  };
}

function readEnabled(webhook: JsonObject, env: Env, findings: VariableFinding[]): boolean {
  const given = env.WEBHOOK_ENABLED;
  const read = given === undefined ? false : bools.get(given.toLowerCase());
  if (read === undefined) {
    findings.push({
      variable: 'WEBHOOK_ENABLED',
      message: 'WEBHOOK_ENABLED must be true/1/yes/on or false/0/no/off',
      code: 'variable-malformed',
    });
  }
  if (typeof webhook.enabled === 'boolean') return webhook.enabled;
  // What cannot be read asks for something; taken for "off", it would hide the finding that stops the adapter.
  return webhook.enabled !== undefined || (read ?? true);
}

function readPort(webhook: JsonObject, env: Env, findings: VariableFinding[]): number {
  const given = env.WEBHOOK_PORT;
  const read = given === undefined || given === '' ? 8_644 : portOf(given);
  if (read === undefined) {
    findings.push({
      variable: 'WEBHOOK_PORT',
      message: 'WEBHOOK_PORT must be a whole number from 0 to 65535',
      code: 'variable-malformed',
    });
  }
  return (webhookKey(webhook, 'port')?.value as number | undefined) ?? read ?? 8_644;
}

function portOf(text: string): number | undefined {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port <= 65_535 ? port : undefined;
}
