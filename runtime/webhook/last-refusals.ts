/**
 * Keeps the last refused requests of each route in memory, as they arrived, so that the route's owner can ask why: the
 * newest one per answer. Requests of an untrusted sender can neither fill the memory nor evict one with another answer.
 * @see SRC-5 and SEC-8 in docs/specification.md
 */

import type { Route } from '../../machines/config/route.ts';
import type { Finding, RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import { statusOf } from '../../machines/webhook/reply.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { senderOf } from '../http/sender.ts';
import type { LiveRequest } from './exchanges.ts';

export interface LastRefusals {
  /** Adds a refused request of a route; ignores all others. */
  add(context: RequestContext, live: LiveRequest | undefined, address: string): void;
  /** Newest first, each with a different answer. */
  of(profile: string, route: string): readonly RefusedRequest[];
}

type RouteId = Pick<Route, 'profile' | 'name'>;

export interface RefusalPorts {
  /** Explains a refused request by its route as it is now; empty if the route was removed. */
  readonly diagnose: (refused: RefusedRequest, route: RouteId) => readonly Finding[];
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
}

/** Answers per route that need no secret, and as many that need the route's secret. */
export const maxOfRoute = 4;
/** Over all routes: with bodies of the maximum size, about ten megabytes. */
export const maxKept = 128;
/** Requests over all routes that are not diagnosed yet; `of` diagnoses those of its route before it returns. */
export const maxWaiting = 8;
/** Longer bodies are not kept. */
export const maxBodyLength = 65_536;
/**
 * A diagnosis takes 0.5 to 20 ms, and a flood brings ten thousand requests a second. So diagnoses get one percent of the
 * time, with this advance; a request beyond it waits, and the next one of its sender replaces it.
 */
export const advanceMs = 50;
const share = 0.01;

interface Kept {
  readonly route: RouteId;
  readonly request: RefusedRequest;
  /** Only the route's secret can produce this answer, so a flood cannot evict the request. */
  readonly isProven: boolean;
}

export function createLastRefusals({ diagnose, steadyMs }: RefusalPorts): LastRefusals {
  /** By route and answer, the one that changed last at the end. */
  const kept = new Map<string, Kept>();
  /** By route, reason and address of the sender, the oldest first. */
  const waiting = new Map<string, Omit<Kept, 'isProven'>>();
  /** The time that diagnoses have used, less their share since. */
  let takenMs = 0;
  let lastMs = steadyMs();

  function examine(name: string, { route, request }: Omit<Kept, 'isProven'>): void {
    waiting.delete(name);
    const beganMs = steadyMs();
    const findings = diagnose(request, route);
    takenMs += steadyMs() - beganMs;
    const isProven = findings.some(({ proven }) => proven === true);
    const answer = findings.map(({ text }) => text).join(' ');
    keep(`${route.profile}/${route.name} ${request.kind} ${withoutNumbers(answer)}`, { route, request, isProven });
  }

  function keep(name: string, one: Kept): void {
    if (!kept.delete(name)) {
      const rivals = [...kept].filter(
        ([, { route, isProven }]) => isSame(route, one.route) && isProven === one.isProven,
      );
      const unprovenFirst = [...kept].sort(([, a], [, b]) => Number(a.isProven) - Number(b.isProven));
      const [oldest] = rivals.length >= maxOfRoute ? rivals : kept.size >= maxKept ? unprovenFirst : [];
      if (oldest !== undefined) kept.delete(oldest[0]);
    }
    kept.set(name, one);
  }

  return {
    add({ id, method, path, receivedAtMs, route, outcome, reason }, live, address) {
      if (route === undefined || outcome === undefined || live === undefined || statusOf(outcome) < 400) return;
      const nowMs = steadyMs();
      takenMs = Math.max(0, takenMs - (nowMs - lastMs) * share);
      lastMs = nowMs;
      const { kind } = outcome;
      const why = kind === 'badSignature' ? withoutNumbers(reason ?? '') : '';
      const name = `${route.profile}/${route.name} ${kind} ${senderOf(address)} ${why}`;
      const [oldest] = waiting;
      if (oldest !== undefined && takenMs < advanceMs) examine(...oldest);
      else if (oldest !== undefined && waiting.size >= maxWaiting && !waiting.has(name)) waiting.delete(oldest[0]);
      const { headers, body, exchange } = live;
      const { query } = exchange.head;
      const request: RefusedRequest = {
        key: id,
        receivedAtMs,
        kind,
        reason,
        method,
        path,
        query,
        headers,
        body: body.length > maxBodyLength ? undefined : body,
      };
      waiting.delete(name);
      waiting.set(name, { route, request });
    },
    of(profile, route) {
      const wanted = { profile, name: route };
      for (const [name, one] of waiting) if (isSame(one.route, wanted)) examine(name, one);
      const found = [...kept.values()].filter((one) => isSame(one.route, wanted));
      return found.map(({ request }) => request).reverse();
    },
  };
}

/** The distance of a timestamp from the clock grows each second while the reason is the same. */
export function withoutNumbers(text: string): string {
  return text.replace(/\d+/g, '0');
}

function isSame(one: RouteId, other: { readonly profile: string; readonly name: string }): boolean {
  return one.name === other.name && one.profile === other.profile;
}
