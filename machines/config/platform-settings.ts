/**
 * One entry of `platforms` for a delivery target: its schema, the credentials that each platform needs, and what is missing
 * if it is enabled. Keys are only named here; each target's own file reads them.
 * @see CON-3, DLV-1 and DLV-5 in docs/specification.md
 */

import { defined, isJsonObject, type JsonObject } from '../base/json.ts';
import { maxTimerSeconds } from '../base/timer.ts';
import { declared } from './declared.ts';
import type { EntryFinding } from './diagnostic.ts';
import { refersToUnset, unresolvedReference } from './interpolate.ts';
import { mapping, someSeconds } from './schema-parts.ts';
import type { PlatformSettings } from './settings.ts';
import { canonicalTarget, targets } from './targets.ts';
import { isPlainAddress } from './validate.ts';

interface Credentials {
  /** Sets of keys, one of which must be complete; empty if the platform needs none. */
  readonly needs: readonly (readonly string[])[];
  /** Keys whose values are secret. */
  readonly secret?: readonly string[];
  readonly plain?: Readonly<Record<string, object>>;
}

/** For each target, also without an entry. */
export const defaultConcurrency = 4;
export const githubClient = 'gh';

const text = { type: ['string', 'number'] } as const;
const described = (description: string) => ({ ...text, description });

/** In the order of the list of targets; `log` has no settings. */
const credentials: Readonly<Record<string, Credentials>> = {
  github_comment: {
    needs: [],
    plain: { command: { type: 'string', minLength: 1, default: githubClient, description: "GitHub's own client." } },
  },
  telegram: {
    needs: [['token']],
    secret: ['token'],
    plain: { parse_mode: described('How the platform reads the text; plain unless given.') },
  },
  discord: { needs: [['token']], secret: ['token'] },
  slack: { needs: [['token'], ['url']], secret: ['token', 'url'] },
  signal: {
    needs: [],
    plain: { account: described('The number that the daemon sends from; needed where it has several.') },
  },
  sms: {
    needs: [
      ['account_sid', 'auth_token', 'from'],
      ['account_sid', 'auth_token', 'messaging_service_sid'],
      ['account_sid', 'api_key', 'api_secret', 'from'],
      ['account_sid', 'api_key', 'api_secret', 'messaging_service_sid'],
    ],
    secret: ['auth_token', 'api_secret'],
    plain: {
      account_sid: described('The account.'),
      api_key: described('A key of the account, with api_secret, instead of auth_token.'),
      from: described('The sending number.'),
      messaging_service_sid: described('A messaging service that chooses the number, instead of from.'),
    },
  },
  whatsapp: {
    needs: [['token', 'phone_number_id'], ['bridge_url']],
    secret: ['token'],
    plain: {
      phone_number_id: described('The sending number of the Cloud API.'),
      bridge_url: described('A bridge of your own instead of the Cloud API.'),
    },
  },
  matrix: {
    needs: [['token', 'api_base']],
    secret: ['token'],
    plain: { msgtype: { enum: ['m.text', 'm.notice'], description: 'What kind of message is sent.' } },
  },
  mattermost: { needs: [['token', 'api_base']], secret: ['token'] },
  homeassistant: { needs: [['token', 'api_base']], secret: ['token'] },
  email: {
    needs: [
      ['host', 'from'],
      ['host', 'username'],
    ],
    secret: ['password', 'access_token'],
    plain: {
      host: described('The SMTP server.'),
      port: { type: ['integer', 'string'], description: '587 unless given; 465 is TLS from the first byte.' },
      secure: { type: 'boolean', description: 'TLS from the first byte; true on port 465.' },
      require_tls: { type: 'boolean', default: true, description: 'No password travels unencrypted.' },
      username: described('The login of the SMTP server.'),
      from: described('The sender, such as `Ops <ops@example.org>`.'),
    },
  },
  dingtalk: {
    needs: [['access_token'], ['app_key', 'app_secret', 'robot_code']],
    secret: ['access_token', 'secret', 'app_secret'],
    plain: { app_key: described('The app.'), robot_code: described('The robot of the app.') },
  },
  feishu: { needs: [['app_id', 'app_secret']], secret: ['app_secret'], plain: { app_id: described('The app.') } },
  wecom: {
    needs: [['corp_id', 'corp_secret', 'agent_id'], ['robot_key']],
    secret: ['corp_secret', 'robot_key'],
    plain: { corp_id: described('The company.'), agent_id: described('The app that sends.') },
  },
  weixin: { needs: [['token']], secret: ['token'] },
  bluebubbles: {
    needs: [['password', 'api_base']],
    secret: ['password'],
    plain: { method: { enum: ['apple-script', 'private-api'], description: 'How the bridge sends.' } },
  },
  qqbot: { needs: [['app_id', 'client_secret']], secret: ['client_secret'], plain: { app_id: described('The bot.') } },
  gitlab_comment: { needs: [['token']], secret: ['token'] },
  gitea_comment: { needs: [['token', 'api_base']], secret: ['token'] },
  linear: { needs: [['token']], secret: ['token'] },
  jira: {
    needs: [['token', 'api_base']],
    secret: ['token'],
    plain: { email: described("The account of a token of Jira's cloud; none for a server's personal token.") },
  },
  sentry: {
    needs: [['token', 'organization']],
    secret: ['token'],
    plain: { organization: described("The organization's slug.") },
  },
  pagerduty: {
    needs: [['token', 'from']],
    secret: ['token'],
    plain: { from: described('The address of the account that writes the notes.') },
  },
  ntfy: { needs: [], secret: ['token'] },
  teams: { needs: [['url']], secret: ['url'] },
  google_chat: { needs: [['url']], secret: ['url'] },
  line: { needs: [['token']], secret: ['token'] },
  http: {
    needs: [['url', 'secret']],
    secret: ['secret', 'headers'],
    plain: {
      url: described('Where reports are posted; a token of the receiver belongs into headers.'),
      headers: {
        type: 'object',
        additionalProperties: text,
        description: 'More headers of each report, such as an Authorization that the receiver asks for.',
      },
    },
  },
};

const shared = {
  api_base: { type: 'string', description: "The platform's address, where it is not the usual one." },
  home_channel: { type: ['string', 'number'], description: 'Where texts go that name no chat_id.' },
  timeout_seconds: { ...someSeconds, default: 10, description: 'For one answer of the platform.' },
  concurrency: {
    type: 'integer',
    minimum: 1,
    default: defaultConcurrency,
    description: 'Deliveries at the same time.',
  },
  messages_per_minute: {
    type: 'number',
    exclusiveMinimum: 0,
    description: "Messages begun, each piece of a long text being one; the platform's own bound unless given.",
  },
  order_hold_seconds: {
    type: 'number',
    minimum: 0,
    maximum: maxTimerSeconds,
    default: 600,
    description: 'How long later texts of a chat wait for one that is tried again; 0 lets them pass at once.',
  },
  retries: {
    ...mapping,
    properties: {
      max_attempts: { type: 'integer', minimum: 1, default: 15, description: 'Tries in all.' },
      base_seconds: { ...someSeconds, default: 2, description: 'The first wait; each further one is twice as long.' },
      longest_seconds: { ...someSeconds, default: 3600, description: 'The longest wait.' },
    },
    default: {},
    description: 'How a delivery that failed is tried again before it becomes a dead letter.',
  },
} as const;

function schemaOf(target: string): object {
  const { secret = [], plain = {} } = credentials[target] ?? { needs: [] };
  const own = Object.fromEntries(secret.map((key) => [key, described('Secret; best as `${VAR}` from .env.')]));
  const description = `The delivery target ${target}.`;
  return {
    ...mapping,
    description,
    properties: { ...sharedBy(target), ...own, ...plain },
  };
}

function sharedBy(target: string) {
  // The GitHub client needs no `enabled`: it is installed or not.
  const enabled = {
    type: 'boolean',
    default: target === 'github_comment',
    description: 'Switches the target on.',
  } as const;
  return { enabled, ...shared };
}

const platforms = [...targets].filter(([name]) => name !== 'log');

/** The schema of each target by name, and of each alias, marked as deprecated so that nothing offers it. */
export const platformSchemas: Readonly<Record<string, object>> = Object.fromEntries([
  ...platforms.map(([name]) => [name, schemaOf(name)]),
  ...platforms.flatMap(([name, { alias }]) =>
    alias === undefined ? [] : [[alias, { ...schemaOf(name), description: `The same as ${name}.`, deprecated: true }]],
  ),
]);

/** The secret values of an entry. */
export function secretsOf(target: string, { options }: PlatformSettings): string[] {
  return (credentials[target]?.secret ?? []).flatMap((key) => textsOf(options[key]));
}

/** Findings about an interpolated entry that passed the schema. A disabled one may lack anything. */
export function checkPlatform(name: string, entry: JsonObject): readonly EntryFinding[] {
  const target = canonicalTarget(name) ?? name;
  if (!isEnabled(target, entry)) return [];
  const findings: EntryFinding[] = [];
  const { needs = [], secret = [], plain = {} } = credentials[target] ?? {};
  for (const key of new Set(['api_base', 'home_channel', ...secret, ...Object.keys(plain)])) {
    const unset = textsOf(entry[key])
      .map(unresolvedReference)
      .find((variable) => variable !== undefined);
    if (unset === undefined) continue;
    findings.push({
      path: [key],
      message: `target "${name}" has a ${key === 'headers' ? 'header' : key} that ${refersToUnset(unset)}`,
      code: 'credential-unresolved',
    });
  }
  for (const key of ['api_base', 'url'] as const) {
    const value = entry[key];
    if (typeof value !== 'string' || unresolvedReference(value) !== undefined || isPlainAddress(value)) continue;
    findings.push({
      path: [key],
      message: `target "${name}" has ${key === 'url' ? 'a' : 'an'} ${key} that is no http or https URL, or has a user name in it; write one such as https://chat.example.org`,
      code: 'platform-address',
    });
  }
  const lacking = lackingOf(needs, entry);
  if (lacking.length > 0) {
    findings.push({
      path: [],
      message: `target "${name}" lacks ${lacking.join(' and ')}; set platforms.${name}.${lacking.join(` and platforms.${name}.`)}, or enabled: false`,
      code: 'credential-missing',
    });
  }
  return findings;
}

/** What is missing from the login method that is closest to complete; from the first one if none was begun. */
function lackingOf(needs: Credentials['needs'], entry: JsonObject): readonly string[] {
  const ways = needs.map((keys) => ({ keys, absent: keys.filter((key) => isBlank(entry[key])) }));
  const begun = ways.filter(({ keys, absent }) => absent.length < keys.length);
  const [nearest] = begun.length === 0 ? ways : begun.sort((one, other) => one.absent.length - other.absent.length);
  return nearest?.absent ?? [];
}

export function readPlatform(name: string, entry: JsonObject, problem: string | undefined): PlatformSettings {
  const target = canonicalTarget(name) ?? name;
  const properties = sharedBy(target);
  const read = declared({ type: 'object', properties }, entry);
  const options = Object.fromEntries(Object.entries(entry).filter(([key]) => !Object.hasOwn(properties, key)));
  const { retries } = read;
  return defined({
    name,
    enabled: read.enabled,
    timeoutMs: read.timeout_seconds * 1_000,
    orderHoldMs: read.order_hold_seconds * 1_000,
    retries: {
      attempts: retries.max_attempts,
      baseDelayMs: retries.base_seconds * 1_000,
      maxDelayMs: retries.longest_seconds * 1_000,
    },
    options,
    apiBase: read.api_base,
    homeChannel: isBlank(read.home_channel) ? undefined : String(read.home_channel),
    concurrency: read.concurrency,
    perMinute: read.messages_per_minute,
    problem,
  });
}

/** An unreadable `enabled` counts as true, so that the rest of the entry is checked in the same pass. */
function isEnabled(target: string, { enabled = sharedBy(target).enabled.default }: JsonObject): boolean {
  return enabled !== false;
}

/** The strings of a value, which may be an object of strings. */
function textsOf(value: unknown): string[] {
  const values = isJsonObject(value) ? Object.values(value) : [value];
  return values.filter((one) => typeof one === 'string');
}

/** An empty value is no credential. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}
