/**
 * The life of one inbound request, in the specified order: size, route, rate, body, signature, payload, filters, script,
 * texts, claim, dispatch, answer. Each state evaluates one rule; a rule that decides the answer ends the request. The wiring
 * provides rules and actions by name; `reply.ts` has the answers' texts.
 * @see RTE-3, DIS-1 and INS-1 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import type { LaidOut } from '../base/compile.ts';
import { effect, itsOutput, promisePlaceholder } from '../base/declare.ts';
import type { JsonObject } from '../base/json.ts';
import type { ProfileName } from '../base/names.ts';
import type { NoticePlace } from '../config/notice-place.ts';
import type { Route } from '../config/route.ts';
import { isCertified } from '../config/sources.ts';
import { type Outcome, reasonStarts } from './reply.ts';
import type { FollowedPlace } from './responses.ts';
import type { ScriptResult } from './script-outcome.ts';
import type { SignedContent } from './signature.ts';

export interface RequestInput {
  /** The key of the exchange, and of the event if one is accepted. */
  readonly id: string;
  /**
   * A replayed event was verified when it first came, and an event of an array with its request; the owner submits what only
   * its sender could sign (SUB-4). None of them takes a slot of the sender's quota.
   */
  readonly origin: 'http' | 'replay' | 'part' | 'owner';
  readonly method: string;
  readonly path: string;
  readonly declaredBytes?: number | undefined;
  readonly receivedAtMs: number;
  readonly replay?: Replay | undefined;
}

/** What a replay repeats, and what a person changed (DUR-2). */
interface Replay {
  /** The key of the event that is replayed. */
  readonly of: string;
  /** The payload, event type or route was changed. */
  readonly isEdited?: true | undefined;
  /** Nothing is delivered: the response is kept in the history. */
  readonly isDry?: true | undefined;
  /** One of several: refused if another replay of several has accepted the event. */
  readonly isOnce?: true | undefined;
  /** The event type that replaces the request's. */
  readonly event?: string | undefined;
}

/** What happens to an event that passed every rule; `split`: a request whose body is an array is not an event itself. */
export type PlanKind = 'run' | 'group' | 'cron' | 'direct' | 'split';

export interface RequestContext extends RequestInput {
  /** The route when the request came; a reload does not change it midway. */
  readonly route?: Route | undefined;
  readonly profile?: ProfileName | undefined;
  readonly scheme?: string | undefined;
  /** What the accepted signature covers; absent if nothing is signed (SEC-6). */
  readonly signature?: SignedContent | undefined;
  /** What the last rule takes of an allowance: a slot of the rate window, or a handshake. */
  readonly takes?: 'slot' | 'handshake' | undefined;
  readonly event?: string | undefined;
  readonly deliveryId?: string | undefined;
  readonly payload?: JsonObject | undefined;
  readonly plan?: PlanKind | undefined;
  readonly prompt?: string | undefined;
  readonly deliverExtra?: JsonObject | undefined;
  /** Where the response is sent instead, if the route has a list. */
  readonly deliverTo?: readonly FollowedPlace[] | undefined;
  readonly onFailure?: NoticePlace | undefined;
  /** What the script did with the payload. */
  readonly script?: 'replaced' | 'annotated' | undefined;
  /** The rendered coalescing key, if the route coalesces and the key resolves. */
  readonly groupKey?: string | undefined;
  /** The key of the run or delivery that the event led to. */
  readonly work?: string | undefined;
  /** The reason for the outcome, for people: the condition that failed, the value that it saw. */
  readonly reason?: string | undefined;
  /** The gateway's time to answer ended while the claim was being written. */
  readonly isLate?: true | undefined;
  /** Set once; a request with an outcome is decided. */
  readonly outcome?: Outcome | undefined;
}

export type RequestEvent =
  /** The gateway stops, and its time is over: waiting senders are asked to retry. */
  | { readonly type: 'request.drain' }
  | { readonly type: 'body.read' }
  | { readonly type: 'body.overflowed' }
  /** Other unverified bodies leave no room for this one. */
  | { readonly type: 'body.crowded' }
  | { readonly type: 'body.aborted' }
  /** The sender of a direct delivery has hung up before its answer. */
  | { readonly type: 'sender.left' }
  | { readonly type: 'claim.granted'; readonly work?: string | undefined; readonly reason?: string | undefined }
  | { readonly type: 'claim.duplicate'; readonly reason?: string | undefined }
  /** A direct delivery that may still fail has claimed the id or the signature. */
  | { readonly type: 'claim.pending' }
  | { readonly type: 'claim.unavailable'; readonly reason: string }
  /** Every event of an array is answered. */
  | { readonly type: 'parts.settled'; readonly outcome: Outcome; readonly reason?: string | undefined }
  | { readonly type: 'delivery.settled'; readonly delivered: boolean; readonly reason?: string };

export interface ScriptInput {
  readonly id: string;
  readonly route: Route;
  readonly payload: JsonObject;
}

/** The output for the pool when the request ends. */
export type RequestOutput = RequestContext;

const stopped = (before: string) =>
  ({
    target: 'answered',
    actions: {
      type: 'decide',
      params: { outcome: { kind: 'draining' }, reason: `the gateway stopped before the ${before} was decided` },
    },
  }) as const;
/** Nothing of the request is on disk yet; its sender repeats it. */
const turnedAway = stopped('request');
/** The delivery is on disk and continues separately; a repeated request gets its outcome. */
const leftBehind = stopped('delivery');

export const webhookRequestMachine = setup({
  types: {
    input: {} as RequestInput,
    context: {} as RequestContext,
    events: {} as RequestEvent,
    output: {} as RequestOutput,
  },
  actors: {
    runScript: promisePlaceholder<ScriptResult, ScriptInput>('runScript'),
    fetchCertificate: promisePlaceholder<void, RequestContext>('fetchCertificate'),
    confirmSubscription: promisePlaceholder<Pick<RequestContext, 'outcome' | 'reason'>, RequestContext>(
      'confirmSubscription',
    ),
  },
  actions: {
    checkSize: effect('checkSize'),
    findRoute: effect('findRoute'),
    checkRate: effect('checkRate'),
    readBody: effect('readBody'),
    verifySignature: effect('verifySignature'),
    takeAllowance: effect('takeAllowance'),
    noteDeprecated: effect('noteDeprecated'),
    parsePayload: effect('parsePayload'),
    splitBody: effect('splitBody'),
    matchEvent: effect('matchEvent'),
    readScript: (_, _result: ScriptResult) => effect('readScript')(),
    renderTexts: effect('renderTexts'),
    claimDelivery: effect('claimDelivery'),
    dispatchPlan: effect('dispatchPlan'),
    leaveDelivery: effect('leaveDelivery'),
    answer: effect('answer'),
    decide: assign((_, params: Pick<RequestContext, 'outcome' | 'reason'>) => params),
    rememberClaim: assign((_, params: Pick<RequestContext, 'work' | 'reason'>) => params),
    rememberDrain: assign({ isLate: true }),
    decideDispatched: assign(({ context }) => ({ outcome: dispatchedOutcome(context) })),
  },
  guards: {
    isDecided: ({ context }) => context.outcome !== undefined,
    isHandedIn: ({ context }) => context.origin === 'owner',
    isVerified: ({ context }) => context.origin !== 'http',
    isToConfirm: ({ context: { outcome } }) => outcome?.kind === 'handshake' && outcome.visitField !== undefined,
    isSplit: ({ context }) => context.plan === 'split',
    hasScript: ({ context }) => context.route?.script !== undefined,
    isCertified: ({ context }) => isCertified(context.route?.sender),
    isLate: ({ context }) => context.isLate === true,
  },
}).createMachine({
  id: 'webhookRequest',
  context: ({ input }) => requestContext(input),
  initial: 'sizing',
  output: ({ context }) => context,
  states: {
    sizing: {
      description: 'Compares the declared length with the cap before a byte of the body is read.',
      meta: { rule: 'LIM-1' },
      tags: ['working'],
      entry: 'checkSize',
      always: [{ guard: 'isDecided', target: 'answered' }, { target: 'routing' }],
    },
    routing: {
      description: 'Finds the route by name and profile prefix, and refuses other methods than POST.',
      meta: { rule: 'RTE-3' },
      tags: ['working'],
      entry: 'findRoute',
      always: [
        { guard: 'isDecided', target: 'answered', actions: 'takeAllowance' },
        { guard: 'isHandedIn', target: 'verifying' },
        { guard: 'isVerified', target: 'parsing' },
        { target: 'throttling' },
      ],
    },
    throttling: {
      description: "Turns the request away while the route's window is full.",
      meta: { rule: 'LIM-2' },
      tags: ['working'],
      entry: 'checkRate',
      always: [{ guard: 'isDecided', target: 'answered' }, { target: 'readingBody' }],
    },
    readingBody: {
      description: 'Waits for the complete body, which is cut off at the limit as it streams.',
      meta: { rule: 'LIM-1' },
      tags: ['working'],
      entry: 'readBody',
      on: {
        'body.read': [{ guard: 'isCertified', target: 'certifying' }, { target: 'verifying' }],
        'body.overflowed': {
          target: 'answered',
          actions: { type: 'decide', params: { outcome: { kind: 'tooLarge' } } },
        },
        'body.crowded': {
          target: 'answered',
          actions: {
            type: 'decide',
            params: {
              outcome: { kind: 'overloaded' },
              reason: `${reasonStarts.bodies}not yet verified fill max_unverified_bytes`,
            },
          },
        },
        'body.aborted': 'abandoned',
        'request.drain': turnedAway,
      },
    },
    certifying: {
      description:
        'Waits until the certificate or the keys that the signature needs are fetched, for 3 s; kept ones are at hand.',
      meta: { rule: 'SRC-1' },
      tags: ['working'],
      invoke: {
        id: 'fetchCertificate',
        src: 'fetchCertificate',
        input: ({ context }) => context,
        onDone: 'verifying',
        onError: 'verifying',
      },
      on: { 'request.drain': turnedAway },
    },
    verifying: {
      description:
        'Checks the signature by the scheme of the request; a genuine one takes a slot of the window. What the owner hands in has none.',
      meta: { rule: 'SIG-1' },
      tags: ['working'],
      entry: ['verifySignature', 'takeAllowance', 'noteDeprecated'],
      always: [
        { guard: 'isToConfirm', target: 'confirming' },
        { guard: 'isDecided', target: 'answered' },
        { target: 'parsing' },
      ],
    },
    confirming: {
      description: 'Visits the address by which the sender asks for a confirmation, and waits for 3 s.',
      meta: { rule: 'SRC-3' },
      tags: ['working'],
      invoke: {
        id: 'confirmSubscription',
        src: 'confirmSubscription',
        input: ({ context }) => context,
        onDone: { target: 'answered', actions: { type: 'decide', params: itsOutput } },
        onError: turnedAway,
      },
      on: { 'request.drain': turnedAway },
    },
    parsing: {
      description: 'Reads the payload, the event type and the delivery id.',
      meta: { rule: 'LIM-3' },
      tags: ['working'],
      entry: 'parsePayload',
      always: [
        { guard: 'isDecided', target: 'answered' },
        { guard: 'isSplit', target: 'splitting' },
        { target: 'matching' },
      ],
    },
    splitting: {
      description: 'Hands on each item of an array as an event of its own and waits for the answers of all.',
      meta: { rule: 'SRC-4' },
      tags: ['working'],
      entry: 'splitBody',
      on: {
        'parts.settled': {
          target: 'answered',
          actions: { type: 'decide', params: ({ event: { outcome, reason } }) => ({ outcome, reason }) },
        },
      },
    },
    matching: {
      description: "Checks the event type against the route's events, and the payload against its filters.",
      meta: { rule: 'FIL-1' },
      tags: ['working'],
      entry: 'matchEvent',
      always: [
        { guard: 'isDecided', target: 'answered' },
        { guard: 'hasScript', target: 'scripting' },
        { target: 'rendering' },
      ],
    },
    scripting: {
      description: "Runs the route's script with the payload on its standard input.",
      meta: { rule: 'SCR-2' },
      tags: ['working'],
      invoke: {
        id: 'runScript',
        src: 'runScript',
        input: ({ context }) => ({
          id: context.id,
          route: context.route as Route,
          payload: context.payload as JsonObject,
        }),
        onDone: { target: 'transforming', actions: { type: 'readScript', params: itsOutput } },
      },
      on: { 'request.drain': turnedAway },
    },
    transforming: {
      description: 'Takes the payload as the script left it, or ends where the script ignored the request.',
      meta: { rule: 'SCR-2' },
      tags: ['working'],
      always: [{ guard: 'isDecided', target: 'answered' }, { target: 'rendering' }],
    },
    rendering: {
      description:
        'Fills the prompt, the delivery texts and the coalescing key from the payload, and plans what follows.',
      meta: { rule: 'TPL-1' },
      tags: ['working'],
      entry: 'renderTexts',
      always: [{ guard: 'isDecided', target: 'answered' }, { target: 'claiming' }],
    },
    claiming: {
      description: 'Waits until the delivery id and the signature are claimed and the event is on disk, in one commit.',
      meta: { rule: 'IDM-1' },
      tags: ['working'],
      entry: 'claimDelivery',
      on: {
        'claim.granted': {
          target: 'dispatching',
          actions: { type: 'rememberClaim', params: ({ event: { work, reason } }) => ({ work, reason }) },
        },
        'claim.duplicate': {
          target: 'answered',
          actions: {
            type: 'decide',
            params: ({ context, event }) => ({
              outcome: { kind: 'duplicate', deliveryId: context.deliveryId ?? '' },
              reason: event.reason,
            }),
          },
        },
        'claim.pending': {
          target: 'answered',
          actions: {
            type: 'decide',
            params: {
              outcome: { kind: 'pending' },
              reason: 'an earlier request with this id or signature is still being delivered',
            },
          },
        },
        'claim.unavailable': {
          target: 'answered',
          actions: {
            type: 'decide',
            params: ({ event }) => ({ outcome: { kind: 'unavailable' }, reason: event.reason }),
          },
        },
        // The journal may already have accepted the claim: wait for its verdict, or a granted event would be lost.
        'request.drain': { actions: 'rememberDrain' },
      },
    },
    dispatching: {
      description:
        'Hands the event on; only a direct delivery is waited for, not after the time to stop, and not once its sender has hung up.',
      meta: { rule: 'DIS-1' },
      tags: ['working'],
      entry: 'dispatchPlan',
      always: [
        { guard: ({ context }) => context.plan !== 'direct', target: 'answered', actions: 'decideDispatched' },
        { ...leftBehind, guard: 'isLate' },
      ],
      on: {
        'request.drain': leftBehind,
        'sender.left': {
          target: 'answered',
          actions: [
            'leaveDelivery',
            {
              type: 'decide',
              params: ({ context }) => ({
                outcome: dispatchedOutcome(context),
                reason: 'the sender hung up before the delivery was decided; it continues like that of a run',
              }),
            },
          ],
        },
        'delivery.settled': {
          target: 'answered',
          actions: { type: 'decide', params: ({ context, event }) => deliveredOutcome(context, event) },
        },
      },
    },
    answered: {
      description: 'The reply of the table has been written.',
      meta: { rule: 'DIS-1' },
      tags: ['ended'],
      type: 'final',
      entry: 'answer',
    },
    abandoned: {
      description: 'The client left before its body was complete; there is no one to answer.',
      meta: { rule: 'LIM-1' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

/**
 * Makes a context from an input, and copies one. Lists every field, so that all contexts have the same hidden class and are
 * copied in one step; a spread of so many fields costs ten times as much, and half a kilobyte.
 */
export function requestContext(known: RequestContext): LaidOut<RequestContext> {
  return {
    id: known.id,
    origin: known.origin,
    method: known.method,
    path: known.path,
    declaredBytes: known.declaredBytes,
    receivedAtMs: known.receivedAtMs,
    replay: known.replay,
    route: known.route,
    profile: known.profile,
    scheme: known.scheme,
    signature: known.signature,
    takes: known.takes,
    event: known.event,
    deliveryId: known.deliveryId,
    payload: known.payload,
    plan: known.plan,
    prompt: known.prompt,
    deliverExtra: known.deliverExtra,
    deliverTo: known.deliverTo,
    onFailure: known.onFailure,
    script: known.script,
    groupKey: known.groupKey,
    work: known.work,
    reason: known.reason,
    isLate: known.isLate,
    outcome: known.outcome,
  };
}

/** The answer to an event that is on disk and no longer depends on the request. */
function dispatchedOutcome({ plan, route, event, deliveryId }: RequestContext): Outcome {
  const kind = plan === 'group' ? 'coalesced' : plan === 'cron' ? 'cron' : 'accepted';
  return { kind, route: route?.name ?? '', event: event ?? '', deliveryId: deliveryId ?? '' };
}

function deliveredOutcome(
  context: RequestContext,
  event: Extract<RequestEvent, { type: 'delivery.settled' }>,
): Pick<RequestContext, 'outcome' | 'reason'> {
  if (!event.delivered)
    return { outcome: { kind: 'deliveryFailed' }, ...(event.reason === undefined ? {} : { reason: event.reason }) };
  return {
    outcome: {
      kind: 'delivered',
      route: context.route?.name ?? '',
      target: context.route?.deliver ?? '',
      deliveryId: context.deliveryId ?? '',
    },
  };
}
