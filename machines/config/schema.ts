/**
 * The schema of `config.yaml`, the one source of its validator and of the JSON Schema that editors use.
 * @see CFG-4 in docs/specification.md
 */

import { longestTimerSeconds } from '../base/timer.ts';
import { platformSchemas } from './platform-settings.ts';
import { routeSchema } from './route.ts';
import { serverEntrySchema } from './server-entry.ts';

const text = { type: 'string' } as const;

/** Of a model. */
const prices = {
  type: 'object',
  additionalProperties: false,
  required: ['input_per_million', 'output_per_million'],
  properties: {
    input_per_million: { type: 'number', minimum: 0 },
    output_per_million: { type: 'number', minimum: 0 },
  },
} as const;

/** The adapter's own keys, which may stand under `extra` or directly under `platforms.webhook`. */
const webhookKeys = {
  host: { ...text, minLength: 1, default: '0.0.0.0', description: 'Bind address.' },
  port: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8644,
    description: 'Listen port; 0 chooses a free one.',
  },
  secret: { ...text, description: 'Global fallback secret.' },
  public_url: {
    ...text,
    pattern: '^https?://[^/?#]+(?:/[^?#]*)?$',
    description:
      'Where senders reach this listener, such as https://hooks.example.com; for sources that sign the address.',
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
  routes: { type: 'object', additionalProperties: routeSchema, description: 'Route name to route.' },
} as const;

const webhookSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'The webhook adapter.',
  properties: {
    enabled: { type: 'boolean', default: false, description: 'Switches the adapter on.' },
    extra: { type: 'object', additionalProperties: false, properties: webhookKeys },
    ...webhookKeys,
  },
} as const;

export const homeSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    workspace: {
      ...text,
      minLength: 1,
      description:
        'Folder that `${workspaceFolder}` stands for and that stdio servers start in; they start in the home without it.',
    },
    mcp_servers: { type: 'object', additionalProperties: serverEntrySchema, description: 'Server name to entry.' },
    platforms: {
      type: 'object',
      additionalProperties: false,
      properties: { webhook: webhookSchema, ...platformSchemas },
      description: 'The webhook adapter and the delivery targets.',
    },
    agent: {
      type: 'object',
      additionalProperties: false,
      properties: {
        runner: { enum: ['model', 'command', 'echo'], default: 'echo', description: 'What runs the agent.' },
        command: { type: 'array', items: text, minItems: 1, description: 'Argument vector of the command runner.' },
        env: {
          type: 'array',
          items: { ...text, pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
          description:
            'Variables of .env or the environment that the program has; those of .env to which nothing else refers without it.',
        },
        timeout_seconds: { type: 'number', exclusiveMinimum: 0, maximum: longestTimerSeconds, default: 600 },
        concurrency: { type: 'integer', minimum: 1, default: 4, description: 'Runs at the same time.' },
        on_interrupted: {
          enum: ['rerun', 'report'],
          default: 'rerun',
          description: 'What becomes of a run that a crash cut off.',
        },
        model: {
          type: 'object',
          additionalProperties: false,
          required: ['provider', 'base_url', 'name'],
          properties: {
            provider: { enum: ['openai-compatible', 'anthropic'], description: 'What the endpoint speaks.' },
            base_url: {
              ...text,
              description: 'Address of the endpoint, up to and without /chat/completions or /v1/messages.',
            },
            api_key: { ...text, description: 'Sent as a bearer token, or as x-api-key to Anthropic.' },
            name: { ...text, minLength: 1, description: 'Name of the model.' },
            max_steps: { type: 'integer', minimum: 1, default: 20, description: 'Questions to the model in one run.' },
            max_tokens: { type: 'integer', minimum: 1, description: 'Longest answer, in tokens.' },
            prices: { ...prices, description: 'What a million tokens cost; runs then tell their cost.' },
            other_prices: {
              type: 'object',
              additionalProperties: prices,
              description: 'The same of other models of the endpoint, by name, for cron jobs that ask for one.',
            },
          },
          description: 'The endpoint of the model runner, of `agent chat` and of sampling.',
        },
        web_search: {
          type: 'object',
          additionalProperties: false,
          required: ['base_url'],
          properties: {
            provider: { enum: ['searxng'], default: 'searxng', description: 'What the endpoint speaks.' },
            base_url: { ...text, description: 'Address of the endpoint, without /search.' },
            api_key: { ...text, description: 'Sent as a bearer token.' },
          },
          description: 'Where the tool web_search asks; without it the tool is not offered.',
        },
      },
      description: 'How agents run.',
    },
    gateway: {
      type: 'object',
      additionalProperties: false,
      properties: {
        multiplex_profiles: { type: 'boolean', default: false, description: 'Serve /p/<profile>/webhooks/<route>.' },
        front: { enum: ['auto', 'uws', 'node'], default: 'auto', description: 'The HTTP server.' },
        journal: {
          enum: ['lmdb', 'memory', 'postgres'],
          default: 'lmdb',
          description: '`postgres` keeps it in a database, `memory` forgets everything at exit.',
        },
        postgres: {
          type: 'object',
          additionalProperties: false,
          properties: {
            url: {
              ...text,
              minLength: 1,
              description: 'Where the journal `postgres` is; write a ${VAR} that holds it.',
            },
          },
          description: 'The database of the journal.',
        },
        drain_timeout_seconds: {
          type: 'number',
          minimum: 0,
          maximum: longestTimerSeconds,
          default: 30,
          description: 'How long runs may end after SIGTERM.',
        },
        history: {
          type: 'object',
          additionalProperties: false,
          properties: {
            max_age_hours: { type: 'number', exclusiveMinimum: 0, default: 168 },
            max_megabytes: { type: 'number', exclusiveMinimum: 0, default: 1_024 },
          },
          description: 'How much history is kept.',
        },
      },
      description: 'The daemon.',
    },
    inspector: {
      type: 'object',
      additionalProperties: false,
      properties: {
        enabled: { type: 'boolean', default: true },
        host: { ...text, minLength: 1, default: '127.0.0.1' },
        port: { type: 'integer', minimum: 0, maximum: 65_535, default: 8645 },
        scrape_token: { ...text, minLength: 1, description: 'What /metrics and /ready ask for as a bearer token.' },
      },
      description: 'The inspector page, the metrics and the readiness.',
    },
    telemetry: {
      type: 'object',
      additionalProperties: false,
      properties: {
        otlp_endpoint: { ...text, minLength: 1 },
      },
      description: 'Traces.',
    },
    log: {
      type: 'object',
      additionalProperties: false,
      properties: {
        events: {
          type: 'string',
          enum: ['summary', 'all'],
          default: 'summary',
          description:
            'Under load, accepted events share one line a second (summary), or each has its own (all); the history holds all of them.',
        },
      },
      description: 'The log.',
    },
  },
} as const;

/** The document that editors read: `# yaml-language-server: $schema=…/docs/config.schema.json`. */
export function configSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'config.yaml of the agent gateway',
    ...homeSchema,
  };
}
