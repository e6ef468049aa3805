/**
 * The schema of `config.yaml`: the single source of its validator and of the JSON Schema for editors.
 * @see CFG-4 in docs/specification.md
 */

import { maxTimerSeconds } from '../base/timer.ts';
import { agentSchema } from './agent-settings.ts';
import { platformSchemas } from './platform-settings.ts';
import { routeSchema } from './route.ts';
import { bindAddress, mapping, port, text } from './schema-parts.ts';
import { serverEntrySchema } from './server-entry.ts';
import { listenerKeys } from './webhook-settings.ts';

export const gatewaySchema = {
  ...mapping,
  properties: {
    multiplex_profiles: { type: 'boolean', default: false, description: 'Serve /p/<profile>/webhooks/<route>.' },
    front: { enum: ['auto', 'uws', 'node'], default: 'auto', description: 'The HTTP server.' },
    journal: {
      enum: ['lmdb', 'memory', 'postgres'],
      default: 'lmdb',
      description: '`postgres` keeps it in a database, `memory` forgets everything at exit.',
    },
    postgres: {
      ...mapping,
      properties: {
        url: {
          ...text,
          minLength: 1,
          description: 'Where the journal `postgres` is; write a ${VAR} that holds it.',
        },
        pool: {
          type: 'integer',
          minimum: 1,
          maximum: 100,
          default: 4,
          description: 'Connections that read the journal, beside four others.',
        },
      },
      description: 'The database of the journal.',
    },
    node: {
      ...text,
      minLength: 1,
      description: 'The name of this gateway among those on one database; its machine and its home unless given.',
    },
    drain_timeout_seconds: {
      type: 'number',
      minimum: 0,
      maximum: maxTimerSeconds,
      default: 30,
      description: 'How long runs may end after SIGTERM.',
    },
    history: {
      ...mapping,
      properties: {
        max_age_hours: {
          type: 'number',
          exclusiveMinimum: 0,
          default: 168,
          description: 'Older events, runs and deliveries are pruned.',
        },
        max_megabytes: {
          type: 'number',
          exclusiveMinimum: 0,
          default: 1_024,
          description: 'The oldest are pruned beyond this size.',
        },
      },
      default: {},
      description: 'How much history is kept.',
    },
  },
  description: 'The daemon.',
} as const;

export const inspectorSchema = {
  ...mapping,
  properties: {
    enabled: { type: 'boolean', default: true, description: 'false: no page, no metrics, no readiness.' },
    host: { ...bindAddress, default: '127.0.0.1' },
    port: { ...port, default: 8645, description: 'Listen port; 0 chooses a free one.' },
    scrape_token: { ...text, minLength: 1, description: 'What /metrics and /ready ask for as a bearer token.' },
    public_url: {
      ...text,
      // A reference is checked once it is resolved.
      pattern: '^https://[^/?#@]+/?$|\\$\\{',
      description: 'Where a proxy serves the page by HTTPS, a host without a path, such as https://agent.example.com.',
    },
    users: {
      type: 'object',
      additionalProperties: {
        ...mapping,
        required: ['password'],
        properties: {
          password: { ...text, minLength: 1, description: 'What the user signs in with.' },
          role: { enum: ['operator', 'reader'], description: 'operator unless given; a reader changes nothing.' },
        },
      },
      description: 'Who may sign in on the page with a password, by name.',
    },
  },
  description: 'The inspector page, the metrics and the readiness.',
} as const;

export const telemetrySchema = {
  ...mapping,
  properties: {
    otlp_endpoint: {
      ...text,
      minLength: 1,
      description: 'Where spans are sent, by OTLP over HTTP, such as http://localhost:4318.',
    },
  },
  description: 'Traces.',
} as const;

export const logSchema = {
  ...mapping,
  properties: {
    events: {
      enum: ['summary', 'all'],
      default: 'summary',
      description:
        'Under load, accepted events share one line a second (summary), or each has its own (all); the history holds all of them.',
    },
  },
  description: 'The log.',
} as const;

/** The adapter's keys, which may be under `extra` or directly under `platforms.webhook`. */
const webhookKeys = {
  ...listenerKeys,
  routes: { type: 'object', additionalProperties: routeSchema, description: 'Route name to route.' },
} as const;

const webhookSchema = {
  ...mapping,
  description: 'The webhook adapter.',
  properties: {
    enabled: { type: 'boolean', default: false, description: 'Switches the adapter on.' },
    extra: {
      ...mapping,
      properties: webhookKeys,
      description: 'Another place for the keys beside it; it wins.',
    },
    ...webhookKeys,
  },
} as const;

export const homeSchema = {
  ...mapping,
  properties: {
    workspace: {
      ...text,
      minLength: 1,
      description:
        'The value of `${workspaceFolder}`, and the folder in which stdio servers start; without it they start in the home.',
    },
    mcp_servers: { type: 'object', additionalProperties: serverEntrySchema, description: 'Server name to entry.' },
    platforms: {
      ...mapping,
      properties: { webhook: webhookSchema, ...platformSchemas },
      description: 'The webhook adapter and the delivery targets.',
    },
    agent: agentSchema,
    gateway: gatewaySchema,
    inspector: inspectorSchema,
    telemetry: telemetrySchema,
    log: logSchema,
  },
  patternProperties: { '^x-': { description: 'Not read: a place for anchors.' } },
} as const;

/** The document that editors read: `# yaml-language-server: $schema=…/docs/config.schema.json`. */
export function configSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'config.yaml of the agent gateway',
    ...homeSchema,
  };
}
