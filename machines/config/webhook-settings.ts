/**
 * The webhook adapter's settings from three places: `extra`, the keys beside it, the environment. `extra` takes precedence,
 * then the other keys.
 * @see ADP-1 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { declared } from './declared.ts';
import { bindAddress, port, text } from './schema-parts.ts';
import type { Settings, WebhookSettings } from './settings.ts';

/** The adapter's keys without its routes. */
export const listenerKeys = {
  host: { ...bindAddress, default: '0.0.0.0' },
  port: { ...port, default: 8644, description: 'Listen port; 0 chooses a free one.' },
  secret: { ...text, description: 'Global fallback secret.' },
  public_url: {
    ...text,
    // A reference is checked once it is resolved.
    pattern: '^https?://[^/?#]+(?:/[^?#]*)?$|\\$\\{',
    description:
      'Where senders reach this listener, such as https://hooks.example.com: the address that is shown to paste, and that some sources sign.',
  },
  rate_limit: { type: 'integer', minimum: 1, default: 30, description: 'Requests per minute and route.' },
  max_body_bytes: { type: 'integer', minimum: 1, default: 1_048_576, description: 'Largest payload in bytes.' },
  max_unverified_bytes: {
    type: 'integer',
    minimum: 1,
    default: 67_108_864,
    description: 'Memory in bytes for payloads under way whose signature is not checked yet, over all connections.',
  },
  script_concurrency: {
    type: 'integer',
    minimum: 1,
    default: 8,
    description: 'Scripts of routes at the same time; others wait for their turn.',
  },
  allow_weak_secrets: {
    type: 'boolean',
    default: false,
    description: 'Makes a weak secret on a listener outside loopback a warning, not an error.',
  },
} as const;

interface VariableFinding {
  readonly variable: string;
  readonly message: string;
  readonly code: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const bools: ReadonlyMap<string, boolean> = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', ''].map((word) => [word, false] as const),
]);

/** The effective value of a key, under `extra` or else beside it, and which of them it is. */
export function webhookKey(
  webhook: JsonObject,
  key: string,
): { readonly value: Json; readonly under: 'extra' | 'direct' } | undefined {
  const { extra } = webhook;
  if (isJsonObject(extra) && extra[key] !== undefined) return { value: extra[key], under: 'extra' };
  return webhook[key] === undefined ? undefined : { value: webhook[key], under: 'direct' };
}

/** Reads settings that passed the schema. */
export function readListener(
  webhook: JsonObject,
  env: Env,
): { readonly settings: Omit<WebhookSettings, 'routes'>; readonly findings: readonly VariableFinding[] } {
  const findings: VariableFinding[] = [];
  const enabled = readEnabled(webhook, env, findings);
  const variables = defined({ port: readPort(env, findings), secret: env.WEBHOOK_SECRET });
  const { extra } = webhook;
  const read = declared(
    { type: 'object', properties: listenerKeys },
    { ...variables, ...webhook, ...(isJsonObject(extra) ? extra : {}) },
  );
  return {
    settings: defined({
      enabled,
      host: read.host,
      port: read.port,
      rateLimit: read.rate_limit,
      maxUnverifiedBytes: read.max_unverified_bytes,
      scriptConcurrency: read.script_concurrency,
      allowWeakSecrets: read.allow_weak_secrets,
      maxBodyBytes: read.max_body_bytes,
      secret: read.secret === '' ? undefined : read.secret,
      publicUrl: read.public_url?.replace(/\/+$/, ''),
    }),
    findings,
  };
}

/** Whether both listen at the same address with the same kind of HTTP server (CFG-2). */
export function sameListener(one: Settings, other: Settings): boolean {
  return (
    (['enabled', 'host', 'port'] as const).every((key) => one.webhook[key] === other.webhook[key]) &&
    one.gateway.front === other.gateway.front
  );
}

function readEnabled(webhook: JsonObject, env: Env, findings: VariableFinding[]): boolean {
  const given = env.WEBHOOK_ENABLED;
  const read = given === undefined ? false : bools.get(given.toLowerCase());
  if (read === undefined) {
    findings.push(malformed('WEBHOOK_ENABLED', 'true/1/yes/on or false/0/no/off'));
  }
  if (typeof webhook.enabled === 'boolean') return webhook.enabled;
  // An unreadable value counts as true; read as false, it would hide the finding that stops the adapter.
  return webhook.enabled !== undefined || (read ?? true);
}

function readPort({ WEBHOOK_PORT: given = '' }: Env, findings: VariableFinding[]): number | undefined {
  if (given === '') return undefined;
  if (/^\d{1,5}$/.test(given) && Number(given) <= port.maximum) return Number(given);
  findings.push(malformed('WEBHOOK_PORT', 'a whole number from 0 to 65535'));
  return undefined;
}

function malformed(variable: string, form: string): VariableFinding {
  return { variable, message: `${variable} must be ${form}`, code: 'variable-malformed' };
}
