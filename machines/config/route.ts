/**
 * A route after its configuration was read: plain JSON, without secrets, with all defaults. The same shape serves routes of
 * `config.yaml` and dynamic subscriptions.
 * @see RTE-1, RTE-2 and SUB-1 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import type { ProfileName, RouteName } from '../base/names.ts';
import { mapping, someSeconds, text } from './schema-parts.ts';
import { type Place, placeSchema, type SignatureScheme, signatureSchema } from './signature-scheme.ts';
import { type BodyShape, bodyShapes, type SourceName, sourceNames } from './sources.ts';
import { targetChoices } from './targets.ts';

const texts = { type: 'array', items: text } as const;
const target = [{ enum: targetChoices, description: 'a target such as slack' }, text] as const;

/** The operators of a condition (FIL-2). */
export const filterOperators = [
  'exists',
  'missing',
  'equals',
  'not_equals',
  'contains',
  'in',
  'in_file',
  'regex',
] as const;
export type FilterOperator = (typeof filterOperators)[number];

const conditionKeys: Readonly<Record<FilterOperator | 'field' | 'all' | 'any' | 'not', string>> = {
  field: 'What the condition is about: a dotted path, event, or headers.<Name>.',
  exists: 'true: the field exists.',
  missing: 'true: the field does not exist.',
  equals: 'The field has exactly this value.',
  not_equals: 'The field has another value, or does not exist.',
  contains: 'The field is a text or a list that contains this, or an object with this key.',
  in: 'The field is one of these values.',
  in_file: 'The field is an entry of this file in the home.',
  regex: 'The field is a text in which this pattern is found.',
  all: 'All of these conditions match.',
  any: 'At least one of these conditions matches.',
  not: 'This condition does not match.',
};

/** Only for completion in editors: `filter.ts` defines valid conditions. */
const condition = {
  type: 'object',
  properties: Object.fromEntries(Object.entries(conditionKeys).map(([key, description]) => [key, { description }])),
} as const;

/** The steps of a run that `on` can name (DLV-6). */
const followedSteps = ['accepted', 'approval', 'finished', 'failed'] as const;
export type FollowedStep = (typeof followedSteps)[number];

const on = { type: 'array', items: { enum: followedSteps }, minItems: 1 } as const;

/** An entry of a `deliver` list (DLV-7). */
export const deliverEntry = {
  ...mapping,
  required: ['to'],
  properties: {
    to: { anyOf: target, description: 'Delivery target.' },
    extra: { type: 'object', default: {}, description: 'Settings of the target, as in deliver_extra.' },
    when: { type: 'array', items: condition, default: [], description: 'Conditions on the event, as in filters.' },
    text: {
      ...text,
      description: 'Template of the text; {response} is replaced by the response. Absent: the response.',
    },
    on: { ...on, description: 'What an entry of http reports of the runs, as on of the route.' },
  },
} as const;

export const routeSchema = {
  ...mapping,
  description: 'One webhook route: who may call it, what passes, and what is done.',
  properties: {
    enabled: { type: 'boolean', default: true, description: 'false answers 403.' },
    events: { ...texts, default: [], description: 'Event types to accept; empty accepts all.' },
    secret: {
      anyOf: [text, { ...texts, minItems: 1 }],
      description:
        'HMAC secret or token, or a list of them while one is replaced; INSECURE_NO_AUTH skips validation on a loopback bind.',
    },
    source: { enum: sourceNames, description: 'The provider that sends: how it signs and where its ids are.' },
    signature: signatureSchema,
    body: {
      enum: bodyShapes,
      description:
        'What a body may be: a JSON object; each: of an array each item is an event; raw: an array is one event, {"items": [...]}. Default: as the source has it, else object.',
    },
    verify_token: { ...text, minLength: 1, description: 'What the provider repeats when it asks for this address.' },
    delivery_id: { ...placeSchema, description: 'Where the id of the delivery is, if no source says so.' },
    profile: { ...text, description: 'The only profile whose prefix reaches this route.' },
    prompt: { ...text, description: 'Template of the prompt; without one, the complete payload.' },
    filters: { type: 'array', items: condition, default: [], description: 'Conditions, all of which must match.' },
    script: { ...text, minLength: 1, description: "Filter or transform script in the profile's scripts folder." },
    script_timeout_seconds: { ...someSeconds, default: 30, description: 'How long the script may take.' },
    skills: { ...texts, default: [], description: 'Skills; the first one found is loaded.' },
    toolsets: { ...texts, description: "Replaces the default toolset of this route's runs." },
    deliver: {
      anyOf: [
        ...target,
        { type: 'array', minItems: 1, items: deliverEntry, description: 'a list of {to, extra, when, text, on}' },
      ],
      default: 'log',
      description: 'Delivery target, or a list of targets with conditions and texts of their own.',
    },
    deliver_extra: { type: 'object', default: {}, description: 'Settings of the target; strings are templates.' },
    on_failure: {
      anyOf: target,
      description: 'Target that is notified of a failed run.',
    },
    on_failure_extra: {
      type: 'object',
      description:
        'Settings of that target, as in deliver_extra; absent: its home channel, or those of deliver for the same target.',
    },
    on: {
      ...on,
      description: 'What a route that delivers to http reports of its runs; absent: finished and failed.',
    },
    deliver_only: { type: 'boolean', default: false, description: 'Deliver the rendered prompt; no agent runs.' },
    allow_identical_bodies: {
      type: 'boolean',
      default: false,
      description: 'true runs each event with the same body where signatures hold no time; captured requests too.',
    },
    cron_job: { type: ['string', 'number'], description: 'Cron job to fire per event.' },
    coalesce: {
      ...mapping,
      required: ['key'],
      properties: {
        key: { ...text, minLength: 1, description: 'Field or template that names the entity.' },
        window_seconds: { ...someSeconds, default: 30, description: 'How long a batch waits for the next event.' },
        max_wait_seconds: { ...someSeconds, default: 300, description: 'How long a batch waits at most.' },
        mode: {
          enum: ['latest', 'batch'],
          default: 'latest',
          description: 'Whether the prompt has the newest event, or all events of the window.',
        },
      },
      description: 'Gather several events into one run.',
    },
    concurrency: {
      type: 'integer',
      minimum: 0,
      description: 'Runs of this route at the same time. With 0 its events are accepted and their runs wait.',
    },
    held: {
      type: 'boolean',
      default: false,
      description: 'Events are accepted and their runs wait, whatever concurrency says; `agent webhook hold` sets it.',
    },
    description: { ...text, description: 'What the route is for; shown in lists.' },
    created_at: { ...text, description: 'When a subscription was made.' },
  },
} as const;

/** What a template replaces; everything else in it is text (TPL-1). */
export const templateToken = /\{([A-Za-z0-9_.]+)\}/g;

/** A written condition of `filters` (FIL-1); `filter.ts` compiles it. */
export type ConditionSource = JsonObject;

interface CoalesceSettings {
  /** A dotted field or a template (COA-1). */
  readonly key: string;
  readonly windowMs: number;
  readonly maxWaitMs: number;
  /** Absent: `latest`. */
  readonly mode?: 'batch';
}

export interface Route {
  readonly name: RouteName;
  readonly source: 'static' | 'dynamic';
  /** The only profile whose prefix reaches this route; the default profile if none is named (PRF-1). */
  readonly profile: ProfileName;
  /** The provider whose requests are accepted (SRC-1). */
  readonly sender?: SourceName;
  /** The route's own signature scheme (SRC-2). */
  readonly signature?: SignatureScheme;
  readonly deliveryIdAt?: Place;
  /** Absent: the source's default, else `object`. */
  readonly body?: BodyShape;
  /** Where senders reach the listener, for schemes that sign the URL. */
  readonly publicUrl?: string;
  readonly enabled: boolean;
  /** Empty: all event types. */
  readonly events: readonly string[];
  /** Absent: the complete payload is the prompt. */
  readonly prompt?: string;
  readonly filters: readonly ConditionSource[];
  readonly script?: string;
  readonly scriptTimeoutMs: number;
  readonly skills: readonly string[];
  /** Replaces the default toolset when present (DIS-5). */
  readonly toolsets?: readonly string[];
  /** The target as configured, which may be an alias (DLV-5). */
  readonly deliver: string;
  readonly deliverExtra: JsonObject;
  /** All entries of a `deliver` list; the two keys above are those of the first (DLV-7). */
  readonly deliverTo?: readonly RouteDelivery[];
  /** The target that is notified of a failed run, as configured (DIS-4). */
  readonly onFailure?: string;
  readonly onFailureExtra?: JsonObject;
  /** The reported steps of its runs, if `deliver` is http alone (DLV-6). */
  readonly on?: readonly FollowedStep[];
  readonly deliverOnly: boolean;
  /** If the scheme signs no time: a repeated signature does not make an event a duplicate (SEC-6). */
  readonly allowIdenticalBodies: boolean;
  readonly cronJob?: string;
  readonly coalesce?: CoalesceSettings;
  /** Concurrent runs of this route; absent: only the global limit applies. */
  readonly concurrency?: number;
  /** Its runs wait (DIS-3). */
  readonly held?: true;
  readonly description?: string;
  readonly createdAt?: string;
}

/** An entry of `deliver`. */
export interface RouteDelivery {
  /** The target as configured. */
  readonly to: string;
  readonly extra: JsonObject;
  /** Conditions on the event; all must hold. */
  readonly when: readonly ConditionSource[];
  /** A template with `{response}` for the response; absent: the response alone. */
  readonly text?: string;
  /** The steps that an http entry reports; absent: only the response, as for other targets (DLV-6). */
  readonly on?: readonly FollowedStep[];
}

/** A step of a run that is reported in addition to the response. */
export type ReportedStep = Exclude<FollowedStep, 'finished'>;

/** Returns the steps that are reported in addition to the response. */
export function reportedSteps(steps: readonly FollowedStep[]): readonly ReportedStep[] {
  return steps.filter((step) => step !== 'finished');
}

/** The deliveries of a route, whether `deliver` is a target or a list. */
export function deliveriesOf({ deliver, deliverExtra, deliverTo, on }: Route): readonly RouteDelivery[] {
  return deliverTo ?? [{ to: deliver, extra: deliverExtra, when: [], ...(on === undefined ? {} : { on }) }];
}

/** How a route's requests are authenticated. Separate from the route, so that no chart's context contains it. */
export type RouteSecret =
  /** `older` secrets are valid too, while senders still use them. */
  | {
      readonly kind: 'shared';
      readonly secret: string;
      readonly older?: readonly string[];
      /** The token that the provider repeats in its handshake (SRC-2). */
      readonly verifyToken?: string;
    }
  | { readonly kind: 'insecure' };

/** All texts that must not be shown. */
export function textsOfSecret(secret: RouteSecret): readonly string[] {
  return secret.kind === 'shared' ? [secret.secret, ...(secret.older ?? [])] : [];
}

export interface RouteWithSecret {
  readonly route: Route;
  readonly secret: RouteSecret;
}
