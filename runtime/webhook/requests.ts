/**
 * Provides the rules and effects of the request chart: each rule with the facts it reads, each effect with its live
 * request.
 */

import { assign, fromPromise } from 'xstate';
import type { Certificates } from '../../actors/webhook/certificates.ts';
import type { ClaimDelivery, ClaimRequest } from '../../actors/webhook/claim-delivery.ts';
import type { EventDraft } from '../../actors/webhook/event-claims.ts';
import type { RunScript } from '../../actors/webhook/run-script.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { stringify } from '../../machines/base/json.ts';
import type { Route } from '../../machines/config/route.ts';
import { isConfirmUrl } from '../../machines/webhook/certificate.ts';
import { visited } from '../../machines/webhook/handshake.ts';
import type { EventRecord, SignatureHolder } from '../../machines/webhook/record.ts';
import { type HandshakeReply, replyFor, replyTo } from '../../machines/webhook/reply.ts';
import {
  checkRate,
  checkSize,
  findRoute,
  isClaimed,
  isRepeated,
  matchEvent,
  missingCertificate,
  parsePayload,
  type RequestFacts,
  type RuleInput,
  readScript,
  renderTexts,
  repeatReason,
  verifySignature,
} from '../../machines/webhook/request-rules.ts';
import { followedAt } from '../../machines/webhook/responses.ts';
import type { ScriptResult } from '../../machines/webhook/script-outcome.ts';
import { isDeprecated } from '../../machines/webhook/signature.ts';
import {
  type PlanKind,
  type RequestContext,
  type RequestEvent,
  type ScriptInput,
  webhookRequestMachine,
} from '../../machines/webhook/webhook-request.machine.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { BodyOutcome } from '../http/http-server.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { isRecordedBySender } from './event-log.ts';
import {
  addressIn,
  claimOfReplay,
  type Exchanges,
  fieldOf,
  type LiveRequest,
  replayed,
  requestDetailsOf,
  textOf,
} from './exchanges.ts';
import type { SplitBody } from './parts.ts';

export interface RequestPorts {
  readonly facts: RequestFacts;
  readonly nowMs: () => number;
  readonly newDeliveryId: () => string;
  /** Use one slot of the rate window, and one of the handshake limit. */
  readonly takeSlot: (route: Route, nowMs: number) => void;
  readonly takeHandshake: (route: Route, nowMs: number) => void;
  /** Reports a request with the deprecated scheme; logged once per route. */
  readonly noteDeprecated: (route: Route, scheme: string) => void;
  readonly exchanges: Exchanges;
  readonly bodies: BodyBudget;
  readonly claim: ClaimDelivery;
  /**
   * The event that has claimed a signature, if the rules cannot look it up in the journal. It is read before the claim of an
   * event that does not claim its own signature. Rejects if the journal cannot be read.
   */
  readonly readSignatureHolder?: ((digest: string) => Promise<SignatureHolder | undefined>) | undefined;
  readonly runScript: RunScript;
  readonly splitBody: SplitBody;
  readonly certificates: Pick<Certificates, 'fetch' | 'visit'>;
  /**
   * Makes the key of a handshake the secret of its subscription; resolves with whether that succeeded, and never rejects.
   */
  readonly learnKey: (route: Route, handshake: KeyHandshake) => Promise<boolean>;
  /** The trace that is stored with an event. */
  readonly traceparentOf: (live: LiveRequest | undefined) => string | undefined;
  readonly pools: () => WorkPools;
}

/** The key of a handshake, with the request's query. */
interface KeyHandshake {
  readonly key: string;
  readonly query: string | undefined;
}

type Rule = (context: RequestContext, facts: RequestFacts, input: RuleInput) => Partial<RequestContext>;
const unused: RuleInput = { nowMs: 0, freshId: '' };

export function wireRequest(ports: RequestPorts) {
  const { facts, exchanges, nowMs } = ports;
  /** Passed to each rule that may need an id, and replaced once used: most requests have their own id. */
  let freshId = ports.newDeliveryId();
  const rule = (decide: Rule, input = (): RuleInput => unused) =>
    assign<RequestContext, RequestEvent, unknown, RequestEvent, never>(({ context }) => {
      const known = decide(context, facts, input());
      if (known.deliveryId === freshId) freshId = ports.newDeliveryId();
      return known;
    });
  /** Reads the address of the sender, which is unknown once the sender has left: it may do so while the request waits. */
  const keepAddress = (id: string): void => {
    const live = exchanges.get(id);
    if (live !== undefined) addressIn(live);
  };
  const withTime = (): RuleInput => ({ nowMs: nowMs(), freshId });

  function claimNow(context: RequestContext, self: { send(event: RequestEvent): void }): void {
    const claim = (context.origin === 'part' && exchanges.get(context.id)?.part?.claim) || ports.claim;
    claim(claimRequestOf(context, ports), (verdict) => {
      const live = exchanges.get(context.id);
      if (verdict.kind === 'granted') {
        if (live !== undefined) live.opened = verdict.opened;
        self.send({ type: 'claim.granted', work: verdict.work, reason: verdict.reason });
      } else if (verdict.kind === 'duplicate') self.send({ type: 'claim.duplicate', reason: verdict.reason });
      else if (verdict.kind === 'pending') self.send({ type: 'claim.pending' });
      else self.send({ type: 'claim.unavailable', reason: verdict.reason });
    });
  }

  return webhookRequestMachine.provide({
    actors: {
      fetchCertificate: fromPromise<void, RequestContext>(async ({ input }) => {
        keepAddress(input.id);
        const account = exchanges.get(input.id)?.account;
        const needed = missingCertificate(input, facts, nowMs());
        if (needed !== undefined) await ports.certificates.fetch(needed);
        account?.close();
      }),
      confirmSubscription: fromPromise<Partial<RequestContext>, RequestContext>(
        async ({ input: { id, outcome, reason = '' } }) => {
          keepAddress(id);
          const live = exchanges.get(id);
          if (live === undefined || live.checksOnly || outcome?.kind !== 'handshake') return { outcome, reason };
          const url = fieldOf(live, outcome.visitField ?? '');
          const failure = isConfirmUrl(url)
            ? await ports.certificates.visit(url)
            : 'an address that is not the provider’s';
          return visited({ outcome, reason }, failure);
        },
      ),
      runScript: fromPromise<ScriptResult, ScriptInput>(async ({ input, signal }) => {
        keepAddress(input.id);
        // Like a script that returns the payload unchanged.
        if (exchanges.get(input.id)?.checksOnly === true)
          return { kind: 'exited', code: 0, stdout: stringify(input.payload) };
        const beganAtMs = nowMs();
        const result = await ports.runScript(input, signal);
        const live = exchanges.get(input.id);
        if (live !== undefined) live.scriptMs = nowMs() - beganAtMs;
        return result;
      }),
    },
    actions: {
      checkSize: rule(checkSize),
      findRoute: rule(findRoute),
      checkRate: rule(checkRate),
      verifySignature: rule(verifySignature, withTime),
      takeAllowance: ({ context: { takes, route } }) => {
        if (takes === undefined || route === undefined) return;
        if (takes === 'slot') ports.takeSlot(route, nowMs());
        else ports.takeHandshake(route, nowMs());
      },
      noteDeprecated: ({ context: { takes, route, scheme } }) => {
        if (takes === 'slot' && route !== undefined && isDeprecated(scheme)) ports.noteDeprecated(route, scheme);
      },
      parsePayload: rule(parsePayload, withTime),
      matchEvent: rule(matchEvent),
      renderTexts: rule(renderTexts),
      readScript: assign(({ context }, result: ScriptResult) => readScript(context, result)),
      readBody: ({ context, self }) => {
        const live = exchanges.get(context.id);
        if (live === undefined) return;
        // A declared length beyond the budget is refused before any byte is read; arriving bytes are counted as they arrive.
        const account = ports.bodies.open(() => addressIn(live), context.declaredBytes);
        if (account === undefined) {
          self.send({ type: 'body.crowded' });
          return;
        }
        const settled = (outcome: BodyOutcome): void => {
          if (outcome.kind === 'read') live.body = outcome.bytes;
          live.bodyMs = nowMs() - context.receivedAtMs;
          live.account = account;
          self.send({ type: bodyFacts[outcome.kind] });
          // The signature has been checked by now, or the body is dropped, unless a certificate is fetched first.
          if (self.getSnapshot().value !== 'certifying') account.close();
        };
        live.exchange.readBody(facts.maxBodyBytes(), settled, account.grow);
      },
      splitBody: ({ context, self }) =>
        ports.splitBody(context, exchanges.get(context.id), (settlement) =>
          self.send({ type: 'parts.settled', ...settlement }),
        ),
      claimDelivery: ({ context, self }) => {
        if (exchanges.get(context.id)?.checksOnly === true) {
          self.send({ type: 'claim.granted' });
          if (context.plan === 'direct') self.send({ type: 'delivery.settled', delivered: true });
          return;
        }
        const { signature, route } = context;
        const { readSignatureHolder } = ports;
        if (readSignatureHolder === undefined || !signature || !route || isClaimed(signature, route)) {
          claimNow(context, self);
          return;
        }
        // If the gateway crashed meanwhile, the request has been answered.
        const isGone = (): boolean => exchanges.get(context.id) === undefined;
        void readSignatureHolder(signature.digest)
          .then((holder) => {
            if (isGone()) return;
            if (holder === undefined || !isRepeated(signature, holder, route)) claimNow(context, self);
            else
              self.send({
                type: 'claim.duplicate',
                reason: repeatReason(context.deliveryId ?? context.id, holder, route),
              });
          })
          .catch((thrown: unknown) => {
            if (!isGone()) self.send({ type: 'claim.unavailable', reason: causeOf(thrown) });
          });
      },
      dispatchPlan: ({ context, self }) => {
        const live = exchanges.get(context.id);
        if (live === undefined) return;
        ports.pools().open(live.opened);
        if (context.plan === 'direct') live.exchange.whenLeft?.(() => self.send({ type: 'sender.left' }));
      },
      leaveDelivery: ({ context }) => ports.pools().senderLeft(context.id),
      answer: ({ context }) => {
        const live = exchanges.get(context.id);
        if (live === undefined || context.outcome === undefined) return;
        // The address of the sender is unknown after the answer.
        if (isRecordedBySender(context.outcome)) addressIn(live);
        const { outcome, route } = context;
        const key = outcome.kind === 'handshake' ? keyOf(live, outcome) : undefined;
        if (key !== undefined && route) {
          const { query } = live.exchange.head;
          // The provider sends the key once: do not acknowledge it before it is on disk.
          void ports
            .learnKey(route, { key, query })
            .then((isLearnt) => live.exchange.reply(replyTo(isLearnt ? outcome : { kind: 'unavailable' })));
        } else if (live.part !== undefined) live.part.answered(context.outcome, context.reason);
        else {
          // A request that its owner submits, or replays among several, has no provider that reads the answer.
          const isOwn = live.handedIn !== undefined || context.replay?.isOnce === true;
          const route = isOwn ? undefined : context.route;
          live.exchange.reply(replyFor(context.outcome, route && facts.compiled(route).answer));
        }
      },
    },
  });
}

/** The secret that a handshake brings. */
function keyOf(live: LiveRequest, { keyField, keyHeader }: HandshakeReply): string | undefined {
  if (keyHeader !== undefined) return live.exchange.head.headers[keyHeader];
  return keyField === undefined ? undefined : fieldOf(live, keyField);
}

const statuses: Readonly<Record<PlanKind, EventRecord['status']>> = {
  run: 'accepted',
  group: 'coalesced',
  cron: 'cron',
  direct: 'delivering',
  split: 'accepted',
};

const bodyFacts = {
  read: 'body.read',
  tooLarge: 'body.overflowed',
  aborted: 'body.aborted',
  crowded: 'body.crowded',
} as const;

function claimRequestOf(
  context: RequestContext,
  { facts, exchanges, traceparentOf, nowMs: now }: RequestPorts,
): ClaimRequest {
  const { route, plan, signature } = context;
  // The chart reaches `claiming` only with a route.
  if (route === undefined) throw new TypeError('claiming without a route');
  const nowMs = now();
  const live = exchanges.get(context.id);
  const { keptHeaders, claimedForMs } = facts.compiled(route);
  const event: EventDraft = {
    deliveryId: context.deliveryId ?? context.id,
    route: route.name,
    profile: route.profile,
    event: context.event ?? 'unknown',
    status: statuses[plan ?? 'run'],
    receivedAtMs: context.receivedAtMs,
    node: undefined,
    scheme: context.scheme,
    signatureDigest: signature && isClaimed(signature, route) ? signature.digest : undefined,
    work: undefined,
    headers: keptHeaders(live?.headers ?? {}),
    body: (live && textOf(live)) ?? '',
    prompt: context.prompt ?? '',
    ...deliveriesOf(context, route),
    onFailure: context.replay?.isDry ? undefined : context.onFailure,
    skills: route.skills,
    toolsets: route.toolsets,
    ...replayed(context),
    told: requestDetailsOf(context, live, nowMs),
    traceparent: traceparentOf(live),
  };
  const first = claimOfReplay(context);
  return { key: context.id, nowMs, event, plan: planOf(context), signatureForMs: claimedForMs, first };
}

/** The target of the response and the reports besides it; a dry replay has none (DLV-6). */
function deliveriesOf(
  { deliverTo, deliverExtra = {}, replay }: RequestContext,
  { deliver, on }: Route,
): Pick<EventRecord, 'deliver' | 'deliverExtra' | 'deliverTo' | 'reports'> {
  if (deliverTo === undefined && on === undefined) return { deliver, deliverExtra };
  const followed = followedAt(deliverTo ?? [{ target: deliver, extra: deliverExtra, ...(on && { on }) }]);
  return replay?.isDry ? { ...followed, reports: undefined } : followed;
}

function planOf({ plan, route, groupKey }: RequestContext): ClaimRequest['plan'] {
  if (plan === 'group' && route?.coalesce !== undefined && groupKey !== undefined) {
    const { windowMs, maxWaitMs, mode } = route.coalesce;
    return { kind: 'group', groupKey, windowMs, maxWaitMs, mode, isDirect: route.deliverOnly || undefined };
  }
  if (plan === 'cron' && route?.cronJob !== undefined) return { kind: 'cron', job: route.cronJob };
  return plan === 'direct' ? { kind: 'direct' } : { kind: 'run', isDirect: route?.deliverOnly || undefined };
}
